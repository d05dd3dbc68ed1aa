"""The wall clock steps back and forth under a daemon: its own waits are of another clock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from test_intake import START, Message, assembled, said

from monitor.daemon.loop import Daemon

HOUR = 3600.0
STEPS = (0.0, -0.2 * HOUR, 0.2 * HOUR, -0.4 * HOUR, 0.4 * HOUR)  # taken from the end


class Clocks:
    """A wall clock that steps, and one that goes on."""

    def __init__(self) -> None:
        self.wall, self.even = START + 60.0, 1000.0

    def go(self, seconds: float, step: float = 0.0) -> None:
        """Let time pass, and step the wall clock besides."""
        self.even += seconds
        self.wall += seconds + step


class Source:
    """Hands out one batch a call, a second apart, with a step of the wall clock before each."""

    connected, status, confirmed = True, "connected", 0

    def __init__(self, clocks: Clocks, batches: Sequence[Sequence[Message]]) -> None:
        self._clocks, self._batches = clocks, list(batches)
        self._steps = [*STEPS] * len(self._batches)
        self.acknowledged = 0
        self.daemon: Daemon | None = None

    def receive(self, _timeout: float) -> Sequence[Message]:
        """Return the next batch; the last call tells the daemon to stop."""
        self._clocks.go(1.0, self._steps.pop())
        if not self._batches:
            assert self.daemon is not None
            self.daemon.stop()
            return []
        return self._batches.pop(0)

    def acknowledge(self, messages: Sequence[Message]) -> int:
        """Count."""
        self.acknowledged += len(messages)
        return len(messages)

    def confirm(self, number: int) -> None:
        """Do nothing: no acknowledgement is ever lost."""

    def close(self) -> None:
        """End."""


class Publisher:
    """Notes when it is asked to publish."""

    reload_successful = True

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self.at: list[float] = []

    is_busy = False

    def begin(self, _now: float, _source: object, _trouble: str = "") -> None:
        """Note the even clock."""
        self.at.append(self._clocks.even)

    publish = begin

    def work(self, _seconds: float) -> None:
        """Publish nothing."""

    def finish(self, now: float, source: object, _seconds: float) -> None:
        """Note the even clock."""
        self.begin(now, source)

    def answer(self, _now: float) -> None:
        """Nobody asks."""

    def close(self) -> None:
        """End."""


@pytest.mark.parametrize("batches", [200])
def test_steps_of_the_wall_clock_change_no_wait_and_lose_nothing(batches: int, tmp_path: Path):
    clocks = Clocks()
    parts = assembled(tmp_path, START + 60.0)
    said_of = [
        (said("reading", "a", START + at / 10.0, value=1.0, u=0.5),
         said("reference", "a", START + at / 10.0, value=1.0, u=0.1))
        for at in range(batches)
    ]  # fmt: skip
    source, publisher = Source(clocks, said_of), Publisher(clocks)
    daemon = Daemon(
        parts, source, publisher,
        clock=lambda: clocks.wall, monotonic=lambda: clocks.even,
    )  # fmt: skip
    source.daemon = daemon
    daemon.run()

    apart = {round(b - a, 6) for a, b in zip(publisher.at, publisher.at[1:-1], strict=False)}
    interval = parts.settings.publish.interval_seconds
    assert apart == {max(1.0, float(-(-interval // 1)))}
    assert source.acknowledged == 2 * batches
    again = assembled(tmp_path, START + 60.0)
    totals = again.journal.totals()
    assert totals["received"] == totals["committed"] == 2 * batches
    assert len(again.journal.pairs()) >= batches
    again.journal.close()
