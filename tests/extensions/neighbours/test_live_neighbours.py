"""The daemon's part: blocks that outlive a crash, opinions in snapshots, and a real broker."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.members import assert_described
from harness.programs import until
from harness.publishing import Said

from monitor.config.extended import model_of
from monitor.daemon.assembly import Parts, assemble
from monitor.mqtt.publish import BrokerPublisher

START = 1_767_225_600.0  # 2026-01-01
HOUR, DAY = 3600.0, 86_400.0
SENSORS = tuple(f"n{at}" for at in range(7))
WRONG_SINCE = 75
DAYS = 100
APART = "neighbours_apart"


def messages(day: int, hours: range = range(0, 24, 4)) -> Iterator[tuple[float, Said]]:
    """A town's day: common air, six sensors that follow it, and a seventh that leaves it."""
    random = np.random.default_rng(day)
    for hour in hours:
        time = START + day * DAY + hour * HOUR
        common = 40.0 + 8.0 * np.sin(day / 9.0) + 3.0 * np.sin(hour / 24.0 * 2.0 * np.pi)
        stamp = datetime.fromtimestamp(time, UTC).isoformat()
        for at, sensor in enumerate(SENSORS):
            off = 8.0 if sensor == "n3" and day >= WRONG_SINCE else 0.0
            value = common * (0.9 + 0.03 * at) + off + random.normal()
            reading = {"time": stamp, "value": value, "u": 3.0}
            yield time, Said(f"monitor/{sensor}/pm/reading", json.dumps(reading).encode())
            if day % 30 == 3 and hour == 12 and day < 70:
                reference = {"time": stamp, "value": common * (0.9 + 0.03 * at), "u": 0.5}
                yield time, Said(f"monitor/{sensor}/pm/reference", json.dumps(reference).encode())


def settings_of(folder, groups=({"name": "town", "sensors": ["*"]},), **neighbours):
    values = {
        "journal": {"path": str(folder / "journal.sqlite")},
        "series": {"max_new_per_minute": 100, "stale_after_seconds": 1e7},
        "groups": groups,
        "neighbours": {"watch": True, **neighbours},
    }
    return model_of(values).model_validate(values)


def take(parts: Parts, days: range, *, hours: range = range(0, 24, 4)) -> float:
    """Give days to a daemon, a batch every six hours; return the time of the last batch."""
    received = 0.0
    for day in days:
        batch: list[Said] = []
        for at, (time, message) in enumerate(messages(day, hours)):
            batch.append(message)
            received = max(received, time)
            if at % 21 == 20:
                parts.intake.commit(parts.intake.prepare(batch, received + 1.0))
                batch = []
        parts.intake.commit(parts.intake.prepare(batch, received + 2.0))
    return received


def looked(parts: Parts, now: float):
    """Return the snapshot once the listener has judged what it holds."""
    (listener,) = parts.listeners
    listener.see(parts.network.evaluate(now))

    def is_judged() -> bool:
        listener.work(float("inf"))
        return bool(listener.opinions.of) and not listener.is_looking

    until("neighbours are judged", is_judged)
    return listener.see(parts.network.evaluate(now))


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    parts = assemble(settings_of(folder), START)
    last = take(parts, range(DAYS))
    yield folder, parts, last
    parts.journal.close()


def test_who_left_its_neighbours_is_said_in_verdict_document_page_and_numbers(journal):
    _, parts, last = journal
    now = looked(parts, last)
    row = [name.sensor for name in now.names].index("n3")

    words = now.sentences[row]
    assert "quiet for " in words
    assert "; its neighbours say +" in words
    assert now.advice[row] == "compare it with a reference next"
    assert now.statistics[APART].tolist() == [float(at == row) for at in range(len(SENSORS))]
    assert abs(now.statistics["neighbours_shift"][row] - 8.0) < 2.0
    opinions = now.additions["neighbours"]
    document = opinions.document(now, row)["neighbours"]
    assert document["state"] == "apart"
    assert document["since"].startswith("2026-03-1")
    assert_described("neighbours", opinions.document(now, row))
    assert "n3: quiet for" in opinions.fragments(now, row)[1]
    assert opinions.asks_reference(now, row)
    assert not any(
        opinions.asks_reference(now, other) for other in range(len(SENSORS)) if other != row
    )
    states = {opinions.document(now, at)["neighbours"]["state"] for at in range(7) if at != row}
    assert states == {"agrees"}


