"""Covariates in the daemon: where numbers come from, what they are beside, and what is found."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.programs import until
from harness.publishing import Said

from monitor.cli import main
from monitor.config import Settings, SettingsError, parse
from monitor.config.extended import model_of
from monitor.core.analysis.where_words import where_sentence
from monitor.core.model import Sample
from monitor.daemon.assembly import Parts, assemble
from monitor.extensions.where.covariate_keeper import Where
from monitor.mqtt.publish import BrokerPublisher

START = 1_767_225_600.0
NATIVE = [{"name": "hour"}, {"name": "rh", "unit": "%", "field": "rh"}]
OWN = [{"name": "temp", "unit": "C", "topic": "site/{sensor}/temp", "max_age_seconds": 600}]


def settings_of(folder: Path, covariates: Sequence[dict]) -> Settings:
    values = {
        "journal": {"path": str(folder / "journal.sqlite")},
        "series": {"max_new_per_minute": 1000, "stale_after_seconds": 1e7},
        "covariates": list(covariates),
    }
    return model_of(values).model_validate(values)


def where_of(parts: Parts) -> Where:
    (listener,) = parts.listeners
    assert isinstance(listener, Where)
    return listener


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def reading(at: float, value: float, sensor: str = "a", **more: object) -> Said:
    body = {"time": stamp(at), "value": value, "u": 1.0, **more}
    return Said(f"monitor/{sensor}/x/reading", json.dumps(body).encode())


def reference(at: float, value: float, sensor: str = "a") -> Said:
    body = {"time": stamp(at), "value": value}
    return Said(f"monitor/{sensor}/x/reference", json.dumps(body).encode())


def temperature(number: object, sensor: str = "a") -> Said:
    return Said(f"site/{sensor}/temp", json.dumps(number).encode())


def take(parts: Parts, said: Sequence[Said], now: float) -> None:
    parts.intake.commit(parts.intake.prepare(said, now))


def beside(parts: Parts, row: int = 0) -> list[tuple[float, float]]:
    """Return (time of the pair, number) of all numbers beside pairs of a series."""
    rows = parts.journal.covariates_of(row)
    return list(zip((rows["time"] - START).tolist(), rows["number"].tolist(), strict=True))


def looked(parts: Parts) -> None:
    """Wait until every series was looked at."""
    ticks = iter(range(10**9))

    def done() -> bool:
        where_of(parts).check.work(1e9 * next(ticks))
        return not where_of(parts).keeper.changed and where_of(parts).check._look is None

    until("every series was looked at", done)


def planted(pairs: int, seed: int, factor: float) -> list[tuple[float, float, float, float]]:
    """Return (time, value, reference, humidity): errors ``factor`` times u above 80 %."""
    random = np.random.default_rng(seed)
    humidity = random.uniform(0.0, 100.0, pairs).round(1)
    level = random.normal(50.0, 10.0, pairs).round(3)
    error = random.normal(size=pairs) * np.where(humidity > 80.0, factor, 1.0)
    times = START + 1800.0 * np.arange(pairs)
    return list(zip(*map(np.ndarray.tolist, (times, level + error, level, humidity)), strict=True))


def take_all(parts: Parts, rows: Sequence[tuple[float, float, float, float]]) -> None:
    """Take the readings and references of :func:`planted` in one batch."""
    said = [
        each
        for time, value, level, humidity in rows
        for each in (reading(time, value, rh=humidity), reference(time, level))
    ]
    take(parts, said, rows[-1][0] + 1)


# -- numbers beside pairs -------------------------------------------------------------------------


def test_a_number_in_the_message_of_a_reading_stands_beside_its_pairs(tmp_path):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    said = [reading(START, 1.0, rh=81.5), reading(START + 60, 2.0, rh=3), reference(START, 1.0)]
    take(parts, [*said, reference(START + 60, 2.5)], START + 61)

    assert beside(parts) == [(0.0, 81.5), (60.0, 3.0)]
    assert parts.intake.counts.committed == 4
    assert not [*where_of(parts).keeper.notices()]


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({}, "missing_field"),
        ({"rh": "wet"}, "bad_field"),
        ({"rh": None}, "missing_field"),
        ({"rh": True}, "bad_field"),
        ({"rh": [1]}, "bad_field"),
    ],
)
def test_a_number_that_cannot_be_used_costs_the_number_and_not_the_reading(tmp_path, stated, why):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    take(parts, [reading(START, 1.0, **stated), reference(START, 1.0)], START + 1)

    assert parts.intake.counts.committed == 2
    assert parts.network.windows.counts(np.array([0])).tolist() == [1]
    assert beside(parts) == []
    ((name, reason), count), *others = where_of(parts).keeper.refused.items()
    assert (name, count, others) == ("rh", 1, [])
    assert reason == why
    told = " ".join(where_of(parts).keeper.notices())
    assert "covariate rh: 1 reading without a usable number" in told


def test_a_topic_of_its_own_gives_the_newest_number_that_is_not_too_old(tmp_path):
    own = {**OWN[0], "field": "t", "time": "at"}
    parts = assemble(settings_of(tmp_path, [own]), START)
    for at, number in ((0.0, 20.0), (300.0, 21.0), (310.0, 22.0)):
        take(parts, [temperature({"t": number, "at": stamp(START + at)})], START + at)
    times = (-1.0, 0.0, 299.0, 305.0, 910.0, 911.0)
    for at in times:
        take(parts, [reading(START + at, 1.0), reference(START + at, 1.0)], START + 1000)

    assert beside(parts) == [(0.0, 20.0), (299.0, 20.0), (305.0, 21.0), (910.0, 22.0)]
    other = [reading(START + 305, 1.0, "b"), reference(START + 305, 1.0, "b")]
    take(parts, other, START + 1000)
    assert beside(parts, 1) == []


def test_a_topic_without_a_sensor_holds_for_all_and_a_bare_payload_for_when_it_came(tmp_path):
    parts = assemble(settings_of(tmp_path, [{"name": "temp", "topic": "site/temp"}]), START)
    take(parts, [Said("site/temp", b"20.5")], START)
    for sensor in "ab":
        said = [reading(START + 60, 1.0, sensor), reference(START + 60, 1.0, sensor)]
        take(parts, said, START + 60)

    assert beside(parts, 0) == beside(parts, 1) == [(60.0, 20.5)]


def test_what_cannot_be_read_in_a_topic_of_its_own_is_rejected_as_any_message_is(tmp_path):
    parts = assemble(settings_of(tmp_path, OWN), START)
    take(parts, [temperature("warm"), temperature(math.nan), temperature(7)], START)

    assert (parts.intake.counts.received, parts.intake.counts.committed) == (3, 1)
    assert sum(parts.intake.counts.rejected.values()) == 2
    assert len(parts.journal.dead_letters(10)) == 2


def test_messages_that_come_again_count_once(tmp_path):
    own = {**OWN[0], "field": "t", "time": "at"}
    parts = assemble(settings_of(tmp_path, [*NATIVE, own]), START)
    said = [
        temperature({"t": 20.0, "at": stamp(START)}),
        reading(START, 1.0, rh=5),
        reference(START, 1.0),
    ]
    for _ in range(3):
        take(parts, said, START + 1)

    assert parts.intake.counts.totals() == {"received": 9, "committed": 3, "duplicate": 6}
    assert sorted(beside(parts)) == [(0.0, 5.0), (0.0, 20.0)]
    kept = [each for _, batch in parts.journal.observations() for each in batch]
    assert len([each for each in kept if isinstance(each, Sample)]) == 2


def test_a_number_that_never_came_is_told(tmp_path):
    parts = assemble(settings_of(tmp_path, OWN), START)
    assert not [*where_of(parts).keeper.notices()]
    take(parts, [reading(START, 1.0), reference(START, 1.0)], START + 1)

    assert [*where_of(parts).keeper.notices()] == [
        "covariate temp: none of its numbers has come yet"
    ]
    looked(parts)
    (found,) = where_of(parts).check.found[0]
    assert where_sentence(found) == "cannot be judged by temp: no pair has it"


def test_pairs_that_are_made_after_a_start_have_the_numbers_that_came_before_it(tmp_path):
    settings = settings_of(tmp_path, [*NATIVE, *OWN])
    parts = assemble(settings, START)
    take(parts, [temperature(20.0), reading(START, 1.0, rh=5)], START)
    parts.journal.close()
    parts = assemble(settings, START + 10)
    take(parts, [reference(START, 1.0)], START + 10)

    assert sorted(beside(parts)) == [(0.0, 5.0), (0.0, 20.0)]


def test_readings_that_expired_do_not_expire_again_after_a_start(tmp_path):
    settings = settings_of(tmp_path, OWN)
    wait = settings.pairing.max_wait_hours * 3600.0
    parts = assemble(settings, START)
    take(parts, [temperature(20.0), reading(START, 1.0)], START)
    now = START + wait + 300.0
    parts.network.expire(now)
    assert parts.network.pairing.expired_unpaired == 1
    before = now - where_of(parts).keeper.wait_seconds(wait)
    parts.journal.forget(observations_before=before, pairs_before=-math.inf)
    take(parts, [reading(now, 1.0)], now)
    parts.journal.close()

    parts = assemble(settings, now)
    assert parts.network.pairing.expired_unpaired == 0
    assert parts.network.pairing.readings == 1
    assert where_of(parts).keeper.samples.held == 1


@pytest.mark.parametrize(
    ("topic", "payload", "told"),
    [
        ("site/a/temp", "20.5", ["covariates[1], site/{sensor}/temp", "temp = 20.5 for a, 2026-"]),
        ("site/a/temp", '"warm"', ["rejected: bad_"]),
        (
            "monitor/a/x/reading",
            '{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 1, "rh": 81.5}',
            ["rh = 81.5 for a, x, 2026-01-01T00:00:00", "would be used: 1 reading"],
        ),
        (
            "monitor/a/x/reading",
            '{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 1, "rh": "wet"}',
            ["covariate    rh: none, ", "(bad_field); the reading is used"],
        ),
    ],
)
def test_explain_shows_covariates(tmp_path, capsys, topic, payload, told):
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        "covariates:\n  - {name: rh, field: rh}\n  - {name: temp, topic: 'site/{sensor}/temp'}\n"
    )
    now = ["--now", "2026-01-01T01:00:00Z"]
    main(["explain", "--config", str(settings), *now, topic, payload])
    out = " ".join(capsys.readouterr().out.split())

    for words in told:
        assert " ".join(words.split()) in out
    assert "not read" not in out


# -- what is found --------------------------------------------------------------------------------


def test_what_is_found_is_what_the_command_says_of_the_same_pairs(tmp_path, capsys):
    covariates = [*NATIVE, {"name": "level"}]
    parts = assemble(settings_of(tmp_path, covariates), START)
    rows = planted(500, 3, 2.5)
    for at in range(0, len(rows), 50):
        said = [
            each
            for time, value, level, humidity in rows[at : at + 50]
            for each in (reading(time, value, rh=humidity), reference(time, level))
        ]
        take(parts, said, rows[min(at + 49, len(rows) - 1)][0] + 1)
    looked(parts)
    found = where_of(parts).check.found[0]
    sentence = where_sentence(found[1])
    assert sentence.startswith("understates its uncertainty ")
    assert "above 80 % rh, right below" in sentence

    file = tmp_path / "pairs.csv"
    lines = ["time,sensor,quantity,value,sigma,reference,rh"]
    lines += [f"{stamp(t)},a,x,{v!r},1,{r!r},{h!r}" for t, v, r, h in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["score", str(file), "--covariates", "hour,rh,level", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["series"]
    assert [each["sentence"] for each in told["where"]] == [
        where_sentence(each._replace(unit="")) if each.covariate == "rh" else where_sentence(each)
        for each in found
    ]
    evidence = [[part["log_evidence"] for part in each["findings"]] for each in told["where"]]
    assert evidence == [[part.log_evidence for part in each.findings] for each in found]


@pytest.mark.slow
def test_of_honest_sensors_hardly_any_is_found_wrong(tmp_path):
    parts = assemble(settings_of(tmp_path, [*NATIVE, {"name": "level"}]), START)
    sensors = [f"s{at}" for at in range(30)]
    of = {name: planted(300, at, 1.0) for at, name in enumerate(sensors)}
    for at in range(300):
        said = [
            each
            for name, rows in of.items()
            for time, value, level, humidity in (rows[at],)
            for each in (reading(time, value, name, rh=humidity), reference(time, level, name))
        ]
        take(parts, said, START + 1800.0 * at + 1)
    looked(parts)

    wrong = [
        row
        for row, told in where_of(parts).check.found.items()
        if any(each.findings for each in told)
    ]
    assert len(where_of(parts).check.found) == len(sensors)
    assert len(wrong) <= 4  # 1.5 expected at most, two standard deviations more


def test_an_internal_error_costs_what_is_told_and_never_the_daemon(tmp_path, monkeypatch, caplog):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("monitor.extensions.where.covariate_keeper.calibrated_where", broken)
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    take(parts, [reading(START, 1.0, rh=5), reference(START, 1.0)], START + 1)
    looked(parts)

    assert where_of(parts).check.found == {0: ()}
    assert where_of(parts).check.wrong() == {}
    assert "this series is not judged by them" in caplog.text


def test_of_a_series_that_was_evicted_nothing_is_told_any_more(tmp_path):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    take(parts, [reading(START, 1.0, rh=5), reference(START, 1.0)], START + 1)
    looked(parts)
    assert where_of(parts).check.wrong() == {("a", "x", "hour"): 0.0, ("a", "x", "rh"): 0.0}

    assert parts.network.evict(START + 100 * 86_400.0, 90.0) == 1
    assert where_of(parts).check.wrong() == {}


def test_pairs_before_the_last_event_do_not_count(tmp_path):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    rows = planted(300, 4, 4.0)
    take_all(parts, rows)
    looked(parts)
    assert where_of(parts).check.found[0][1].findings
    event = {"time": stamp(rows[-1][0] + 60), "event": "adjusted"}
    now = rows[-1][0] + 120
    take(parts, [Said("monitor/a/event", json.dumps(event).encode())], now)
    looked(parts)
    assert where_of(parts).check.found == {}
    for at in (now, now + 3600.0):
        take(parts, [reading(at, 1.0, rh=80 + at - now), reference(at, 1.0)], at + 1)
    looked(parts)

    assert [each.state for each in where_of(parts).check.found[0]] == ["few", "few"]


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        ("[{name: rh}]", "does not say where its number is; add field, or topic"),
        ("[{name: hour, field: h}]", "means nothing for hour, which comes from the pairs"),
        ("[{name: RH, field: rh}]", "covariates[0].name"),
        ("[{name: rh, field: rh}, {name: rh, field: x}]", "is the name of covariates[0] too"),
        ("[{name: rh, field: rh, time: t}]", "is for a topic of its own"),
        ("[{name: rh, topic: 'a/{sensor}/{place}'}]", "which nothing reads"),
        ("[{name: rh, topic: 'a/+/rh'}]", "matches several topics that apply to all sensors"),
        ("[{name: rh, topic: 'monitor/{sensor}/x/reading'}]", "a message is read by one of them"),
        ("[{name: rh, field: 'a['}]", "covariates[0].field"),
        ("[{name: rh, field: rh, max_age_seconds: -1}]", "covariates[0].max_age_seconds"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(covariates, said):
    sources = (
        "sources:\n"
        "  - {topic: 'monitor/{sensor}/{quantity}/reading', kind: reading}\n"
        "  - {topic: 'monitor/{subject}/{quantity}/reference', kind: reference}\n"
    )
    with pytest.raises(SettingsError) as caught:
        parse(f"covariates: {covariates}\n{sources}".encode(), "settings.yaml")

    assert said in str(caught.value)


# -- the whole daemon -----------------------------------------------------------------------------

WATCHED = """
covariates: [{name: hour}, {name: rh, unit: '%', field: rh}, {name: temp, topic: site/temp}]
series: {stale_after_seconds: 1.0e+7}
"""
WRONG = 'monitor_covariate_wrong{sensor="a",quantity="x",covariate="rh"}'


def test_a_daemon_finds_it_tells_it_and_knows_it_again_after_a_kill(tmp_path, mosquitto):
    daemon = Daemon(tmp_path, mosquitto.port, WATCHED)
    rows = planted(400, 5, 3.0)

    def send(some: Sequence[tuple[float, float, float, float]]) -> None:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for time, value, level, humidity in some:
                for each in (reading(time, value, rh=humidity), reference(time, level)):
                    out.publish(each.topic, each.payload)

    def shown() -> dict:
        return daemon.json("/api/v1/series/a/x")

    try:
        daemon.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            out.publish("site/temp", b"20")
        send(rows[:200])
        daemon.kill()
        daemon.start()
        send(rows[200:])
        until("all pairs are there", lambda: shown()["pairs"] >= 200)
        until("it is found", lambda: daemon.value(WRONG) == 1.0)
        seen = lambda: sum(each["n"] for each in shown()["where"][1]["bins"])  # noqa: E731
        until("all pairs were looked at", lambda: seen() == len(rows))
        told = shown()["where"]
        assert daemon.value("monitor_covariate_numbers_dropped_total") == 0.0
        assert "above 80 % rh" in told[1]["sentence"]
        assert told[1]["sentence"].startswith("understates its uncertainty ")
        assert told[1]["sentence"].encode().split(b" (")[0] in daemon.get("/series/a/x")[1]

        daemon.kill()
        daemon.start()
        until("it is found again", lambda: (shown()["where"] or [{}, {}])[1] == told[1])
        assert shown()["where"] == told
    finally:
        daemon.kill()
    parts = assemble(settings_of(tmp_path / "other", [*NATIVE]), START)
    take_all(parts, rows)
    looked(parts)
    (found,) = [each for each in where_of(parts).check.found[0] if each.covariate == "rh"]
    # It is one of three covariates there, of two here: the evidence is the same.
    assert [each["log_evidence"] for each in told[1]["findings"]] == [
        each.log_evidence for each in found.findings
    ]
