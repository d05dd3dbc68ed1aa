"""A restart neither ends an alert on refused messages nor starts a threshold's duration over."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from monitor.config import parse
from monitor.daemon.assembly import Parts, assemble

START = 1_767_225_600.0  # 2026-01-01
HOUR = 3600.0
SETTINGS = """
journal: {{path: "{folder}/journal.sqlite"}}
pairing: {{mode: nearest, max_wait_hours: 1}}
alerts: {{rejected_share: 0.2}}
thresholds:
  - {{name: far, statistic: calibration_zms, above: 4, for_hours: 6, pairs_min: 3,
      hysteresis: 0.5}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
"""


class Message(NamedTuple):
    topic: str
    payload: bytes


def started(folder: Path, now: float) -> Parts:
    return assemble(parse(SETTINGS.format(folder=folder).encode(), "settings.yaml"), now)


def paired(hour: int, error: float) -> list[Message]:
    stamp = datetime.fromtimestamp(START + hour * HOUR, UTC).isoformat()
    said = {"time": stamp, "value": 100.0 + error, "u": 1.0}
    return [
        Message("monitor/s1/o3/reading", json.dumps(said).encode()),
        Message("monitor/s1/o3/reference", json.dumps(said | {"value": 100.0, "u": 0.1}).encode()),
    ]


def several(first: int, last: int) -> list[Message]:
    """Return pairs of an honest sensor."""
    return [each for hour in range(first, last) for each in paired(hour, (-1.0) ** hour)]


def share(parts: Parts) -> float:
    """Return the share of refused messages of the only series."""
    return float(parts.network.refusals.shares(parts.network.registry.keys)[0])


def take(parts: Parts, messages: list[Message], hour: int) -> set[str]:
    """Take messages at an hour; return the alerts of the only series then."""
    now = START + hour * HOUR
    parts.intake.commit(parts.intake.prepare(messages, now))
    return alerts(parts, hour)


def alerts(parts: Parts, hour: int) -> set[str]:
    snapshot = parts.network.evaluate(START + hour * HOUR)
    return {name for name, active in snapshot.alerts.items() if active.any()}


@pytest.mark.parametrize("bad", [1, 30])
def test_refused_messages_count_after_a_restart(bad, tmp_path):
    parts = started(tmp_path, START)
    take(parts, several(0, 40), 40)
    before = take(parts, [Message("monitor/s1/o3/reading", b"no")] * bad, 40)
    parts.journal.close()
    parts = started(tmp_path, START + 40 * HOUR)
    try:
        assert ("rejected_share" in before) == (bad == 30)
        assert alerts(parts, 40) == before
        assert "rejected_share" not in take(parts, several(41, 300), 300)
    finally:
        parts.journal.close()


@pytest.mark.parametrize(("bad", "told"), [(6, False), (40, True)])
def test_refused_messages_of_a_backlog_count_beside_its_others_after_a_restart(bad, told, tmp_path):
    """All come in one batch, as at the first connection: 6 of 106 readings, or 40 of 140."""
    parts = started(tmp_path, START)
    refused = [Message("monitor/s1/o3/reading", b"no")] * bad
    before = take(parts, [*several(0, 100), *refused], 100)
    was = share(parts)
    parts.journal.close()
    parts = started(tmp_path, START + 100 * HOUR)
    try:
        assert share(parts) == pytest.approx(was)
        assert was == pytest.approx(bad / (100 + bad), rel=0.3)
        after = take(parts, several(100, 120), 120)
        assert [("rejected_share" in each) for each in (before, after)] == [told, told]
    finally:
        parts.journal.close()


def test_refused_messages_that_faded_are_not_brought_back_by_a_restart(tmp_path):
    parts = started(tmp_path, START)
    take(parts, [Message("monitor/s1/o3/reading", b"no")] * 30, 0)
    for hour in range(0, 200, 50):
        take(parts, several(hour, hour + 50), hour + 50)
    before = share(parts)
    take(parts, several(200, 202), 202)
    parts.journal.close()
    parts = started(tmp_path, START + 202 * HOUR)
    try:
        assert 0.01 < before < 0.2
        assert share(parts) == pytest.approx(before, rel=0.05)
    finally:
        parts.journal.close()


@pytest.mark.parametrize("restarts", [(), (13,), (12, 13, 14, 15, 16)])
def test_the_duration_of_a_threshold_goes_on_after_a_restart(restarts, tmp_path):
    parts = started(tmp_path, START)
    fires = []
    for hour in range(20):
        if hour in restarts:
            parts.journal.close()
            parts = started(tmp_path, START + hour * HOUR)
        if "far" in take(parts, paired(hour, 0.0 if hour < 10 else 9.0), hour):
            fires.append(hour)
    parts.journal.close()

    assert fires == list(range(16, 20))  # the mean of z^2 is above 4 from hour 10 on


def test_what_fires_above_its_way_back_goes_on_after_a_restart(tmp_path):
    parts = started(tmp_path, START)
    for hour in range(0, 20, 7):
        take(parts, [each for at in range(hour, hour + 7) for each in paired(at, 2.1)], hour + 7)
    before = take(parts, [each for at in range(21, 30) for each in paired(at, 1.6)], 30)
    take(parts, paired(30, 1.6), 31)
    parts.journal.close()
    parts = started(tmp_path, START + 31 * HOUR)
    try:
        zms = parts.network.evaluate(START + 31 * HOUR).statistics["calibration_zms"][0]
        assert 2.0 < zms < 4.0
        assert "far" in before
        assert "far" in alerts(parts, 31)
    finally:
        parts.journal.close()
