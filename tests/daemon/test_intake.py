"""From messages to durable pairs: each message counts once, and a restart changes nothing."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from harness.cases import further
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config import parse
from monitor.core.model import in_event_order
from monitor.core.registry import SeriesKey
from monitor.core.windows.windows import EVENTS_MAX
from monitor.daemon.assembly import Parts, assemble
from monitor.decode import REASONS
from monitor.journal import JournalFullError

START = 1_767_225_600.0  # 2026-01-01
HOUR = 3600.0
WAIT_HOURS = 1.0
SOURCES = """
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "monitor/{sensor}/event", kind: event}
  - topic: "many/{sensor}/{quantity}"
    kind: reading
    decoder: json
    map: {each: list, time: t, series: [{value: v, u: u}]}
"""


class Message(NamedTuple):
    topic: str
    payload: bytes


def assembled(folder: Path, now: float = START, pairing: str = "mode: nearest") -> Parts:
    """Open the journal in a folder and rebuild all from it, as the daemon does when it starts."""
    text = f"""
journal: {{path: "{folder}/journal.sqlite", dead_letters: 50}}
windows: {{pairs: 60}}
series: {{max: 4, allow: ["[!x]*"]}}
mqtt: {{max_packet_bytes: 4096}}
pairing: {{max_wait_hours: {WAIT_HOURS}, {pairing}}}
{SOURCES}
"""
    return assemble(parse(text.encode(), "settings.yaml"), now)


@pytest.fixture
def parts(tmp_path: Path):
    opened = assembled(tmp_path)
    yield opened
    opened.journal.close()


def take(parts: Parts, *messages: Message, received: float = START + 60.0) -> None:
    parts.intake.commit(parts.intake.prepare(messages, received))


def instant(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()


def said(kind: str, sensor: str, time: float, **fields) -> Message:
    quantity = "" if kind == "event" else "/x"
    body = {"time": instant(time), **fields}
    return Message(f"monitor/{sensor}{quantity}/{kind}", json.dumps(body).encode())


def many(sensor: str, *records: tuple[float, float, float]) -> Message:
    listed = [{"t": START + at, "v": value, "u": u} for at, value, u in records]
    return Message(f"many/{sensor}/x", json.dumps({"list": listed}).encode())


def counted(parts: Parts) -> dict[str, object]:
    counts = parts.intake.counts
    return {
        "received": counts.received,
        "committed": counts.committed,
        "duplicate": counts.duplicate,
        "rejected": {reason: n for reason, n in counts.rejected.items() if n},
        "records": {reason: n for reason, n in counts.records_rejected.items() if n},
    }


# -- a message counts once ----------------------------------------------------------------------


def test_each_fate_of_a_message_is_counted_once(parts):
    good = said("reading", "a", START, value=1.0, u=0.5)
    take(
        parts,
        good,
        good,
        said("reference", "a", START, value=1.2),
        said("event", "a", START, event="adjusted"),
        said("event", "a", START, event="adjusted"),
        said("reading", "a", START + 1.0, value=1.0, u=0.0),
        said("reading", "xenon", START, value=1.0, u=0.5),
        Message("elsewhere", b"{}"),
        Message("monitor/a/x/reading", b"{"),
    )

    assert counted(parts) == {
        "received": 9,
        "committed": 3,
        "duplicate": 2,
        "rejected": {"bad_uncertainty": 1, "not_allowed": 1, "unknown_topic": 1, "bad_payload": 1},
        "records": {},
    }
    assert [letter.reason for letter in parts.journal.dead_letters()] == [
        "not_allowed",
        "bad_payload",
        "unknown_topic",
        "bad_uncertainty",
    ]
    assert parts.journal.pairs().size == 1


def test_of_a_message_with_several_records_the_best_fate_counts_and_bad_records_apart(parts):
    good, other, bad = (1.0, 1.0, 0.5), (2.0, 1.0, 0.5), (3.0, 1.0, 0.0)
    huge = (4.0, 1e16, 0.5)
    take(parts, many("a", good, bad, huge))  # committed
    take(parts, many("a", good, bad))  # duplicate
    take(parts, many("a", good, other, bad))  # committed: one of its records is new
    take(parts, many("a", huge, bad, bad))  # rejected for its first reason, the others not again

    assert counted(parts) == {
        "received": 4,
        "committed": 2,
        "duplicate": 1,
        "rejected": {"out_of_range": 1},
        "records": {"bad_uncertainty": 3, "out_of_range": 1},
    }
    assert len(parts.journal.dead_letters()) == 4 + 3


def test_a_series_beyond_the_limit_costs_its_message_and_nothing_else(parts):
    take(parts, *(said("reading", f"s{at}", START, value=1.0, u=0.5) for at in range(10)))

    assert counted(parts)["committed"] == 4
    assert counted(parts)["rejected"] == {"series_limit": 6}
    assert len(parts.journal.series()) == 4


kinds = st.sampled_from(["reading", "reference", "event", "several", "bad", "denied", "nowhere"])
arrivals = st.lists(st.lists(st.tuples(kinds, st.integers(0, 4)), max_size=8), max_size=8)


def test_of_very_many_events_of_a_sensor_the_newest_are_kept_in_any_order(parts, tmp_path):
    key, count, pairs = SeriesKey("a", "x"), 5000, 200
    for at in range(pairs):  # each between two events
        when = START + 25.0 * at + 0.5
        take(parts, said("reading", "a", when, value=at % 7.0, u=0.5), received=when)
        take(parts, said("reference", "a", when, value=at % 5.0, u=0.1), received=when)
    order = np.random.default_rng(1).permutation(count).tolist()
    for first in range(0, count, 500):
        some = order[first : first + 500]
        told = [said("event", "a", START + at, event="moved") for at in some]
        take(parts, *told, received=START + count)

    parts.network.evaluate(START)
    live = parts.network.epochs.of(key)
    assert [each.time for each in live] == [START + at for at in range(count)][-EVENTS_MAX:]
    assert parts.journal.events() == live
    counts = counted(parts)
    assert counts["committed"] > 2000
    assert counts["rejected"] == {"series_limit": count + 2 * pairs - counts["committed"]}

    evidence = parts.network.replayer.evidence_bits(0)
    parts.journal.close()
    again = assembled(tmp_path)
    again.network.evaluate(START)
    assert again.network.epochs.of(key) == live
    assert again.network.replayer.evidence_bits(0) == evidence
    again.journal.close()


def test_events_of_invented_sensors_cost_a_counter(parts):
    take(parts, *(said("event", f"n{at}", START, event="moved") for at in range(5000)))
    take(parts, said("reading", "a", START, value=1.0, u=0.5))
    take(parts, said("event", "a", START, event="moved"))

    assert len(parts.journal.events()) == 4 + 1  # as many as there may be series
    assert counted(parts)["rejected"] == {"series_limit": 5000 - 4}


def message_of(kind: str, number: int) -> Message:
    if kind == "several":
        return many("b", *((float(10 * number + at), 1.0, at % 2) for at in range(number)))
    if kind == "bad":
        return said("reading", "a", START, value=1.0, u=-float(number))
    if kind == "denied":
        return said("reading", "x", START + number, value=1.0, u=0.5)
    if kind == "nowhere":
        return Message(f"nowhere/{number}", b"")
    more = {"event": "moved"} if kind == "event" else {"value": 1.0, "u": 0.5}
    return said(kind, "a", START + number, **more)


@given(batches=arrivals)
@settings(deadline=None, max_examples=60)
def test_whatever_comes_every_message_is_committed_duplicate_or_rejected(batches):
    wanted: Counter[str] = Counter()
    seen: set[tuple[str, int]] = set()
    for kind, number in itertools.chain(*batches):
        rejected = {"bad": "bad_uncertainty", "denied": "not_allowed", "nowhere": "unknown_topic"}
        if kind in rejected:
            wanted[f"rejected.{rejected[kind]}"] += 1
        elif kind == "several" and number < 2:  # no record with an uncertainty above zero
            empty = "missing_field" if number == 0 else "bad_uncertainty"
            wanted[f"rejected.{empty}"] += 1
        else:
            wanted["duplicate" if (kind, number) in seen else "committed"] += 1
            seen.add((kind, number))
        if kind == "several" and number >= 2:
            wanted["records_rejected.bad_uncertainty"] += (number + 1) // 2
        wanted["received"] += 1
    with tempfile.TemporaryDirectory() as folder:
        parts = assembled(Path(folder))
        for batch in batches:
            take(parts, *(message_of(*each) for each in batch))
        found, kept = parts.intake.counts.totals(), parts.journal.totals()
        parts.journal.close()

    assert {name: n for name, n in found.items() if n} == dict(wanted)
    assert kept == (found if batches else {})
    assert found["received"] == found["committed"] + found["duplicate"] + sum(
        n for name, n in found.items() if name.startswith("rejected.")
    )


# -- dead letters -------------------------------------------------------------------------------


def test_a_dead_letter_tells_when_where_why_and_the_beginning_of_the_payload(parts):
    payload = b'{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 0, "x": "' + b"y" * 3000 + b'"}'
    take(parts, Message("monitor/a/x/reading", payload), received=START + 7.0)
    (letter,) = parts.journal.dead_letters()

    assert (letter.received, letter.topic) == (START + 7.0, "monitor/a/x/reading")
    assert letter.reason == "bad_uncertainty"
    assert letter.detail == "u is 0; it must be at least 1e-12"
    assert letter.payload == payload[:1024]


def test_the_reason_of_a_refusal_by_the_limits_is_put_in_words(parts):
    take(parts, said("reading", "xenon", START, value=1.0, u=0.5))

    assert parts.journal.dead_letters()[0].detail == REASONS["not_allowed"]


def test_one_message_leaves_at_most_eight_dead_letters(parts):
    take(parts, many("a", *((float(at), 1.0, 0.0) for at in range(30))))
    take(parts, many("a", (1.0, 1.0, 0.5), *((float(at), 1.0, 0.0) for at in range(20))))

    assert len(parts.journal.dead_letters(1000)) == 16
    assert counted(parts)["rejected"] == {"bad_uncertainty": 1}
    assert counted(parts)["records"] == {"bad_uncertainty": 20}


def test_of_a_flood_of_bad_messages_the_newest_are_kept_and_all_are_counted(parts):
    take(parts, *(Message(f"nowhere/{at}", b"") for at in range(120)))
    letters = parts.journal.dead_letters(1000)

    assert [letter.topic for letter in letters] == [f"nowhere/{119 - at}" for at in range(50)]
    assert counted(parts)["rejected"] == {"unknown_topic": 120}


# -- no space -----------------------------------------------------------------------------------


def limit_pages(parts: Parts, more: int) -> None:
    (used,) = parts.journal._database.connection.execute("pragma page_count").fetchone()
    parts.journal._database.connection.execute(f"pragma max_page_count = {used + more}")


def test_without_space_memory_takes_no_pairs_and_the_same_batch_is_committed_later(parts):
    sent = [
        said(kind, "a", START + at, value=float(at), u=0.5)
        for at in range(300)
        for kind in ("reading", "reference")
    ]
    batch = parts.intake.prepare(sent, START + 400.0)
    limit_pages(parts, 0)
    for _ in range(2):
        with pytest.raises(JournalFullError):
            parts.intake.commit(batch)
    assert parts.network.evaluate(START).window_pairs.tolist() == [0]
    assert parts.intake.commits == 0
    assert parts.journal.totals() == {}

    limit_pages(parts, 10_000)
    parts.intake.commit(batch)
    assert parts.network.evaluate(START).window_pairs.tolist() == [60]
    assert parts.intake.commits == 1
    assert parts.journal.totals() == parts.intake.counts.totals()
    assert counted(parts)["committed"] == 600
    assert parts.journal.pairs().size == 300


# -- a restart changes nothing ------------------------------------------------------------------

MODES = {
    "nearest": "mode: nearest, tolerance_seconds: 15",
    "key": "mode: key",
    "asof": "mode: asof, tolerance_seconds: 15",
    "interpolate": "mode: interpolate, tolerance_seconds: 300",
    "mean": "mode: mean_over_reference_interval, reading_seconds: 60, completeness: 0.3",
}
MINUTES = 150
TAKE_SECONDS = 300.0


class Step(NamedTuple):
    """Messages that arrive together; then, now and then, what is too old is let go of."""

    now: float
    messages: list[Message]
    forget: bool


def sent_by(sensor: str, mode: str, chance: np.random.Generator) -> Iterable[tuple[float, Message]]:
    """Yield (arrival, message): late both ways, often later than the other side waits."""
    for at in range(MINUTES):
        time, truth = START + 60.0 * at, chance.normal(500.0, 50.0)
        key = {"key": str(at)} if mode == "key" else {}

        def late(time: float = time) -> float:
            return time + chance.choice([0.0, 0.0, 0.0, *chance.uniform(0.0, (1800.0, 9000.0))])

        for number in range(1 + (chance.random() < 0.2)):
            value = truth + chance.normal()
            when = time + float(chance.integers(0, 20))
            sequence = 1000 * number + at
            yield late(), said("reading", sensor, when, value=value, u=1.0, seq=sequence, **key)
        when = time + float(chance.integers(0, 20))
        body = {
            "value": truth,
            "u": 0.3,
            "start": instant(when - 100.0),
            "end": instant(when),
            **key,
        }
        if chance.random() < 0.5:
            yield late(), said("reference", sensor, when, **body)
            continue
        body["id"] = f"{sensor}{at}"
        for revision in range(int(chance.integers(1, 4))):
            status = "void" if revision == 2 and chance.random() < 0.5 else "final"
            more = {"value": truth + revision, "rev": revision, "status": status}
            yield late(), said("reference", sensor, when, **{**body, **more})
    adjusted = START + 20.0 * MINUTES
    yield adjusted + 900.0, said("event", sensor, adjusted, event="adjusted")


def life_of(mode: str, seed: int) -> list[Step]:
    chance = np.random.default_rng(seed)
    sent = [each for sensor in "ab" for each in sent_by(sensor, mode, chance)]
    sent.sort(key=lambda each: each[0])
    grouped = itertools.groupby(sent, key=lambda each: int((each[0] - START) // TAKE_SECONDS))
    return [
        Step(START + (at + 1) * TAKE_SECONDS, [message for _, message in each], at % 3 == 0)
        for at, each in grouped
    ]


def lived(life: list[Step], mode: str, *, restart: bool, folder: Path) -> dict[str, object]:
    """Return all that is known at the end of a life, restarted at every chance or never."""
    parts = assembled(folder, START, MODES[mode])
    for step in life:
        take(parts, *step.messages, received=step.now)
        if step.forget:
            parts.network.expire(step.now)
            parts.journal.expire(
                observations_before=step.now - WAIT_HOURS * HOUR, pairs_before=-HOUR
            )
            if restart:
                parts.journal.close()
                parts = assembled(folder, step.now, MODES[mode])
    network, snapshot = parts.network, parts.network.evaluate(life[-1].now)
    rows = np.arange(len(network.registry))
    known = {
        **{name: values.tobytes() for name, values in snapshot.statistics.items()},
        "evidence": network.detector.evidence(rows).tolist(),
        "states and sentences": (snapshot.states, snapshot.sentences),
        "window pairs": snapshot.window_pairs.tolist(),
        "held": (network.pairing.readings, len(network.pairing.references)),
        "counts": parts.intake.counts.totals(),
        "pairs": in_event_order(parts.journal.pairs()).tobytes(),
    }
    parts.journal.close()
    return known


@pytest.mark.parametrize("seed", [0, *further(1)])
@pytest.mark.parametrize("mode", MODES)
def test_restarts_change_no_bit_though_what_waited_too_long_is_gone(mode, seed, tmp_path):
    life = life_of(mode, seed)
    folders = [tmp_path / name for name in ("whole", "restarted")]
    whole, restarted = (
        lived(life, mode, restart=folder.name == "restarted", folder=folder) for folder in folders
    )

    assert min(whole["window pairs"]) > 10
    assert [name for name in whole if whole[name] != restarted[name]] == []


def test_what_was_prepared_and_not_committed_comes_again_as_if_for_the_first_time(tmp_path):
    life = life_of("nearest", 5)
    whole = lived(life, "nearest", restart=False, folder=tmp_path / "whole")
    parts = assembled(tmp_path / "died", START, MODES["nearest"])
    for step in life:
        parts.intake.prepare(step.messages, step.now)
        parts.journal.close()
        parts = assembled(tmp_path / "died", step.now, MODES["nearest"])
        take(parts, *step.messages, received=step.now)
        if step.forget:
            parts.network.expire(step.now)
            parts.journal.expire(
                observations_before=step.now - WAIT_HOURS * HOUR, pairs_before=-HOUR
            )
    assert parts.intake.counts.totals() == whole["counts"]
    assert parts.network.evaluate(life[-1].now).window_pairs.tolist() == whole["window pairs"]
    parts.journal.close()


def test_readings_that_are_gone_are_not_replaced_by_later_ones(tmp_path):
    parts = assembled(tmp_path)
    reference = said("reference", "a", START + 10.0, value=5.0, id="lab")
    take(parts, said("reading", "a", START + 11.0, value=6.0, u=1.0), received=START + 11.0)
    take(parts, reference, received=START + 0.5 * HOUR)
    now = START + 1.2 * HOUR  # the reading is gone, its reference still held
    parts.network.expire(now)
    parts.journal.expire(observations_before=now - HOUR, pairs_before=-HOUR)
    parts.journal.close()
    parts = assembled(tmp_path, now)
    take(parts, said("reading", "a", START + 10.0, value=9.0, u=1.0), received=now)

    assert parts.network.pairing.readings == 1
    assert in_event_order(parts.journal.pairs())["value"].tolist() == [6.0]
    parts.journal.close()


def test_a_revision_of_a_reference_let_go_keeps_its_pair_from_later_readings(parts):
    take(parts, said("reading", "a", START + 11.0, value=6.0, u=1.0), received=START + 11.0)
    named = {"value": 5.0, "id": "lab"}
    take(parts, said("reference", "a", START + 10.0, **named), received=START + 11.0)
    parts.network.expire(START + 2.0 * HOUR)
    take(parts, said("reference", "a", START + 10.0, **{**named, "value": 4.0, "rev": 1}))
    take(parts, said("reading", "a", START + 10.0, value=9.0, u=1.0))
    standing = in_event_order(parts.journal.pairs())

    assert standing[["value", "reference"]].tolist() == [(6.0, 4.0)]


def test_more_series_than_the_settings_now_allow_are_still_known(tmp_path):
    parts = assembled(tmp_path)
    sent = [said("reading", f"s{at}", START, value=1.0, u=0.5) for at in range(4)]
    take(parts, *sent)
    parts.journal.close()
    text = f'journal: {{path: "{tmp_path}/journal.sqlite"}}\nseries: {{max: 2}}\n{SOURCES}'
    parts = assemble(parse(text.encode(), "settings.yaml"), START + 60.0)
    take(parts, said("reading", "s3", START + 1.0, value=1.0, u=0.5))
    take(parts, said("reading", "s4", START, value=1.0, u=0.5))

    assert len(parts.network.names()) == 4
    assert counted(parts)["rejected"] == {"series_limit": 1}
    parts.journal.close()


def test_what_is_refused_counts_against_the_sensor_of_its_topic(parts):
    good = [said("reading", "good", START + at, value=1.0, u=1.0) for at in range(40)]
    bad = [said("reading", "bad", START + at, value=1.0, u=1.0) for at in range(40)]
    broken = [Message(bad[0].topic, b"{") for _ in range(10)]
    take(parts, *good, *bad, *broken)

    snapshot = parts.network.evaluate(START + 60.0)

    told = zip(snapshot.names, snapshot.alerts["rejected_share"].tolist(), strict=True)
    assert {name.sensor: refused for name, refused in told} == {"good": False, "bad": True}


def test_a_message_that_was_used_in_part_is_not_one_that_could_not_be_used(parts):
    take(parts, *(many("cart", (at, 1.0, 1.0), (at, 2.0, -1.0)) for at in range(40)))

    snapshot = parts.network.evaluate(START + 60.0)

    assert counted(parts)["records"] == {"bad_uncertainty": 40}
    assert not snapshot.alerts["rejected_share"].any()
