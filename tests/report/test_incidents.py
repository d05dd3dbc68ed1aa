"""Incidents of a recorded file: what lasts is told as it is now, what is over in the past."""

from __future__ import annotations

import csv
import itertools
import math
import re
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.fault_reports import Asked, fault_reports
from monitor.core.diagnosis.onsets import at_alarms
from monitor.core.formatting import instant
from monitor.core.pairing.series_rules import SeriesRules
from monitor.report.incidents import alert_spans, findings_of, incident_document, incidents_of
from monitor.report.recorded import read

START, HOUR = 1_772_323_200.0, 3600.0


def told(tmp_path, error, seed=0, u=1.0):
    """Return the incidents of a file of one sensor with noise of ``u`` and ``error`` on top."""
    random = np.random.default_rng(seed)
    error = np.asarray(error, dtype=float)
    reference = 50.0 + 4.0 * u * random.standard_normal(error.size)
    value = reference + u * random.standard_normal(error.size) + error
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["time", "sensor", "quantity", "unit", "value", "sigma", "reference"])
        for at, (one, other) in enumerate(zip(value, reference, strict=True)):
            time = datetime.fromtimestamp(START + HOUR * at, UTC).isoformat()
            rows.writerow([time, "s1", "mass", "kg", float(one), u, float(other)])
    recorded = read(path, SeriesRules(level=0.9))
    found = incidents_of(recorded, recorded.columns(0.9), {})
    return recorded, [incident_document(each, recorded) for each in found]


def steps(*pieces):
    return np.concatenate([np.full(count, level) for count, level in pieces])


def test_an_incident_that_lasts_has_the_figures_of_now(tmp_path):
    """It was 5 kg off for most of its life, and is 2 kg off now; then it drifts."""
    drift = 0.05 * np.arange(150)
    error = np.concatenate([steps((200, 0.0), (400, 5.0)), 5.0 + drift])
    recorded, found = told(tmp_path, error)
    last = found[-1]

    assert last["until"] is None
    assert last["lower"] < error[-1] < last["upper"]
    assert last["alert"] == "drift"
    assert "1.2" in last["sentence"] or "1.1" in last["sentence"]

    one = recorded.columns(0.9)
    alarm = int(np.searchsorted(one.time, datetime.fromisoformat(last["fired"]).timestamp()))
    (onset,) = at_alarms([one.rows(slice(0, alarm + 1))])
    (now,) = fault_reports([Asked(one, "offset", alarm, onset, recorded.rules[0])])
    assert last["estimate"] == pytest.approx(now.verdict.size.value)
    assert last["since"] == instant(now.verdict.began)


def test_alerts_are_in_the_order_in_which_they_began():
    """That of the first series lasts, and ends after those of the second, or never."""

    def change(time: float, series: int, before: str, after: str) -> AlertChange:
        return AlertChange(series, time, before, after, "offset")

    changes = [
        change(1.0, 0, "pending", "firing"), change(2.0, 1, "pending", "firing"),
        change(3.0, 1, "firing", "ok"), change(4.0, 1, "pending", "firing"),
    ]  # fmt: skip
    for ended in ([], [change(9.0, 1, "firing", "ok"), change(10.0, 0, "firing", "ok")]):
        spans = alert_spans(SimpleNamespace(changes=[*changes, *ended]))

        assert [(each.began.time, each.before) for each in spans] == [
            (1.0, -math.inf), (2.0, -math.inf), (4.0, 3.0)
        ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_an_incident_that_is_over_is_told_in_the_past(tmp_path, seed):
    _, found = told(tmp_path, steps((200, 0.0), (150, 5.0), (300, 0.0)), seed)
    over = [each for each in found if each["until"] is not None]

    assert over
    for each in over:
        assert re.match(
            r"s1 (read|drifted|had|was|understated|overstated|followed) ", each["sentence"]
        )
        assert not re.search(r"\b(now|since|leaves|reads|drifts|is)\b", each["sentence"])
        began = each["since"][:16].replace("T", " ")
        if each["labels"]:
            assert re.search(f", from {began} to 2026-[-0-9]+ [0-9:]+ UTC$", each["sentence"])


@pytest.mark.parametrize("level", [3.0, 6.0])
def test_a_past_fault_ended_when_it_was_repaired_not_at_the_all_clear(tmp_path, level):
    """Repaired at the pair 250; the all-clear comes later, and the verdict has the same date."""
    early, off = 0, []
    for seed in range(6):
        recorded, found = told(tmp_path, steps((150, 0.0), (100, level), (150, 0.0)), seed)
        over = found[-1]
        ended = re.search(r" to (\S+ [0-9:]+) UTC$", over["sentence"])[1]
        at = datetime.fromisoformat(f"{ended}+00:00").timestamp()
        until = datetime.fromisoformat(over["until"]).timestamp()
        assert at <= until
        early += at < until
        off.append(abs(at - START) / HOUR - 250)
        (verdict,) = findings_of(recorded, recorded.columns(0.9), {}).verdicts
        if np.isfinite(verdict.right_since):
            assert instant(verdict.right_since)[:16].replace("T", " ") == ended
    assert early >= 5
    assert np.median(np.abs(off)) <= 3
    assert np.max(np.abs(off)) <= 20


def test_a_drift_that_ended_in_time_never_left_its_tolerance(tmp_path):
    error = np.concatenate([np.zeros(200), 1.5 - 0.012 * np.arange(250), np.zeros(300)])
    for seed in range(3):
        _, found = told(tmp_path, error, seed)
        assert found
        over = [each["sentence"] for each in found if each["until"] is not None]
        assert not any("tolerance" in each for each in over), over


@pytest.mark.parametrize("seed", range(4))
def test_an_incident_never_begins_before_the_one_before_has_ended(tmp_path, seed):
    """Bursts: each new alarm finds the bursts of the incident before in its window."""
    random = np.random.default_rng(100 + seed)
    at = np.arange(1500)
    late = (at >= 200) & (at // 40 % 5 == 0)
    error = np.where(late, 5.0 * random.standard_normal(at.size), 0.0)
    _, found = told(tmp_path, error, seed)

    assert len(found) >= 2
    for one, other in itertools.pairwise(found):
        assert one["until"] <= other["since"] <= other["fired"]
        assert not other["labels"] or other["labels"][0]["since"] == other["since"]
