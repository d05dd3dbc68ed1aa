"""What `monitor run` takes of a small board: memory, the start, and what an installation needs.

    python benchmarks/memory.py [idle] [full] [held] [install] [--beside CHECKOUT]

``idle`` runs with the settings that `monitor init` writes. ``full`` has 1000 sensors whose windows
of 500 pairs are full, and holds as many readings and references as the default settings allow;
then it is killed and starts again. ``held`` starts where a day's messages wait for late partners.
``install`` is a fresh environment with the default dependencies. Memory is resident (RSS), and the
share of it that is this process' own (PSS); a time is that of the processor. With another checkout
each case runs from both, and the ratio is that of the other to this one.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the harness

from firehose import packet, pour
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until
from subscribers import calm, processor_seconds, sources

ROOT: Final = Path(__file__).parents[1]
SENSORS: Final = 1000
WINDOW: Final = 500
HELD: Final = 210  # of each sensor: 420 000 messages
EVERY_SECONDS: Final = 10.0
START: Final = 1_767_225_600.0
_AT_ONCE: Final = 10  # rounds of all sensors that are made at a time
_MB: Final = 1e-6
Figures = dict[str, float]


def idle(checkout: Path, folder: Path, port: int) -> Figures:
    """Return what a daemon takes that nothing is sent to, once its pages were read."""
    daemon = _daemon(checkout, folder, port, _initial(folder))
    start = _started(daemon)
    found = {**_memory(daemon), "start to the first page, s": start}
    daemon.stop()
    return found


def _initial(folder: Path) -> str:
    """Return what `monitor init` writes, without what the harness says itself."""
    path = folder / "initial.yaml"
    command = [sys.executable, "-m", "monitor", "init", "weighing", "--out", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path.read_text(encoding="utf-8").split("\nsources:", 1)[1].join(("sources:", ""))


def full(checkout: Path, folder: Path, port: int) -> Figures:
    """Return what full windows take, and what a start takes after a kill."""
    return _restarted(checkout, folder, port, WINDOW)


def held(checkout: Path, folder: Path, port: int) -> Figures:
    """Return what a start takes where 420 000 messages are held."""
    return _restarted(checkout, folder, port, HELD)


def _restarted(checkout: Path, folder: Path, port: int, count: int) -> Figures:
    """Return what ``count`` pairs of each sensor take, before a kill and after it."""
    daemon = _daemon(checkout, folder, port, _settings())
    _started(daemon)
    _send(daemon, port, count)
    found = _memory(daemon)
    daemon.kill()
    found["start to the first page, s"] = _started(daemon)
    found |= {f"{name} after a restart": each for name, each in _memory(daemon).items()}
    daemon.stop()
    return found


def _settings() -> str:
    return f"series: {{max_new_per_minute: 1000000}}\nwindows: {{pairs: {WINDOW}}}\n{sources(1)}"


def _daemon(checkout: Path, folder: Path, port: int, more: str) -> Daemon:
    # An installation has byte code: the first start writes it, and is not measured.
    environment = {"PYTHONPYCACHEPREFIX": str(folder / "code"), "PYTHONDONTWRITEBYTECODE": ""}
    daemon = Daemon(folder, port, more, interval=2.0, environment=environment)
    daemon.under = ("env", f"--chdir={checkout}")  # python -m takes the package from there
    _started(daemon)
    daemon.stop()
    return daemon


def _started(daemon: Daemon) -> float:
    """Start a daemon; return its processor time until it has a page."""
    daemon.start(ready=False)
    assert daemon.process is not None
    until("the first page", lambda: daemon.get("/metrics")[0] == 200)
    return processor_seconds(daemon.process.pid)


def _send(daemon: Daemon, port: int, pairs: int) -> None:
    """Publish so many readings and references of each sensor, and wait until all are committed."""
    for first in range(0, pairs, _AT_ONCE):
        pour(port, [*_packets(first, min(first + _AT_ONCE, pairs))])
        wanted = 2 * SENSORS * min(first + _AT_ONCE, pairs)
        # Few at a time: a broker drops what waits beyond its limit.
        until("they are committed", lambda wanted=wanted: _committed(daemon) >= wanted - 100_000)
    until("they are committed", lambda: _committed(daemon) == 2 * SENSORS * pairs)


def _committed(daemon: Daemon) -> float:
    return daemon.value("monitor_messages_committed_total")


def _packets(first: int, last: int) -> Iterator[bytes]:
    number, chance = 0, random.Random(first)
    for at in range(first, last):
        for kind, after, u in (("reading", 0.0, 5.0), ("reference", 3.0, 0.5)):
            for sensor in range(SENSORS):
                time = START + EVERY_SECONDS * (at + sensor / SENSORS) + after
                stamp = datetime.fromtimestamp(time, UTC).isoformat().encode()
                error = chance.gauss(0.0, u)
                body = b'{"time": "%b", "value": %.3f, "u": %.1f}' % (stamp, 500.0 + error, u)
                yield packet(f"monitor/s{sensor}/mass/{kind}", body, number)
                number += 1


def _memory(daemon: Daemon) -> Figures:
    """Return the memory of a daemon that has nothing to do, in MB; its pages have been read."""
    assert daemon.process is not None
    for path in ("/", "/metrics", "/metrics"):
        daemon.get(path)
    calm(daemon.process.pid)
    rows = Path(f"/proc/{daemon.process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    sizes = {row.split(":")[0]: 1024 * int(row.split()[1]) * _MB for row in rows[1:]}
    return {"RSS, MB": sizes["Rss"], "PSS, MB": sizes["Pss"]}


def install(checkout: Path, folder: Path, _port: int) -> Figures:
    """Return what an environment takes into which the wheel was installed."""
    subprocess.run(
        ["uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(checkout)], check=True
    )
    python = folder / "venv"
    subprocess.run(["uv", "venv", "--quiet", str(python)], check=True)
    (wheel,) = folder.glob("*.whl")
    constraints = checkout / "deploy" / "constraints.txt"
    options = ["--python", str(python / "bin" / "python"), "--constraint", str(constraints)]
    subprocess.run(["uv", "pip", "install", "--quiet", *options, str(wheel)], check=True)
    files = (each.lstat() for each in python.rglob("*") if not each.is_symlink())
    return {"installed, MB": sum(512 * each.st_blocks for each in files) * _MB}


CASES: Final[dict[str, Callable[[Path, Path, int], Figures]]] = {
    each.__name__: each for each in (idle, full, held, install)
}


def main() -> None:
    """Print the figures of the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("cases", nargs="*", default=[*CASES], metavar="CASE")
    parser.add_argument("--beside", type=Path, help="another checkout, run in its turn")
    options = parser.parse_args()
    for case in options.cases:
        runs = []
        for checkout in filter(None, (ROOT, options.beside)):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                (folder / "daemon").mkdir()
                broker = Mosquitto(folder)
                runs.append(CASES[case](checkout.resolve(), folder / "daemon", broker.port))
                broker.stop()
        for what, ours in runs[0].items():
            theirs = [f" beside {run[what]:.1f}, ratio {run[what] / ours:.2f}" for run in runs[1:]]
            print(f"{case}: {what}: {ours:.1f}{''.join(theirs)}", flush=True)


if __name__ == "__main__":
    main()
