"""The trials, each a function of a share and a folder that yields what it found, goal by goal."""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from harness.scraping import Scraper
from numerics.run import faults, run

from monitor.mqtt.pacing import BACKOFF_FIRST_SECONDS

from . import late_soak, loads, scenes, syscalls
from .crowd import GUESSERS, SCRAPERS, crowd, locked
from .histories import History, together
from .scenes import Field
from .shares import Share
from .tracing import traced

PROJECT: Final = Path(__file__).parents[2]
RECOVERY_SECONDS: Final = 2.0
BACK_SECONDS: Final = 30.0
STOP_SECONDS: Final = 5.0
NOTICED_KEEPALIVES: Final = 1.5
ATTEMPT_SECONDS: Final = BACKOFF_FIRST_SECONDS + 0.5  # and what a turn of the loop takes
BOARD_MIB: Final = 512.0
SCRAPE_SECONDS: Final = 1.0
FLAT_MIB: Final = 150.0
SLOPE_MIB_PER_HOUR: Final = 0.5
LONG_SECONDS: Final = 600.0
PUBLICATION_SECONDS: Final = 2.0
PAGE_SECONDS: Final = 10.0
INTERVAL_SECONDS: Final = 2.0
READY_SECONDS: Final = 10.0
GROWN_MOST: Final = 1.1
LIFE_MOST: Final = 100  # times one daemon's journal is disturbed


class Found(NamedTuple):
    """What a trial says of one goal: how many of how many held, and the figures in words."""

    goal: str
    what: str
    held: int
    of: int
    figures: str

    @property
    def holds(self) -> bool:
        """Whether all held."""
        return self.held == self.of


Trial = Callable[[Share, Path], Iterator[Found]]


@contextmanager
def field(
    share: Share, folder: Path, *, more: str = scenes.USUAL, **unusual: Any
) -> Iterator[Field]:
    """Make a broker, a daemon and a publisher in a folder of their own."""
    with (
        tempfile.TemporaryDirectory(dir=folder) as own,
        Field(Path(own), share.keepalive, more=more, **unusual) as made,
    ):
        yield made


def acted(name: str, times: int, share: Share, folder: Path) -> Iterator[Found]:
    """Play one scene, with a scraper all the while, and read what is left.

    A life is disturbed a hundred times at most, so that no start has more than minutes to read.
    """
    lives: list[History] = []
    scrapes: list[float] = []
    recoveries: list[float] = []
    for done in range(0, times, LIFE_MOST):
        with field(share, folder, seed=done) as made:
            scraper = Scraper(made.daemon)
            scraper.start()
            scenes.SCENES[name](made, min(times - done, LIFE_MOST))
            lives.append(made.end())
            scraper.finish()
        scrapes += scraper.seconds
        recoveries += made.seconds
    left = together(lives)
    what = f"{times} {name}" if times != 1 else f"1 {name.removesuffix('s')}"
    yield Found("R1", what, left.promised - left.lost - left.doubled, left.promised, str(left))
    same = sum(each.same_bits for each in lives)
    yield Found("R4", what, same, len(lives), "every figure the same bits as undisturbed")
    yield _answered(what, scrapes)
    limits = {
        "kills": RECOVERY_SECONDS,
        "terminations": STOP_SECONDS,
        "half-open connections": NOTICED_KEEPALIVES * share.keepalive + ATTEMPT_SECONDS,
    }
    limit = limits.get(name, BACK_SECONDS)
    if recoveries:
        yield _within("R10" if name == "terminations" else "R6", what, recoveries, limit)


def kills(share: Share, folder: Path) -> Iterator[Found]:
    """Kill the daemon at any instant."""
    yield from acted("kills", share.kills, share, folder)


def terminations(share: Share, folder: Path) -> Iterator[Found]:
    """End it by SIGTERM under load."""
    yield from acted("terminations", share.terminations, share, folder)


def restarts(share: Share, folder: Path) -> Iterator[Found]:
    """Restart the broker."""
    yield from acted("broker restarts", share.restarts, share, folder)


def cuts(share: Share, folder: Path) -> Iterator[Found]:
    """Cut the connection."""
    yield from acted("cuts", share.cuts, share, folder)


def partitions(share: Share, folder: Path) -> Iterator[Found]:
    """Swallow all that passes between daemon and broker."""
    yield from acted("partitions", share.partitions, share, folder)


def deaf_broker(share: Share, folder: Path) -> Iterator[Found]:
    """Let a broker never answer."""
    yield from acted("deaf brokers", 1, share, folder)


def half_open(share: Share, folder: Path) -> Iterator[Found]:
    """Let the broker be gone while its connection stays open."""
    yield from acted("half-open connections", share.partitions, share, folder)


