"""The loop reads, publishes a slice, and waits only where there is nothing to do."""

from __future__ import annotations

import time

from monitor.config import Settings
from monitor.daemon.assembly import assemble
from monitor.daemon.loop import Daemon
from monitor.daemon.publisher import Publisher
from tests.daemon.test_publisher import NOW, Crowd, Screen


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