def test_it_changes_no_verdict_of_pairs(journal):
    _, parts, last = journal
    before = parts.network.evaluate(last)
    now = looked(parts, last)

    assert now.states == before.states
    assert now.reports == before.reports
    assert all((now.alerts[name] == before.alerts[name]).all() for name in before.alerts)


def test_a_crash_loses_no_reading_and_counts_none_twice(tmp_path):
    settings = settings_of(tmp_path)
    parts, whole = assemble(settings, START), tmp_path / "whole"
    whole.mkdir()
    other = assemble(settings_of(whole), START)
    for first in range(0, 12, 2):
        last = take(parts, range(first, first + 2))
        take(other, range(first, first + 2))
        parts.journal.close()  # without a word to anybody, as a crash would
        parts = assemble(settings, last + 2.0)
    take(parts, range(12, 15))
    take(other, range(12, 15))

    mine, its = (each.listeners[0].blocks.table() for each in (parts, other))
    assert (mine.first, mine.values.shape) == (its.first, its.values.shape)
    np.testing.assert_array_equal(mine.values, its.values)
    np.testing.assert_array_equal(mine.pairs, its.pairs)
    assert np.isfinite(mine.values[:, : len(SENSORS)]).all()
    for each in (parts, other):
        each.journal.close()


def test_a_restart_finds_the_same(journal, tmp_path):
    folder, parts, last = journal
    before = looked(parts, last)
    copy = shutil.copytree(folder, tmp_path / "copy")
    again = assemble(settings_of(copy), last)
    after = looked(again, last)

    assert after.sentences == before.sentences
    again.journal.close()


def test_a_reading_that_is_two_days_late_is_counted_and_changes_nothing(tmp_path):
    parts = assemble(settings_of(tmp_path), START)
    take(parts, range(6))
    (listener,) = parts.listeners
    before = listener.blocks.table().values
    (counter,) = listener.families()
    assert counter.samples[()] == 0
    take(parts, range(1, 2), hours=range(1, 2))  # an hour that nobody sent yet

    np.testing.assert_array_equal(listener.blocks.table().values, before)
    (counter,) = listener.families()
    assert counter.samples[()] == len(SENSORS)
    parts.journal.close()


def test_a_series_of_no_group_closes_no_day(tmp_path):
    parts = assemble(settings_of(tmp_path, groups=[{"name": "town", "sensors": ["n*"]}]), START)
    (listener,) = parts.listeners
    stamp = datetime.fromtimestamp(START + 90 * DAY, UTC).isoformat()
    reading = {"time": stamp, "value": 1.0, "u": 1.0}
    message = Said("monitor/other/pm/reading", json.dumps(reading).encode())
    parts.intake.commit(parts.intake.prepare([message], START + 90 * DAY))
    take(parts, range(6))

    (counter,) = listener.families()
    assert counter.samples[()] == 0
    table = listener.blocks.table()
    row = parts.network.registry.get("n0", "pm")
    assert np.isfinite(table.values[:4, row]).all()
    parts.journal.close()


def test_open_hours_cost_sixteen_bytes_a_series_and_are_few(tmp_path):
    parts = assemble(settings_of(tmp_path), START)
    take(parts, range(8))
    blocks = parts.listeners[0].blocks

    width = blocks.width
    assert blocks.open_bytes <= 3 * 24 * 16 * width
    parts.journal.close()


