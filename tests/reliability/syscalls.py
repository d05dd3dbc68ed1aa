"""Death and errors at the n-th system call, and the order of fdatasync and acknowledgement.

Rules of this file: strace does it, to the real journal under a real process; what is left is read
by another process, and must hold all that was acknowledged, and come to the same bits.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from harness.programs import need

from monitor.core.model import in_event_order

from . import victim

TESTS: Final = Path(__file__).parents[1]
# System calls that a journal writes with, and how often a victim's life has each, about.
WRITING: Final = {"pwrite64": 365, "fdatasync": 64, "fcntl": 30, "unlink": 2, "ftruncate": 3}
FAULTS: Final = ("signal=KILL", "error=EIO", "error=ENOSPC", "error=EROFS")


class Point(NamedTuple):
    """A fault at the ``when``-th call of one kind."""

    call: str
    fault: str
    when: int


def points(count: int) -> Iterator[Point]:
    """Yield ``count`` points spread over all calls and faults, kills first of all."""
    every = [
        Point(call, fault, when)
        for fault in FAULTS
        for call, times in WRITING.items()
        for when in range(1, times + 1)
        if not (call == "fcntl" and fault != "signal=KILL")
    ]
    step = len(every) / min(count, len(every))
    for at in range(min(count, len(every))):
        yield every[int(at * step)]


def strike(point: Point, folder: Path) -> str:
    """Let a victim work with a fault at one point; return what is wrong afterwards, if anything."""
    done = subprocess.run(
        [
            need("strace"), "-f", "-qq", "-o", str(folder / "trace"), "-e", f"trace={point.call}",
            "-e", f"inject={point.call}:{point.fault}:when={point.when}",
            sys.executable, "-m", "reliability.victim", str(folder),
        ],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path()},
    )  # fmt: skip
    if done.returncode == 1:
        return f"{point}: the process ended with a traceback: {done.stderr[-500:]}"
    promised = victim.acknowledged(folder)
    held = _committed(folder)
    if held < promised:
        return f"{point}: {promised} messages acknowledged, {held} in the journal"
    victim.work(folder)
    wanted, found = digest_of_undisturbed(), _digest(folder)
    return "" if found == wanted else f"{point}: other pairs than undisturbed"


def path() -> str:
    """Return the Python path of a process that is to find these tests."""
    return os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])


def _committed(folder: Path) -> int:
    parts = victim.assembled(folder)
    try:
        return parts.intake.counts.committed
    finally:
        parts.journal.close()


def _digest(folder: Path) -> str:
    """Return a hash of all pairs and of the counters that count each message once."""
    parts = victim.assembled(folder)
    try:
        pairs = in_event_order(parts.journal.pairs()).tobytes()
        return sha256(pairs + str(parts.intake.counts.committed).encode()).hexdigest()
    finally:
        parts.journal.close()


_undisturbed: dict[str, str] = {}


def digest_of_undisturbed(folder: Path | None = None) -> str:
    """Return the hash of a life without faults; made once, in a folder given for it."""
    if folder is not None and not _undisturbed:
        victim.work(folder)
        _undisturbed["digest"] = _digest(folder)
    return _undisturbed["digest"]


# -- the order of fdatasync and acknowledgement ---------------------------------------------------

_CALL: Final = re.compile(
    r'^\d+ +(?:<\S+> )?(recvfrom|read|recv|sendto|write|fdatasync)\((\d+)(?:, "([^"]*)")?'
)
_UNFINISHED: Final = " <unfinished ...>"
_RESUMED: Final = re.compile(r"<\.\.\. \w+ resumed>,? ?")
_CONNACK: Final = b"\x20"
_PUBLISH: Final = 0x30
_PUBACK: Final = 0x40


class Order(NamedTuple):
    """How many acknowledgements were traced, and how many of them came before their fdatasync."""

    acknowledged: int
    early: int


def order(trace: Path) -> Order:
    """Read a trace (``strace -f -xx -s 1000000``) of a daemon on MQTT with QoS 1.

    A message that was read must have an fdatasync between its reading and its PUBACK. The broker's
    connection is the one that begins with a CONNACK; pages are not MQTT.
    """
    brokers: set[str] = set()
    unsynced: set[int] = set()
    rest: dict[str, bytes] = {}
    acknowledged = early = 0
    for line in _whole(trace.read_text(encoding="ascii").splitlines()):
        match = _CALL.match(line)
        if not match:
            continue
        call, descriptor, text = match.groups()
        if call == "fdatasync":
            unsynced.clear()
            continue
        data = rest.pop(call + descriptor, b"") + bytes.fromhex((text or "").replace("\\x", ""))
        received = call in ("recvfrom", "read", "recv")
        if received and data[:1] == _CONNACK:
            brokers.add(descriptor)
        if descriptor not in brokers:
            continue
        names, rest[call + descriptor] = _names(data, _PUBLISH if received else _PUBACK)
        if received:
            unsynced |= names
        else:
            acknowledged += len(names)
            early += len(names & unsynced)
    return Order(acknowledged, early)


def _whole(lines: Iterable[str]) -> Iterator[str]:
    """Yield calls as they end: those that another thread interrupted are put together again."""
    begun: dict[str, str] = {}
    for line in lines:
        thread = line.split(" ", 1)[0]
        if line.endswith(_UNFINISHED):
            begun[thread] = line.removesuffix(_UNFINISHED)
        elif _RESUMED.search(line) and thread in begun:
            yield begun.pop(thread) + _RESUMED.split(line, maxsplit=1)[1]
        else:
            yield line


def _names(data: bytes, kind: int) -> tuple[set[int], bytes]:
    """Return the names of packets of one kind, and what is cut off; none if it is not MQTT."""
    found: set[int] = set()
    at = 0
    while at + 2 <= len(data):
        size, body = 0, at + 1
        for shift in range(0, 28, 7):
            if body >= len(data):
                return found, data[at:]
            size |= (data[body] & 0x7F) << shift
            body += 1
            if data[body - 1] < 0x80:
                break
        if body + size > len(data):
            return found, data[at:]
        if data[at] & 0xF0 == kind:
            name = body
            if kind == _PUBLISH:
                name += 2 + int.from_bytes(data[body : body + 2], "big")
            if kind == _PUBACK or data[at] & 6:
                found.add(int.from_bytes(data[name : name + 2], "big"))
        at = body + size
    return found, data[at:]
