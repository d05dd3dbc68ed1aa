"""A series that is silent for long is let go of, over restarts, and is itself again when heard."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from monitor.alerts.ledger import Ledger, View
from monitor.config import parse
from monitor.core.model import in_event_order
from monitor.daemon.assembly import Parts, assemble
from monitor.http.metrics import Exposition

START = 1_767_225_600.0
DAY = 86_400.0
AFTER = 30.0


class Message(NamedTuple):
    topic: str
    payload: bytes


def opened(folder: Path, now: float, allow: str = "*") -> Parts:
    text = f"""
journal: {{path: "{folder}/journal.sqlite"}}
windows: {{pairs: 64, replay_pairs: 64}}
series: {{max: 3, max_new_per_minute: 1000, forget_after_days: {AFTER}, allow: ["{allow}"]}}
pairing: {{max_wait_hours: 1, tolerance_seconds: 5}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
"""
    return assemble(parse(text.encode(), "settings.yaml"), now)


def take(parts: Parts, sensor: str, start: float, count: int, seed: int, bias: float = 0.0) -> None:
    """Send readings with references, a minute apart; they arrive as they are made."""
    chance = np.random.default_rng(seed)
    for at in range(count):
        now, truth = start + 60.0 * at, 500.0 + float(chance.normal())
        when = datetime.fromtimestamp(now, UTC).isoformat()
        reading = {"time": when, "value": truth + bias + 0.5 * float(chance.normal()), "u": 0.5}
        reference = {"time": when, "value": truth, "u": 0.01}
        messages = [
            Message(f"monitor/{sensor}/mass/reading", json.dumps(reading).encode()),
            Message(f"monitor/{sensor}/mass/reference", json.dumps(reference).encode()),
        ]
        parts.intake.commit(parts.intake.prepare(messages, now))


def keep_house(parts: Parts, now: float) -> int:
    """Do what the daemon does once a minute; return how many series were let go of."""
    parts.network.expire(now)
    gone = parts.network.evict(now, AFTER)
    parts.journal.expire(observations_before=now - 3600.0, pairs_before=now - 400 * DAY)
    return gone


def of_series(parts: Parts, row: int) -> tuple[object, ...]:
    """Return the evidence and the window of a series, to the bit."""
    network, one = parts.network, np.array([row])
    network.evaluate(0.0)
    state = network.detector.records(one)
    numbers = [state[name].tobytes() for name in state.dtype.names or ()]
    return numbers, network.windows.rows(row).tobytes()


@pytest.fixture
def parts(tmp_path: Path):
    made = opened(tmp_path, START)
    yield made
    made.journal.close()


def test_a_silent_series_goes_from_page_limits_and_memory_and_another_has_its_ring(parts):
    for at, sensor in enumerate(("a", "b", "c")):
        take(parts, sensor, START, 5, at)
    assert keep_house(parts, START + 1.0) == 0
    take(parts, "a", START + 33 * DAY, 2, 9)
    assert parts.network.registry.admit("d", "mass", START + 33 * DAY) == "series_limit"

    gone = keep_house(parts, START + 33 * DAY + 200.0)
    snapshot = parts.network.evaluate(START + 33 * DAY + 200.0)
    page = Exposition().render(snapshot).decode()

    assert (gone, len(parts.network.registry), snapshot.gone) == (2, 1, {1, 2})
    assert 'sensor="a"' in page
    assert 'sensor="b"' not in page
    take(parts, "d", START + 33 * DAY, 5, 9)
    take(parts, "b", START + 33 * DAY + 600.0, 1, 9)
    assert parts.network.windows.rings._slots_used == 3
    assert parts.network.eviction.evictions == 2
    refused = parts.network.registry.admit("c", "mass", START + 40 * DAY)
    assert refused == "series_limit"


@pytest.mark.parametrize("restarts", [False, True])
def test_who_comes_back_is_as_if_it_had_never_been_gone_and_no_pair_counts_twice(
    tmp_path, restarts
):
    runs = []
    for forgets in (False, True):
        folder = tmp_path / str(forgets)
        folder.mkdir()
        parts = opened(folder, START)
        take(parts, "a", START, 90, 1, bias=0.2)
        take(parts, "b", START, 3, 2)
        take(parts, "b", START + 40 * DAY, 3, 3)
        if forgets:
            keep_house(parts, START + 10.0)
            assert keep_house(parts, START + 40 * DAY + 300.0) == 1
            assert not parts.network.windows.counts(np.array([0]))[0]
            take(parts, "b", START + 40 * DAY + 300.0, 1, 4)
        else:
            take(parts, "b", START + 40 * DAY + 300.0, 1, 4)
        if restarts:
            parts.journal.close()
            parts = opened(folder, START + 41 * DAY)
            assert bool(parts.network.eviction.evicted) is forgets
        take(parts, "a", START + 42 * DAY, 40, 5, bias=2.0)
        runs.append((of_series(parts, 0), in_event_order(parts.journal.pairs()).tobytes()))
        assert not parts.network.eviction.evicted
        parts.journal.close()

    assert runs[0] == runs[1]


@pytest.mark.parametrize("hours", [1, 8])
def test_a_series_that_is_allowed_no_longer_goes_and_is_itself_once_it_is_again(hours, tmp_path):
    """Also with a reference that comes meanwhile, while its readings still wait for some."""
    late = {"time": "2026-01-01T01:29:03Z", "value": 500.0, "u": 0.01}
    message, now = Message("monitor/a/mass/reference", json.dumps(late).encode()), START + 5400.0
    runs = []
    for allow in ("*", "b"):
        folder = tmp_path / ("all" if allow == "*" else "one")
        folder.mkdir()
        parts = opened(folder, START)
        take(parts, "a", START, 90, 1, bias=2.0)
        take(parts, "b", START, 90, 2)
        for _ in range(2):
            parts.journal.close()
            parts = opened(folder, now, allow)
            gone = parts.network.evaluate(now).gone
            assert (gone, len(parts.network.registry)) == (({0}, 1) if allow == "b" else (set(), 2))
        assert (parts.network.registry.admit("a", "mass", now) == "not_allowed") is (allow == "b")
        parts.intake.commit(parts.intake.prepare([message], now))
        parts.journal.close()
        parts = opened(folder, START + hours * 3600.0)
        take(parts, "a", START + hours * 3600.0, 1, 3)
        assert not parts.network.evaluate(START + hours * 3600.0).gone
        runs.append((of_series(parts, 0), of_series(parts, 1)))
        parts.journal.close()

    assert runs[0] == runs[1]


def test_what_a_sensor_sends_that_is_allowed_no_longer_is_refused_once_nothing_of_it_waits(
    tmp_path,
):
    parts = opened(tmp_path, START)
    take(parts, "a", START, 9, 1)
    keep_house(parts, START + 2 * DAY)
    parts.journal.close()
    parts = opened(tmp_path, START + 2 * DAY, "b")
    take(parts, "a", START + 2 * DAY, 2, 2)

    assert parts.intake.counts.rejected["not_allowed"] == 2
    assert parts.network.evaluate(START + 2 * DAY).gone == {0}
    parts.journal.close()


def test_an_old_message_that_comes_again_after_all_makes_no_second_pair(parts):
    take(parts, "a", START, 3, 1)
    take(parts, "b", START + 40 * DAY, 1, 1)
    keep_house(parts, START + 40 * DAY)
    take(parts, "a", START, 3, 1)

    assert parts.network.windows.counts(np.array([0])).tolist() == [3]
    assert in_event_order(parts.journal.pairs()).size == 4


def test_silence_is_counted_over_restarts_and_from_the_start_where_nothing_was_noted(tmp_path):
    parts = opened(tmp_path, START)
    take(parts, "a", START, 3, 1)
    parts.journal.close()
    late = START + 200 * DAY  # nothing was noted: the house was never kept
    parts = opened(tmp_path, late)
    parts.journal.expire(observations_before=late, pairs_before=START)
    parts.journal.close()
    parts = opened(tmp_path, late)
    assert keep_house(parts, late) == 0
    take(parts, "b", late, 1, 2)  # with it goes the note
    parts.journal.close()
    parts = opened(tmp_path, late + 20 * DAY)
    assert keep_house(parts, late + 20 * DAY) == 0
    take(parts, "b", late + 32 * DAY, 1, 2)

    assert keep_house(parts, late + 32 * DAY) == 1
    assert parts.network.eviction.evicted == {0}
    parts.journal.close()


def test_the_alert_of_a_series_that_is_gone_ends(parts):
    take(parts, "a", START, 80, 1, bias=5.0)
    ledger = Ledger()

    def told(now: float) -> list[str]:
        snapshot = parts.network.evaluate(now)
        view = View(snapshot, parts.network.drain_transitions())
        found = ledger.differences(view)
        ledger.record(found)
        return [f"{each.alert} {each.after}" for each in found]

    assert told(START + 6000.0) == ["offset firing"]
    keep_house(parts, START + 10.0)
    assert told(START + 20 * DAY) == []
    assert keep_house(parts, START + 40 * DAY) == 1
    assert told(START + 40 * DAY) == ["offset unknown"]
    assert told(START + 41 * DAY) == []
    take(parts, "a", START + 42 * DAY, 1, 2)
    assert told(START + 42 * DAY + 60.0)[-1:] == ["offset firing"]
