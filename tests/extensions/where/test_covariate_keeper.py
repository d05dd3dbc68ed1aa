"""Covariates beside pairs, and what is found along them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from harness.daemon import Daemon
from harness.members import assert_described
from harness.programs import until
from harness.publishing import Said

from monitor.cli import main
from monitor.core.analysis.where_words import where_sentence
from monitor.core.model import Sample
from monitor.daemon.assembly import Parts, assemble
from monitor.http.documents import entry
from monitor.mqtt.publish import BrokerPublisher
from tests.extensions.where.test_covariate_fields import NATIVE, beside, temperature
from tests.extensions.where.test_watched_covariates import (
    OWN,
    START,
    looked,
    reading,
    reference,
    settings_of,
    stamp,
    take,
    where_of,
)


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
    parts.journal.expire(observations_before=before, pairs_before=-math.inf)
    take(parts, [reading(now, 1.0)], now)
    parts.journal.close()

    parts = assemble(settings, now)
    assert parts.network.pairing.expired_unpaired == 0
    assert parts.network.pairing.readings == 1
    assert where_of(parts).keeper.samples.held == 1


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
    now = where_of(parts).see(parts.network.evaluate(rows[-1][0] + 1))
    assert_described("where", entry(now, 0))
    evidence = [[part["log_evidence"] for part in each["findings"]] for each in told["where"]]
    assert evidence == [[part.log_evidence for part in each.findings] for each in found]


def warmed(pairs: int) -> list[tuple[float, float, float, float]]:
    """Return (time, value, reference, temperature): errors of 0.3 for each degree above 50."""
    rows = planted(pairs, 6, 1.0)
    return [(time, value + 0.3 * (rh - 50.0), level, rh) for time, value, level, rh in rows]


def test_the_verdict_names_the_covariate_as_the_command_does_of_the_same_pairs(tmp_path, capsys):
    bare = {"name": "rh", "field": "rh"}
    parts = assemble(settings_of(tmp_path, [{"name": "hour"}, bare]), START)
    rows = warmed(200)
    take_all(parts, rows)
    looked(parts)
    now = where_of(parts).see(parts.network.evaluate(rows[-1][0] + 1))
    live = entry(now, 0)

    file = tmp_path / "pairs.csv"
    lines = ["time,sensor,quantity,value,sigma,reference,rh"]
    lines += [f"{stamp(t)},a,x,{v!r},1,{r!r},{h!r}" for t, v, r, h in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["score", str(file), "--covariates", "hour,rh", "--json"]) == 0
    (scored,) = json.loads(capsys.readouterr().out)["series"]
    explained = scored["explained_by"]
    assert explained["estimate"] == pytest.approx(0.3, rel=0.1)
    assert live["explained_by"] == explained
    assert_described("where", live)
    for told in (live["sentence"], live["verdict"]["sentence"], scored["verdict"]["sentence"]):
        assert told.endswith(f"; {explained['sentence']}")
    for advice in (live["advice"], live["verdict"]["advice"], scored["verdict"]["advice"]):
        assert advice == explained["advice"] != ""
    assert main(["report", str(file), "--covariates", "rh", "--out", str(tmp_path / "r.html")]) == 0
    assert explained["sentence"] in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_category_is_named_as_in_the_file_of_the_same_pairs(tmp_path, capsys):
    own = {"name": "operator", "field": "by", "categories": ["Zoe", "Al", "Cy"]}
    parts = assemble(settings_of(tmp_path, [own]), START)
    rows = planted(200, 6, 1.0)
    by = ["Al" if rh > 50.0 else "Zoe" for *_, rh in rows]
    value = [value + 3.0 * (name == "Al") for (_, value, *_), name in zip(rows, by, strict=True)]
    said = []
    for at, (time, _, level, _) in enumerate(rows):
        said += [reading(time, value[at], by=by[at]), reference(time, level)]
    said.append(reading(rows[-1][0] + 60, 1.0, by="Bob"))
    take(parts, said, rows[-1][0] + 61)
    looked(parts)
    now = where_of(parts).see(parts.network.evaluate(rows[-1][0] + 61))
    live = entry(now, 0)
    assert live["explained_by"]["category"] == "Al"
    assert "heavy" not in live["sentence"]
    assert " high where operator is Al (" in live["sentence"]
    assert where_of(parts).keeper.refused == {("operator", "bad_field"): 1}

    file = tmp_path / "pairs.csv"
    lines = ["time,sensor,quantity,value,sigma,reference,operator"]
    for at, (time, _, level, _) in enumerate(rows):
        lines.append(f"{stamp(time)},a,x,{value[at]!r},1,{level!r},{by[at]}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["score", str(file), "--covariates", "operator", "--json"]) == 0
    (scored,) = json.loads(capsys.readouterr().out)["series"]
    assert live["explained_by"] == scored["explained_by"]


def test_what_explained_the_errors_before_an_event_is_told_no_more(tmp_path):
    parts = assemble(settings_of(tmp_path, NATIVE), START)
    rows = warmed(200)
    take_all(parts, rows)
    looked(parts)
    where, now = where_of(parts), rows[-1][0] + 120
    assert "per % of rh" in where.see(parts.network.evaluate(now)).sentences[0]
    event = {"time": stamp(rows[-1][0] + 60), "event": "adjusted"}
    take(parts, [Said("monitor/a/event", json.dumps(event).encode())], now)
    looked(parts)

    assert "rh" not in where.see(parts.network.evaluate(now)).sentences[0]


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