def read_only(share: Share, folder: Path) -> Iterator[Found]:
    """Let the journal's file system become read-only, under strace, which delays every scrape."""
    found = acted("read-only file systems", share.partitions, share, folder)
    yield from (each for each in found if each.goal != "R12")


def points(share: Share, folder: Path) -> Iterator[Found]:
    """Kill or fail a process at the n-th system call of a kind."""
    undisturbed = folder / "undisturbed"
    undisturbed.mkdir()
    syscalls.digest_of_undisturbed(undisturbed)
    wrong: list[str] = []
    chosen = list(syscalls.points(share.points))
    for point in chosen:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            wrong += filter(None, [syscalls.strike(point, Path(own))])
    calls = ", ".join(syscalls.WRITING)
    said = (
        "; ".join(wrong) or f"kill, EIO, ENOSPC and EROFS at {calls}: nothing lost, the same pairs"
    )
    yield Found("R1", "points in the system calls", len(chosen) - len(wrong), len(chosen), said)


def trace(share: Share, folder: Path) -> Iterator[Found]:
    """Trace the order of fdatasync and acknowledgement."""
    with field(share, folder) as made:
        found = traced(made, share.traced)
    held = found.acknowledged - found.early
    yield Found(
        "R2", "acknowledgements under strace", held, found.acknowledged, "each after fdatasync"
    )


def too_much(share: Share, folder: Path) -> Iterator[Found]:
    """Flood it, invent sensors, send rubbish, read slowly."""
    with field(share, folder) as made:
        scraper = Scraper(made.daemon)
        scraper.start()
        flood = loads.flood(made, share.flood_seconds)
        invented = loads.invented(made, share.invented)
        rubbish = loads.rubbish(made, share.rubbish)
        scraper.finish()
        slow = loads.scrapes_with_slow_clients(made, share.slow_clients, share.slow_seconds)
        left = made.end()
    for what, load in (
        ("flood", flood),
        ("invented sensors beyond the most there may be", invented),
        ("rubbish", rubbish),
    ):
        bounded = load.highest - load.before <= FLAT_MIB
        yield Found("R7", what, int(bounded), 1, str(load))
    yield Found("R1", "flood", left.promised - left.lost - left.doubled, left.promised, str(left))
    yield _answered("flood, invented sensors and rubbish", scraper.seconds)
    yield _answered(f"{share.slow_clients} clients that never end their request", slow)


def backlog(share: Share, folder: Path) -> Iterator[Found]:
    """Start it when many messages wait at the broker."""
    with field(share, folder, rate=math.inf, interval=INTERVAL_SECONDS) as made:
        ages = loads.backlog(made, share.backlog)
        left = made.end()
    what, limit = f"a start while {share.backlog} messages wait", 2.0 * INTERVAL_SECONDS
    yield Found("R1", what, left.promised - left.lost - left.doubled, left.promised, str(left))
    yield _within("R13", f"{what}: age of each page when the next came", ages, limit)


def small_board(share: Share, folder: Path) -> Iterator[Found]:
    """Let daemon and mosquitto share a small machine while many messages wait, and restart."""
    with field(share, folder, rate=math.inf, interval=INTERVAL_SECONDS) as made:
        loads.backlog(made, share.backlog)
        peaks = [loads.peak_with_broker(made)]
        assert made.daemon.stop() == 0, made.daemon.log()
        made.daemon.start()
        peaks.append(loads.peak_with_broker(made))
        left = made.end()
    what = f"daemon and mosquitto, {share.backlog} messages waiting and a restart"
    figures = f"resident {peaks[0]} at most, {peaks[1]} after the restart; wanted {BOARD_MIB:.0f}"
    yield Found("R7", what, sum(each.total <= BOARD_MIB for each in peaks), len(peaks), figures)
    yield Found("R1", what, left.promised - left.lost - left.doubled, left.promised, str(left))


def topics(share: Share, folder: Path) -> Iterator[Found]:
    """Let every message of an hour have a topic of its own."""
    many = share.invented
    found = loads.distinct_topics(folder, many)
    what = f"{many} topics within an hour of event time"
    grown = found.highest - found.full
    figures = (
        f"resident {found.before:.0f} MiB before, {found.full:.0f} once all series there may be "
        f"had begun, {found.highest:.0f} at most"
    )
    yield Found("R7", what, int(grown <= FLAT_MIB), 1, figures)
    counted = found.committed + sum(found.refused.values())
    reasons = ", ".join(f"{count} refused as `{name}`" for name, count in found.refused.items())
    figures = f"{found.committed} committed, {reasons}"
    yield Found("R3", f"{what}: counted", counted, many, figures)
    yield Found("R3", f"{what}: limits told", int(found.is_told), 1, "`series.max` is named")


