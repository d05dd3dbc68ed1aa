"""The loop reads, publishes a slice, and waits only where there is nothing to do."""

from __future__ import annotations

import math
import time

import pytest

from monitor.config import Settings
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.daemon.assembly import assemble
from monitor.daemon.loop import Daemon
from monitor.daemon.publisher import Publisher
from monitor.mqtt.inbox import InboxMessage
from tests.daemon.test_publisher import NOW, Crowd, Screen, said


def test_the_daemon_reads_between_two_slices_and_waits_only_when_there_is_nothing_to_do(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("monitor.daemon.loop._PUBLISH_SECONDS", 0.0)
    path = tmp_path / "journal.sqlite"
    settings = {
        "journal": {"path": str(path)},
        "series": {"max_new_per_minute": 1_000_000},
        "publish": {"interval_seconds": 3600},
    }
    parts = assemble(Settings.model_validate(settings), NOW)
    source, screen = Crowd(40), Screen()
    source.daemon = daemon = Daemon(
        parts, source, Publisher(parts, screen), clock=lambda: NOW, monotonic=lambda: 0.0
    )
    daemon.run()

    busy = source.timeouts.count(0.0)
    assert 8 < busy < 39
    assert source.timeouts[0] > 0.0
    assert source.timeouts[-1] > 0.0
    assert len(screen.pages) == 2  # the first, and the last at the end
    assert screen.pages[-1].snapshot.window_pairs.sum() == 600 + 39 * 3  # with the batch in hand


def test_no_page_is_older_than_two_intervals_however_much_waits(tmp_path, monkeypatch):
    """Messages of a read take a quarter of a second here, a publication 0.7 s of work."""
    now, interval = [0.0], 2.0
    for clock in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: now[0])
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "series": {"max_new_per_minute": 1_000_000},
        "publish": {"interval_seconds": interval},
    }
    parts = assemble(Settings.model_validate(settings), NOW)
    source, screen, steps = Crowd(80), Screen(), parts.network.steps

    def acknowledge(messages):
        now[0] += 0.25
        return len(messages)

    def slow_steps(*arguments):
        for _ in range(70):
            now[0] += 0.01
            yield
        return (yield from steps(*arguments))

    source.acknowledge, parts.network.steps = acknowledge, slow_steps
    source.daemon = daemon = Daemon(
        parts, source, Publisher(parts, screen), clock=lambda: NOW, monotonic=lambda: now[0]
    )
    daemon.run()

    ages = [page.figures.page_age_seconds for page in screen.pages]
    assert len(ages) > now[0] / (2.0 * interval) > 6
    assert max(ages) <= 2.0 * interval


class Script(Crowd):
    """A source whose batches come 70 s apart, so that the house is kept after each."""

    def __init__(self, batches: list[list[InboxMessage]], clock: float) -> None:
        super().__init__(len(batches))
        self.batches, self.seconds, self.began = batches, 0.0, clock

    def receive(self, timeout: float) -> list[InboxMessage]:
        super().receive(timeout)
        self.seconds += 70.0
        return self.batches[len(self.timeouts) - 1]

    def clock(self) -> float:
        return self.began + self.seconds


@pytest.fixture
def live(tmp_path):
    """Return a function that lets a daemon live through batches: what it holds, what it showed."""
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "pairing": {"max_pending": 1000, "max_wait_hours": 24},
        "publish": {"interval_seconds": 1},
    }

    def lived(batches: list[list[InboxMessage]], clock: float = NOW) -> tuple[Network, Snapshot]:
        screen = Screen()
        parts = assemble(Settings.model_validate(settings), clock)
        source = Script(batches, clock)
        source.daemon = daemon = Daemon(
            parts, source, Publisher(parts, screen),
            clock=source.clock, monotonic=lambda: source.seconds,
        )  # fmt: skip
        daemon.run()
        return parts.network, screen.pages[-1].snapshot

    return lived


def readings(second: int) -> list[InboxMessage]:
    return [each for each in said(second, 100) if each.topic.endswith("/reading")]


def test_what_was_dropped_for_want_of_room_leaves_the_journal_too(live):
    before, _ = live([*map(readings, range(13)), []])
    after, _ = live([[]], clock=NOW + 1000.0)

    assert before.held_from > NOW
    assert after.pairing.readings == before.pairing.readings == 1000
    assert after.held_from == -math.inf  # the start had nothing to drop


def test_a_start_days_later_drops_nothing_until_a_message_agrees_with_its_clock(live):
    live([readings(0)])
    late, _ = live([[]] * 4, clock=NOW + 5 * 86_400.0)
    references = [each for each in said(0, 100) if each.topic.endswith("/reference")]
    _, snapshot = live([references], clock=NOW + 100.0)

    assert late.pairing.readings == 100
    assert snapshot.window_pairs.tolist() == [1] * 100
