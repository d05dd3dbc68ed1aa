"""A network starts at once; where settings let its series begin slowly, readings wait unharmed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from harness.cases import further

from monitor.config import parse
from monitor.core.model import in_event_order
from monitor.daemon.assembly import Parts, assemble

START = 1_767_225_600.0  # 2026-01-01
MINUTE = 60.0


class Message(NamedTuple):
    topic: str
    payload: bytes


@contextmanager
def opened(folder: Path, more: str = "", now: float = START, pairing: str = "") -> Iterator[Parts]:
    """Open the journal in a folder and rebuild all from it, as the daemon does when it starts."""
    folder.mkdir(exist_ok=True)
    lines = (
        f'journal: {{path: "{folder}/journal.sqlite"}}',
        f"pairing: {{mode: nearest, tolerance_seconds: 5{pairing}}}",
        more,
    )
    parts = assemble(parse("\n".join(lines).encode(), "settings.yaml"), now)
    try:
        yield parts
    finally:
        parts.journal.close()


def take(parts: Parts, messages: Iterable[Message], received: float) -> None:
    parts.intake.commit(parts.intake.prepare([*messages], received))


def message(kind: str, sensor: str, time: float, value: float, **fields) -> Message:
    stated = {"time": datetime.fromtimestamp(time, UTC).isoformat(), "value": value, **fields}
    return Message(f"monitor/{sensor}/x/{kind}", json.dumps(stated).encode())


def both(sensor: str, time: float) -> list[Message]:
    """Return a reading and its reference."""
    return [message("reading", sensor, time, 9.0, u=1.0), message("reference", sensor, time, 8.0)]


def sensors(count: int) -> list[str]:
    return [f"s-{at:04}" for at in range(count)]


def waiting(parts: Parts) -> int:
    return len(parts.network.waiting.by_series)


def rejected(parts: Parts) -> dict[str, int]:
    return {reason: count for reason, count in parts.intake.counts.rejected.items() if count}


def totals(parts: Parts) -> dict[str, int]:
    return {name: count for name, count in parts.intake.counts.totals().items() if count}


def test_with_default_settings_as_many_series_as_there_may_be_begin_at_once(tmp_path):
    with opened(tmp_path) as parts:
        most = parts.settings.series.max
        take(parts, [each for name in sensors(most) for each in both(name, START)], START)
        take(parts, both("one-more", START), START + MINUTE)

        assert len(parts.network.registry) == most == parts.journal.pairs().size
        assert rejected(parts) == {"series_limit": 1}
        (letter,) = parts.journal.dead_letters()
        assert (letter.topic, letter.place) == ("monitor/one-more/x/reading", "series.max")


def test_series_beyond_the_rate_wait_and_begin_in_the_order_they_came(tmp_path):
    names = sensors(50)
    with opened(tmp_path, "series: {max_new_per_minute: 10}") as parts:
        for at in range(3):
            sent = [each for name in names for each in both(name, START + at)]
            take(parts, sent, START + at / 100.0)
        assert totals(parts) == {"received": 300, "committed": 300}
        assert [key.sensor for key in parts.network.registry.keys] == names[:10]
        assert waiting(parts) == 40

        for minute in range(1, 5):
            take(parts, (), START + MINUTE * minute)
            assert [key.sensor for key in parts.network.registry.keys] == names[: 10 + 10 * minute]
            assert parts.journal.pairs().size == 3 * (10 + 10 * minute)
        assert waiting(parts) == 0
        assert totals(parts) == {"received": 300, "committed": 300}


def test_what_waits_is_a_repetition_when_it_comes_again(tmp_path):
    sent = [message("reading", name, START, 9.0, u=1.0) for name in ("a", "b")]
    full = message("reading", "b", START + 1.0, 9.0, u=1.0, seq="7")
    with opened(tmp_path, "series: {max_new_per_minute: 1}") as parts:
        take(parts, [*sent, full], START)
        take(parts, [*sent, full], START + 1.0)
        assert sum(len(batch) for _, batch in parts.journal.observations()) == 3
    with opened(tmp_path, "series: {max_new_per_minute: 1}", START + 1.0) as parts:
        take(parts, [sent[0], full], START + 2.0)
        take(parts, [full, sent[1]], START + 2.0 + MINUTE)

        assert totals(parts) == {"received": 10, "committed": 3, "duplicate": 7}
        assert parts.network.pairing.readings == 3


def test_no_more_readings_wait_than_may_and_the_refusal_names_the_limit(tmp_path):
    more = "series: {max_new_per_minute: 1}"
    with opened(tmp_path, more, pairing=", max_pending: 50") as parts:
        sent = [message("reading", name, START, 9.0, u=1.0) for name in sensors(20)]
        take(parts, sent, START)

        assert waiting(parts) == 5
        assert rejected(parts) == {"new_series_limit": 14}
        assert {each.place for each in parts.journal.dead_letters()} == {
            "series.max_new_per_minute"
        }
    with opened(tmp_path, more, pairing=", max_pending: 10") as parts:
        assert waiting(parts) == 5  # they were accepted


def test_a_series_that_waits_has_its_place(tmp_path):
    names = sensors(6)
    with opened(tmp_path, "series: {max: 5, max_new_per_minute: 2}") as parts:
        take(parts, [each for name in names for each in both(name, START)], START)
        assert (waiting(parts), rejected(parts)) == (3, {"series_limit": 1})
        for minute in range(1, 3):
            take(parts, (), START + MINUTE * minute)

        assert [key.sensor for key in parts.network.registry.keys] == names[:5]
    with opened(tmp_path / "less", "series: {max: 5, max_new_per_minute: 2}") as parts:
        take(parts, [each for name in names for each in both(name, START)], START)
    with opened(tmp_path / "less", "series: {max: 3, max_new_per_minute: 2}") as parts:
        for minute in range(1, 3):
            take(parts, (), START + MINUTE * minute)
        assert (len(parts.network.registry), waiting(parts)) == (3, 2)  # settings allow no more


def test_a_reading_that_waits_is_corrected_when_its_series_begins(tmp_path):
    offered = []

    class Outward:
        offer = offered.extend

    more = "series: {max_new_per_minute: 1}\ncorrect: {publish: 'right/{sensor}/{quantity}'}"
    with opened(tmp_path, more) as parts:
        (corrector,) = parts.intake.listeners
        corrector.connect(Outward())
        sent = [message("reading", name, START, 9.0, u=1.0, seq="7") for name in ("a", "b")]
        take(parts, sent, START)
        assert [each.name.sensor for each in offered] == ["a"]
        take(parts, (), START + MINUTE)
        assert [each.name.sensor for each in offered] == ["a", "b"]


def test_what_waited_too_long_expires_and_is_counted(tmp_path):
    more = "series: {max_new_per_minute: 1}"
    with opened(tmp_path, more, pairing=", max_wait_hours: 1") as parts:
        take(parts, [message("reading", name, START, 9.0, u=1.0) for name in sensors(4)], START)
        parts.network.expire(START + 61.0 * MINUTE)

        assert waiting(parts) == 0
        assert parts.network.pairing.expired_unpaired == 4


@pytest.mark.parametrize("seed", [*range(4), *further(range(4, 40))])
def test_waiting_and_restarts_change_no_pair(seed, tmp_path):
    chance = np.random.default_rng(seed)
    names = sensors(12)
    batches = []
    for at in range(40):
        time = START + 4.0 * at
        kinds = chance.choice(["reading", "full", "reference"], chance.integers(1, 9))
        sent = []
        for kind in kinds.tolist():
            name = names[min(chance.integers(12), at)]
            stated = time + float(chance.integers(-8, 3))
            extra = {"u": 1.0, "seq": f"{stated}"} if kind == "full" else {"u": 1.0}
            what = "reference" if kind == "reference" else "reading"
            sent.append(message(what, name, stated, float(chance.integers(9)), **extra))
        batches.append((time, sent))

    with opened(tmp_path / "at once") as parts:
        for time, sent in batches:
            take(parts, sent, time)
        wanted, counts = pairs_of(parts), totals(parts)
    assert len(wanted) > 10

    slow, waited, parts_of = "series: {max_new_per_minute: 1}", 0, tmp_path / "slow"
    restarts = sorted({0, 40, *chance.integers(0, 40, 3).tolist()})
    for first, last in itertools.pairwise(restarts):
        with opened(parts_of, slow, batches[first][0]) as parts:
            for time, sent in batches[first:last]:
                take(parts, sent, time)
                waited = max(waited, waiting(parts))
    assert waited > 5
    with opened(parts_of, slow, batches[-1][0]) as parts:
        for minute in range(1, 15):
            take(parts, (), batches[-1][0] + MINUTE * minute)
        assert waiting(parts) == 0
        assert pairs_of(parts) == wanted
        assert totals(parts) == counts
        live = state_of(parts)
    with opened(parts_of, slow, batches[-1][0]) as parts:
        assert state_of(parts) == live


def state_of(parts: Parts) -> list[tuple[object, ...]]:
    """Return what is held of each series, with its times of arrival, and its evidence."""
    network = parts.network
    network.evaluate(START)
    held = {
        readings.series: (list(readings.times), list(readings.received))
        for readings in network.pairing.reading_buffers.values()
    }
    rows = range(len(network.registry.keys))
    return [(held.get(row), network.replayer.evidence_bits(row)) for row in rows]


def pairs_of(parts: Parts) -> list[tuple[object, ...]]:
    """Return the pairs that stand, with the names of their sensors."""
    names = parts.network.registry.keys
    standing = in_event_order(parts.journal.pairs())
    columns = ("time", "value", "reference", "id")
    return sorted((names[row["series"]].sensor, *row[[*columns]].tolist()) for row in standing)