def at_the_door(share: Share, folder: Path) -> Iterator[Found]:
    """Let a crowd come to a page with TLS and passwords."""
    door = locked(folder / "door")
    with field(share, folder, door=door) as made:
        before = loads.resident(made)
        port = int(made.daemon.url.rsplit(":", 1)[1].strip("/"))
        found = crowd(door, port, share.silent, share.crowd_seconds)
        highest = loads.resident(made, at_most=True)
        left = made.end()
    what = (
        f"{SCRAPERS} who have the password beside {share.silent} connections that say "
        f"nothing and {GUESSERS} who guess"
    )
    asked = len(found.seconds)
    answered = asked - found.refused
    yield Found("R12", f"pages for {what}", answered, asked, f"{found.refused} refused")
    yield _answered(what, found.seconds)
    figures = (
        f"{found.silent} connections, {found.guesses} guesses; resident {before:.0f} MiB before, "
        f"{highest:.0f} at most"
    )
    yield Found("R7", "the same crowd", int(highest - before <= FLAT_MIB), 1, figures)
    yield Found(
        "R1", "the same crowd", left.promised - left.lost - left.doubled, left.promised, str(left)
    )


def long(share: Share, folder: Path) -> Iterator[Found]:
    """Let it work for long, steadily, and see whether anything grows."""
    with field(share, folder, more=scenes.SOON_FULL) as made:
        scraper = Scraper(made.daemon)
        scraper.start()
        held = loads.steady(made, share.long_seconds)
        scraper.finish()
        left = made.end()
    level = held.descriptors[-1] <= held.descriptors[0] and held.threads[-1] <= held.threads[0]
    # What is bounded fills at first, the collector's share of garbage for a quarter of an hour: the
    # slope is a limit only where all is full long since.
    flat = share.long_seconds < LONG_SECONDS or held.slope <= SLOPE_MIB_PER_HOUR
    yield Found("R7", "steady work: nothing grows", int(level and flat), 1, str(held))
    yield Found(
        "R1", "steady work", left.promised - left.lost - left.doubled, left.promised, str(left)
    )


def late(share: Share, folder: Path) -> Iterator[Found]:
    """Let every reference be late or revised while sensors come and go and epochs begin.

    Only an hour of it is held to times and memory: less is told, and judged by nobody.
    """
    seconds = share.late_seconds
    with tempfile.TemporaryDirectory(dir=folder) as own:
        found = late_soak.soaked(Path(own), seconds)
    what = f"{seconds:.0f} s of late references"
    is_judged = seconds >= LONG_SECONDS
    held_to = "wanted" if is_judged else "not held to"
    beside = f"load of the machine {found.load:.1f}, publisher {found.behind:.1f} s behind at most"
    left = found.left
    yield Found("R1", what, left.right, left.promised, f"{left}; {left.promised} references")
    same = found.sent - abs(found.committed - found.sent)
    yield Found("R1", f"{what}: messages committed", same, found.sent, "each once")
    told = f"{found.differing} series differed from the journal when the daemon checked itself"
    yield Found("R4", what, int(not found.differing), 1, told)
    age, pages = max(found.pages.ages), found.pages
    for goal, whose, value, limit, words in (
        ("R13", "publication, p99", found.p99, PUBLICATION_SECONDS, f"{len(pages.works)} seen, "),
        ("R13", "oldest page of /metrics", age, PAGE_SECONDS, ""),
        ("R10", "SIGTERM under it", found.stop, STOP_SECONDS, f"exit {found.exit_code}, "),
        ("R6", "ready after a start under it", found.ready, READY_SECONDS, ""),
    ):
        figures = f"{value:.2f} s; {held_to} {limit:.0f} s; {words}{beside}"
        yield Found(goal, f"{what}: {whose}", int(value <= limit or not is_judged), 1, figures)
    flat = 1.0 / GROWN_MOST <= pages.grown <= GROWN_MOST
    figures = (
        f"{pages.resident[0]:.0f} to {pages.resident[-1]:.0f} MiB in the second half, "
        f"its last quarter against the one before {pages.grown:.3f}; {held_to} {GROWN_MOST} at most"
    )
    yield Found("R7", f"{what}: memory", int(flat or not is_judged), 1, figures)


