"""The wall clock steps back and forth under a daemon: its own waits are of another clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from monitor.config import parse
from monitor.core.pairing.observations import unpack
from monitor.daemon.assembly import assemble
from monitor.daemon.loop import Daemon
from tests.daemon.test_intake import START, Message, assembled, said

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
    """Hands out a batch a call, ``seconds`` apart, with a step of the wall clock before each."""

    connected, status, confirmed = True, "connected", 0

    def __init__(
        self,
        clocks: Clocks,
        batches: Sequence[Sequence[Message]],
        steps: Sequence[float] = STEPS,
        seconds: float = 1.0,
    ) -> None:
        self._clocks, self._batches, self._seconds = clocks, list(batches), seconds
        self._steps = [*steps] * (len(self._batches) + 1)
        self.acknowledged = 0
        self.last_message: dict[str, float] = {}
        self.daemon: Daemon | None = None

    def receive(self, _timeout: float) -> Sequence[Message]:
        """Return the next batch; the last call tells the daemon to stop."""
        self._clocks.go(self._seconds, self._steps.pop())
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

    reload_successful = shown_connected = True

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
@pytest.mark.parametrize("steps", [STEPS, (0.0, HOUR, 0.0, -HOUR), (0.0, -HOUR, 0.0, HOUR)])
def test_steps_of_the_wall_clock_change_no_wait_and_lose_nothing(
    batches: int, steps: Sequence[float], tmp_path: Path
):
    clocks = Clocks()
    parts = assembled(tmp_path, START + 60.0)
    said_of = [
        (said("reading", "a", START + at / 10.0, value=1.0, u=0.5),
         said("reference", "a", START + at / 10.0, value=1.0, u=0.1))
        for at in range(batches)
    ]  # fmt: skip
    source, publisher = Source(clocks, said_of, steps), Publisher(clocks)
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


LOCAL = """
journal: {{path: "{folder}/journal.sqlite"}}
pairing: {{mode: nearest, tolerance_seconds: 60}}
sources:
  - topic: "local/{{sensor}}"
    kind: reading
    decoder: json
    map: {{time: t, time_zone: Europe/Berlin, series: [{{quantity: x, value: v, u: u}}]}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
"""


@pytest.mark.parametrize("change", ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"])
def test_local_times_pair_by_utc_through_both_changes_of_the_clocks(change: str, tmp_path: Path):
    """Also within the hour that clocks show twice, as each message comes soon after its time."""
    at = datetime.fromisoformat(change).timestamp()
    parts = assemble(parse(LOCAL.format(folder=tmp_path).encode(), "settings.yaml"), at - 8000.0)
    times = [at + 600.0 * number for number in range(-12, 13)]
    for number, time in enumerate(times):
        local = datetime.fromtimestamp(time, ZoneInfo("Europe/Berlin")).replace(tzinfo=None)
        body = json.dumps({"t": local.isoformat(), "v": float(number), "u": 0.5}).encode()
        batch = [
            Message("local/a", body),
            said("reference", "a", time, value=float(number), u=0.1),
        ]
        parts.intake.commit(parts.intake.prepare(batch, time + 2.0))

    pairs = np.sort(parts.journal.pairs(), order="time")
    assert pairs["time"].tolist() == times
    assert pairs["value"].tolist() == pairs["reference"].tolist() == [*map(float, range(25))]
    assert sum(parts.intake.counts.rejected.values()) == 0
    parts.journal.close()


QUIET = """mode: nearest}
covariates: [{name: rh, topic: rh, max_age_seconds: 7200}]
sinks: {history: 900"""


def test_a_restart_knows_when_a_sensor_was_heard_whose_readings_covariates_outlive(tmp_path: Path):
    clocks = Clocks()
    parts = assembled(tmp_path, clocks.wall, QUIET)
    every = [
        [said("reading", "often", START + 90.0 * at, value=1.0, u=0.5)] for at in range(80)
    ]  # fmt: skip
    every[0].append(said("reading", "rare", START, value=1.0, u=0.5))
    source = Source(clocks, every, (0.0,), seconds=90.0)
    source.daemon = daemon = Daemon(
        parts, source, Publisher(clocks),
        clock=lambda: clocks.wall, monotonic=lambda: clocks.even,
    )  # fmt: skip
    daemon.run()

    again = assembled(tmp_path, clocks.wall, QUIET)

    assert again.network.liveness.last_reading[:2].tolist() == [START + 90.0 * 79, START]
    assert again.network.liveness.heard[:2].tolist() == parts.network.liveness.heard[:2].tolist()
    again.journal.close()


HELD = 40
FLOOD = "mode: nearest, tolerance_seconds: 1, max_pending: 40"


@pytest.mark.parametrize("steps", [(0.0,), STEPS, (-0.3, 0.3), (7200.0, -7200.0)])
def test_what_is_too_much_to_be_held_leaves_the_journal_and_nothing_else_does(
    steps: Sequence[float], tmp_path: Path
):
    clocks = Clocks()
    parts = assembled(tmp_path, clocks.wall, FLOOD)
    flood = [
        [said("reading", "a", START + at + part / 5.0, value=1.0, u=0.5) for part in range(5)]
        for at in range(60)
    ]
    flood[0].append(said("reading", "rare", START, value=1.0, u=0.5))
    source = Source(clocks, flood, steps, seconds=20.0)
    daemon = Daemon(
        parts, source, Publisher(clocks),
        clock=lambda: clocks.wall, monotonic=lambda: clocks.even,
    )  # fmt: skip
    source.daemon = daemon
    daemon.run()
    held = {time for each in parts.network.pairing.reading_buffers.values() for time in each.times}

    again = assembled(tmp_path, clocks.wall, FLOOD)
    names = again.network.registry.keys
    kept = {
        each.time
        for _, batch in again.journal.observations()
        for each in unpack(batch, names)
    }  # fmt: skip

    assert HELD // 2 < len(held) <= HELD + 5
    assert held <= kept
    if steps == (0.0,):
        assert len(kept) <= len(held) + 5 * 3  # of three messages between two sweeps
    live, restarted = parts.network.liveness, again.network.liveness
    assert np.array_equal(restarted.last_reading, live.last_reading, equal_nan=True)
    assert restarted.heard.tolist() == live.heard.tolist()
    again.journal.close()
