"""What an incident keeps is that of its alarm, whatever memory has forgotten since."""

from __future__ import annotations

import msgspec
import numpy as np
from harness.series import pairs

from monitor.core.detector.detector import Detector
from monitor.core.diagnosis.fault_reports import (
    Asked,
    FaultReports,
    calm_pairs,
    fault_reports,
    last_pairs,
)
from monitor.core.diagnosis.onsets import Onsets, at_alarms, own_pairs
from monitor.core.pairing.series_rules import SeriesRules

N, ONSET, ALARM = 400, 200, 215


def stream(seed=5):
    chance = np.random.default_rng(seed)
    reference = 500.0 + 50.0 * chance.standard_normal(N)
    error = 2.0 * chance.standard_normal(N)
    error[ONSET:] += 9.0
    return pairs(reference + error, reference, 2.0, u_ref=0.1)


def test_an_incident_keeps_its_onset_when_the_window_has_moved_on():
    made = stream()
    (onset,) = at_alarms([made.rows(slice(0, ALARM + 1))])
    looks = [slice(0, ALARM + 30), slice(150, N), slice(300, N)]
    asked = [Asked(made.rows(look), "offset", ALARM - look.start, onset) for look in looks]

    assert {each.verdict.began for each in fault_reports(asked)} == {onset.began}
    assert {each.alert for each in fault_reports(asked)} == {"offset"}


def test_an_alert_that_ends_with_a_pair_amid_wrong_ones_leaves_that_pair():
    pairs, is_part = calm_pairs(last_pairs(stream(), [SeriesRules()]), np.zeros(1, np.int64))

    assert (pairs[0].n, is_part.tolist()) == (1, [True])


def test_the_detector_knows_which_pairs_came_after_an_all_clear():
    chance = np.random.default_rng(3)
    z = chance.standard_normal(400)
    z[100:130] += 6.0
    detector, starts = Detector(np.array([1000.0])), np.zeros(1, dtype=np.int64)
    ended = None
    for at, each in enumerate(z):
        changes = detector.advance(starts, starts, np.array([each]))
        ended = at if any(one.before == "firing" for one in changes) else ended
        later = at if ended is None else at - ended - 1
        assert detector.since_clear(starts)[0] == later + 1
        assert own_pairs(detector, starts, np.array([0])) == [max(later + 1, 1)]
    assert ended is not None


def test_what_was_said_at_alarms_survives_json():
    made = FaultReports()
    kept = Onsets([(3, 5.0, 4.0, 0.0, None, 1.5, 0.25, 40), (7, 9.0, 9.0, 0.0, None, 0.0, None, 0)])
    made.recall(msgspec.json.decode(msgspec.json.encode(kept), type=Onsets))

    assert made.onsets() == kept


def test_only_a_past_that_changed_before_the_alarm_voids_what_was_said_at_it():
    made = FaultReports()
    made.recall([(3, 5.0, 4.0, 0.0, None, 0.0, None, 0)])
    made.forget(3, 5.5)
    assert len(made.onsets()) == 1
    made.forget(3, 5.0)
    assert made.onsets() == []
    assert made.changed == 1
