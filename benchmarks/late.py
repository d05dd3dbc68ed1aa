"""A stream whose references are all late or revised, in one process: what a publication costs.

Sensors come and go, and epochs begin (tests/harness/late_stream.py). Run: python benchmarks/late.py
[SECONDS] [--profile]: seconds of the stream, a publication after every two of them.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from harness.late_stream import LateStream
from live import SHOWN

from monitor.config import Settings
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.runtime import freeze_after_start

START: Final = 1_767_225_600.0
PUBLISH_SECONDS: Final = 2
JUDGED: Final = 128
READ: Final = 250  # messages at a time
SECONDS: Final = 600
WARM: Final = 0.5  # of them, which are not counted


class Publication(NamedTuple):
    """Processor time of a publication and of its longest step, s."""

    whole: float
    step: float


def settings_of(folder: Path) -> dict[str, dict[str, object]]:
    """Return the settings that the stream asks for."""
    return {
        "journal": {"path": str(folder / "journal.sqlite")},
        "series": {"max": 1000, "max_new_per_minute": 1_000_000},
        "pairing": {"mode": "nearest", "tolerance_seconds": 5, "max_wait_hours": 0.25},
    }


def run(folder: Path, seconds: int, profile: cProfile.Profile | None = None) -> list[Publication]:
    """Return the publications after the stream's warm-up; prints its share of ingest."""
    parts = assemble(Settings.model_validate(settings_of(folder)), START)
    freeze_after_start()
    stream, found, spent = LateStream(START), [], 0.0
    for second in range(seconds):
        said, now = stream.second(), START + second + 1.0
        if second == int(WARM * seconds):
            found, spent = [], 0.0
            if profile is not None:
                profile.enable()
        began = time.process_time()
        for at in range(0, len(said), READ):
            parts.intake.commit(parts.intake.prepare(said[at : at + READ], now))
        spent += time.process_time() - began
        if second % PUBLISH_SECONDS == PUBLISH_SECONDS - 1:
            found.append(_published(parts, now))
        if second % 60 == 59:
            parts.network.expire(now - 900.0)
    if profile is not None:
        profile.disable()
    counted = (1.0 - WARM) * seconds
    print(f"ingest and commit: {1e6 * spent / counted / 1000:.0f} us a message", flush=True)
    parts.journal.close()
    return found


def _published(parts: Parts, now: float) -> Publication:
    began = before = time.process_time()
    longest = 0.0
    steps = parts.network.steps(now, JUDGED)
    while next(steps, True) is not True:
        longest = max(longest, time.process_time() - before)
        before = time.process_time()
    parts.network.drain_transitions()
    return Publication(time.process_time() - began, longest)


def main(arguments: Sequence[str]) -> None:
    """Print what publications cost."""
    numbers = [int(each) for each in arguments if each.isdecimal()]
    profile = cProfile.Profile() if "--profile" in arguments else None
    with tempfile.TemporaryDirectory() as name:
        found = run(Path(name), numbers[0] if numbers else SECONDS, profile)
    whole, step = np.array([each.whole for each in found]), max(each.step for each in found)
    print(
        f"{whole.size} publications: mean {whole.mean():.3f} s, p99 {np.quantile(whole, 0.99):.3f} "
        f"s, longest {whole.max():.3f} s; longest step {step:.3f} s"
    )
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(SHOWN)


if __name__ == "__main__":
    main(sys.argv[1:])
