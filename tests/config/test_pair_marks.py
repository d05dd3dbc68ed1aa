"""Settings that make other pairs have other marks, and no others have."""

from __future__ import annotations

import pytest

from monitor.config import parse
from monitor.config.core_plan import plan_of
from monitor.config.pair_marks import assumed_anew, marks_of
from monitor.core.model import Reading

SETTINGS = """
pairing: {tolerance_seconds: 60, uncertainty: {per_km: 1}}
scoring: {level: 0.9}
areas: [{subject: s, sensors: ["a*"], distance_km: 1}]
sources:
  - topic: "one/{sensor}/{quantity}"
    kind: reading
    decoder: json
    map: {time: t, series: [{value: v, assumed: "0.1 * value"}]}
  - {topic: "ref/{subject}/{quantity}", kind: reference}
windows: {pairs: 50}
"""


def marks(text: str, sensor: str = "a1", quantity: str = "x") -> tuple[int, int, int]:
    settings = parse(text.encode(), "settings.yaml")
    return marks_of(settings, plan_of(settings))(sensor, quantity)


PAIRING, READING, REFERENCE = (True, False, False), (False, True, False), (False, False, True)
SOURCE = '  - {topic: "ref/'


@pytest.mark.parametrize(
    ("before", "after", "differ"),
    [
        ("tolerance_seconds: 60", "tolerance_seconds: 61", PAIRING),
        ("per_km: 1", "per_hour: 1", PAIRING),
        ("level: 0.9", "level: 0.95", PAIRING),
        ("distance_km: 1", "distance_km: 2", PAIRING),
        ("0.1 * value", "0.2 * value", PAIRING),
        ("areas:", "overrides: [{sensor: a1, pairing: {lag_seconds: 1}}]\nareas:", PAIRING),
        ("value: v", "value: v, scale: 2", READING),
        ("value: v", "value: v, unit: m", READING),
        ("kind: reference}", "kind: reference, unit: m}", REFERENCE),
        ("areas:", "overrides: [{sensor: b*, pairing: {lag_seconds: 1}}]\nareas:", ()),
        ("windows: {pairs: 50}", "windows: {pairs: 60}", ()),
        ('"one/', '"other/', ()),
        ("windows:", "mqtt: {port: 1884}\nwindows:", ()),
    ],
)
def test_what_a_setting_changes_is_seen_in_its_mark_alone(before, after, differ):
    assert SETTINGS.count(before) == 1
    former, new = marks(SETTINGS), marks(SETTINGS.replace(before, after))

    assert all(former)
    assert tuple(one != other for one, other in zip(former, new, strict=True)) == (
        differ or (False, False, False)
    )


def test_of_two_sources_that_differ_nobody_knows_which_made_a_reading():
    other = '  - {topic: "two/{sensor}/{quantity}", kind: reading}\n  - {topic: "ref/'
    former, new = marks(SETTINGS), marks(SETTINGS.replace(SOURCE, other))

    assert new == (former[0], 0, former[2])


def test_an_assumed_u_follows_the_one_formula_there_is():
    reading = Reading("a", "x", 1.0, 20.0, 7.0, assumed=True)
    two = SETTINGS.replace(
        SOURCE,
        '  - {topic: "two/{sensor}/{quantity}", kind: reading, decoder: json, map: '
        '{time: t, series: [{value: v, assumed: "5"}]}}\n' + SOURCE,
    )
    wrong = SETTINGS.replace("0.1 * value", "sqrt(2 - value)")

    u = [assumed_anew(parse(each.encode(), "f"))(reading).u for each in (SETTINGS, two, wrong)]

    assert u == [2.0, 7.0, 7.0]