def numerics(share: Share, folder: Path) -> Iterator[Found]:
    """Let pairs pass through windows, and hold what is published then against fifty digits."""
    del folder
    found = run(share.pairs)
    figures = f"{found.pairs} pairs, worst {found.off:.0e} ({found.worst})"
    yield Found("N1", "figures within 1e-12 of fifty digits", found.within, found.figures, figures)
    yield Found(
        "N2", "windows after huge values", found.same_bits, found.series, "0 ulp from without them"
    )
    told = faults(share.cases)
    said = "; ".join(told) or "every score finite"
    yield Found("N4", "pairs of every size allowed", share.cases - len(told), share.cases, said)


def seeds(share: Share, folder: Path) -> Iterator[Found]:
    """Simulate lives."""
    del folder
    first = share.portion * share.seeds
    done = _ran(
        "tests.simulation", "--first", str(first), "--seeds", str(share.seeds), "--workers", "2"
    )
    match = re.search(r"(\d+) seeds, (\d+) with findings", done)
    count, wrong = (int(match[1]), int(match[2])) if match else (share.seeds, share.seeds)
    yield Found("R5", "simulated lives", count - wrong, count, "nothing lost, the same bits")


def inputs(share: Share, folder: Path) -> Iterator[Found]:
    """Fuzz decoders, topics, units and settings; what breaks something stays in build/fuzz."""
    del folder
    many, seed = str(share.inputs), str(1 + share.portion)
    out = f"build/fuzz/seed-{seed}"
    done = _ran("tests.fuzz", "--inputs", many, "--seed", seed, "--workers", "2", "--out", out)
    findings = re.search(r"(\d+) findings?", done)
    wrong = int(findings[1]) if findings else share.inputs
    told = f"see {out}" if wrong else "refused or read, never a crash"
    yield Found("R8", "changed inputs", share.inputs - wrong, share.inputs, told)


def suites(share: Share, folder: Path) -> Iterator[Found]:
    """Run the tests that show a goal by themselves."""
    del folder
    for goal, what, files in SUITES:
        environment = {**os.environ, "MONITOR_FLIPS": str(share.flips)}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
            cwd=PROJECT, capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        passed, failed = (
            sum(int(n) for n in re.findall(rf"(\d+) {word}", done.stdout.splitlines()[-1]))
            for word in ("passed", "(?:failed|error)")
        )
        yield Found(goal, what, passed, passed + failed, "tests of the suite")


SUITES: Final[Sequence[tuple[str, str, tuple[str, ...]]]] = (
    ("R9", "damaged, cut and torn journals", ("tests/journal/test_repairing.py",)),
    (
        "R11",
        "TLS, passwords, certificates",
        ("tests/mqtt/test_tls.py", "tests/http/test_access.py"),
    ),
    ("R11", "who may publish what at the shipped broker", ("tests/deploy/test_mosquitto.py",)),
    (
        "R11",
        "secrets nowhere to be seen, the code audited",
        ("tests/acceptance/test_secrets.py", "tests/test_audit.py"),
    ),
    (
        "R3",
        "every message accounted for at every commit",
        ("tests/acceptance/test_conservation.py",),
    ),
    (
        "R1",
        "one daemon a journal; silent refusals, rivals, retained messages, clocks",
        (
            "tests/journal/test_opening.py",
            "tests/faults/test_rare.py",
            "tests/faults/test_clocks.py",
        ),
    ),
    ("N3", "near numbers, and whatever is allowed", ("tests/core/scores/test_numerics.py",)),
    ("N5", "how often intervals hold the truth", ("tests/core/scores/test_intervals.py",)),
)

TRIALS: Final[dict[str, Trial]] = {
    "kills": kills,
    "points": points,
    "trace": trace,
    "terminations": terminations,
    "restarts": restarts,
    "cuts": cuts,
    "partitions": partitions,
    "half-open": half_open,
    "read-only": read_only,
    "deaf broker": deaf_broker,
    "too much": too_much,
    "backlog": backlog,
    "small board": small_board,
    "topics": topics,
    "crowd": at_the_door,
    "long": long,
    "late": late,
    "numerics": numerics,
    "seeds": seeds,
    "inputs": inputs,
    "suites": suites,
}


def _answered(what: str, seconds: list[float]) -> Found:
    return _within("R12", f"scrapes during {what}", seconds, SCRAPE_SECONDS)


def _within(goal: str, what: str, seconds: list[float], limit: float) -> Found:
    held = sum(each <= limit for each in seconds)
    middle, worst = statistics.median(seconds), max(seconds)
    figures = f"median {middle:.2f} s, longest {worst:.2f} s; wanted {limit:g} s"
    return Found(goal, what, held, len(seconds), figures)


# Trials of hours on their own, which the full share does in portions.
IN_PORTIONS: Final = frozenset({"seeds", "inputs"})


def _ran(module: str, *options: str) -> str:
    command = [sys.executable, "-m", module, *options]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    return done.stdout