def test_neighbours_whose_references_call_them_wrong_say_nothing(tmp_path):
    parts = assemble(settings_of(tmp_path), START)
    random = np.random.default_rng(4)
    batch: list[Said] = []
    for hour in range(0, 24 * 30, 4):
        stamp = datetime.fromtimestamp(START + hour * HOUR, UTC).isoformat()
        for at in range(4):  # the first is right, the others read 30 high
            value = (70.0 if at else 40.0) + random.normal()
            reading = {"time": stamp, "value": value, "u": 1.0}
            reference = {"time": stamp, "value": 40.0, "u": 0.5}
            for kind, stated in (("reading", reading), ("reference", reference)):
                batch.append(Said(f"monitor/n{at}/pm/{kind}", json.dumps(stated).encode()))
    parts.intake.commit(parts.intake.prepare(batch, START + 30 * DAY))
    now = looked(parts, START + 30 * DAY)

    opinions = now.additions["neighbours"]
    said = [opinions.document(now, row)["neighbours"] for row in range(4)]
    assert [each["state"] for each in said] == ["few", "suspect", "suspect", "suspect"]
    assert said[0]["sentence"].startswith("its neighbours say nothing: 0 of its 3 neighbours can")
    assert said[0]["shift"] is None
    parts.journal.close()


def test_it_is_off_until_it_is_asked_for(tmp_path):
    values = {"journal": {"path": str(tmp_path / "j.sqlite")}, "neighbours": {"watch": False}}
    parts = assemble(model_of(values).model_validate(values), START)

    assert parts.listeners == ()
    parts.journal.close()


def elsewhere(time: float) -> Iterator[Said]:
    """Readings of a sensor beside the town that no reference meets, and of two far away."""
    stamp = datetime.fromtimestamp(time, UTC).isoformat()
    for sensor in ("new", "far0", "far1"):
        reading = {"time": stamp, "value": 40.0, "u": 3.0}
        yield Said(f"monitor/{sensor}/pm/reading", json.dumps(reading).encode())


def test_through_a_broker_neighbours_by_distance_are_on_metric_page_and_map(tmp_path, mosquitto):
    places = [f"{{sensor: {sensor}, latitude: 51.{at}, longitude: 0}}" for at, sensor in
              enumerate((*SENSORS, "new"))]  # fmt: skip
    places += [f"{{sensor: far{at}, latitude: 55, longitude: 0.{at}}}" for at in range(2)]
    more = (
        f"places: [{', '.join(places)}]\nneighbours: {{watch: true, distance_km: 90}}\n"
        "alerts: {due: true, tolerance: 20}\n"
        "series: {stale_after_seconds: 1e7, max_new_per_minute: 100}"
    )
    daemon = Daemon(tmp_path, mosquitto.port, more)
    try:
        daemon.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for day in range(DAYS):
                for at, (time, message) in enumerate(messages(day)):
                    out.publish(message.topic, message.payload)
                    for other in elsewhere(time) if at % len(SENSORS) == 0 else ():
                        out.publish(other.topic, other.payload)
        name = 'monitor_neighbours_apart{sensor="n3",quantity="pm"}'
        until("it is apart", lambda: daemon.value(name) == 1.0)
        document = daemon.json("/api/v1/series/n3/pm")
        assert document["neighbours"]["state"] == "apart"
        assert "its neighbours say +" in document["sentence"]
        assert "What its neighbours say" in daemon.get("/series/n3/pm")[1].decode()
        listed = daemon.json("/api/v1/due")["series"]
        assert listed[0]["sensor"] == "n3"
        assert "its neighbours say +" in listed[0]["sentence"]
        assert daemon.value("monitor_alerts_firing") in (0.0, -1.0)
        drawn = daemon.get("/picture?view=map")[1].decode()
        marked = re.findall(r'"dot pending"[^>]*><title>(\w+) pm, may be wrong: ', drawn)
        assert marked == ["n3"]
        said = {
            sensor: daemon.json(f"/api/v1/series/{sensor}/pm")["neighbours"]["sentence"]
            for sensor in ("new", "far0")
        }
        assert "without a reference since its last event" in said["new"]
        assert said["far0"] == "its neighbours say nothing: it has 1 neighbour; it takes 3"
    finally:
        daemon.kill()
