"""When a fault began."""

from __future__ import annotations

import pytest

from monitor.core.diagnosis.onsets import at_alarms
from tests.core.diagnosis.test_fault_reports import ALARM, ONSET, stream


def test_the_onset_is_near_the_fault_and_never_after_the_alarm():
    made = stream()
    (onset,) = at_alarms([made.rows(slice(0, ALARM + 1))])

    assert onset.alarm == made.time[ALARM]
    assert made.time[ONSET - 5] <= onset.began <= made.time[ALARM]
    assert onset.healthy.pairs > 100


@pytest.mark.parametrize("fresh", [1, 5, 12, 400])
def test_an_incident_does_not_begin_before_the_one_before_has_ended(fresh):
    made = stream()
    before = made.rows(slice(0, ALARM + 1))
    (alone,), (onset,) = at_alarms([before]), at_alarms([before], [fresh])

    assert alone.began < made.time[ALARM - 10]
    assert onset.began == max(alone.began, made.time[max(ALARM + 1 - fresh, 0)])
    assert onset == alone._replace(began=onset.began)
