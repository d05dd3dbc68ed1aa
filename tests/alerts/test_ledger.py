"""What is told of alerts: differences between what was told and what is."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from harness.yard import fleet

from monitor.alerts.ledger import LOOKS, GroupSizes, Ledger, View
from monitor.alerts.transition import Transition
from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits, SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import Estimate, Verdict
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

ALERTS = (
    *("offset", "understated", "reference_stale", "reference_suspect"),
    *("rejected_share", "crps_high"),
)
JUDGEMENT = FaultReport(
    "offset",
    Verdict(
        "fault",
        "offset",
        size=Estimate(3.0, 2.0, np.nan),
        began=900.0,
        sentence="reads 3 kg heavy",
        advice="subtract 3 kg",
    ),
)


def seen(states: list[str], active: dict[str, list[int]], **more) -> Snapshot:
    """Return a snapshot of series in these states, with these alerts by row."""
    alerts = {name: np.isin(np.arange(len(states)), active.get(name, [])) for name in ALERTS}
    return replace(
        fleet(len(states)),
        states=tuple(states),
        alerts=alerts,
        sentences=tuple(f"is {state}" for state in states),
        advice=("mend it",) * len(states),
        last_pair=np.full(len(states), 1000.0),
        **more,
    )


def view(snapshot: Snapshot, **more) -> View:
    reports = dict.fromkeys(range(len(snapshot.names)), JUDGEMENT)
    return View(replace(snapshot, reports=reports), **more)


def steps(found: list[Transition]) -> list[tuple[str, str, str, str]]:
    return [(each.sensor[-1], each.alert, each.before, each.after) for each in found]


def told(ledger: Ledger, view: View) -> list[Transition]:
    found = ledger.differences(view)
    assert steps(ledger.differences(view)) == steps(found)  # nothing is told before it is taken
    ledger.record(found)
    assert ledger.differences(view) == []
    return found


def test_an_alert_from_pending_to_its_end():
    ledger = Ledger()
    assert told(ledger, view(seen(["ok", "unknown"], {}))) == []
    (first,) = told(ledger, view(seen(["ok", "pending"], {})))
    assert steps([first]) == [("1", "offset", "ok", "pending")]

    changes = [
        AlertChange(1, 500.0, "ok", "pending", "offset"),
        AlertChange(1, 700.0, "pending", "firing", ""),
    ]
    (begun,) = told(ledger, view(seen(["ok", "firing"], {"offset": [1]}), changes=changes))
    assert steps([begun]) == [("1", "offset", "pending", "firing")]
    assert (begun.time, begun.began, begun.since) == (700.0, 700.0, 900.0)
    assert (begun.estimate, begun.lower, begun.upper) == (3.0, 2.0, None)
    assert begun.estimate_unit == begun.unit == "ug/m3"

    (over,) = told(ledger, view(seen(["ok", "ok"], {})))
    assert steps([over]) == [("1", "offset", "firing", "resolved")]
    assert (over.time, over.began, over.incident) == (1000.0, 700.0, begun.id)
    assert over.estimate is None
    assert len({first.id, begun.id, over.id}) == 3


@pytest.mark.parametrize(
    ("state", "active", "taken_back", "expected", "words"),
    [
        ("unknown", {}, (), [("0", "offset", "firing", "unknown")], "(offset: unknown)"),
        ("stale", {}, (), [], ""),
        ("pending", {}, (), [("0", "offset", "firing", "resolved")], "(offset: resolved)"),
        ("ok", {}, (0,), [("0", "offset", "firing", "resolved")], "(offset: withdrawn)"),
    ],
)
def test_how_an_alert_may_end(state, active, taken_back, expected, words):
    ledger = Ledger()
    told(ledger, view(seen(["firing"], {"offset": [0]})))
    now = view(seen([state], active), taken_back=frozenset(taken_back))
    found = ledger.differences(now)

    assert steps(found) == expected
    assert [str(each) for each in found] == [f"node-00000 is {state} {words}"][: len(found)]
    assert [each.corrected for each in found[:1]] == [bool(taken_back)][: len(found)]


def looked_at(ledger, alert, times):
    """Return what is sent when a firing series is looked at, with a new pair each time."""
    found = []
    for time in times:
        now = replace(seen(["firing"], {alert: [0]}), last_pair=np.array([float(time)]))
        found.append(told(ledger, view(now)))
    return found


def test_a_fault_takes_another_name_once_that_has_held_and_stays_one_incident():
    ledger = Ledger()
    (begun,) = told(ledger, view(seen(["firing"], {"offset": [0]})))
    found = looked_at(ledger, "understated", range(1001, 1001 + LOOKS))

    assert found[:-1] == [[]] * (LOOKS - 1)
    assert steps(found[-1]) == [
        ("0", "offset", "firing", "resolved"),
        ("0", "understated", "ok", "firing"),
    ]
    assert {each.sentence for each in found[-1]} == {"is firing"}
    assert {each.incident for each in found[-1]} == {begun.incident}
    assert looked_at(ledger, "understated", range(1100, 1103)) == [[], [], []]


def test_a_fault_that_looks_like_two_in_turns_is_told_of_once():
    ledger = Ledger()
    told(ledger, view(seen(["firing"], {"offset": [0]})))
    turns = [
        looked_at(ledger, ("offset", "understated")[at // 3 % 2], [1001 + at]) for at in range(60)
    ]

    assert turns == [[[]]] * 60
    assert looked_at(ledger, "understated", [2000] * 30) == [[]] * 30  # the same pair, no news
    (over,) = told(ledger, view(seen(["ok"], {})))
    assert steps([over]) == [("0", "offset", "firing", "resolved")]


def named(alert: str, pairs: int) -> View:
    """Return a look at a firing series whose last pair is always the same."""
    judged = FaultReport(alert, JUDGEMENT.verdict._replace(fault=alert, pairs=pairs))
    return View(replace(seen(["firing"], {alert: [0]}), reports={0: judged}))


def at_looks(ledger: Ledger, views: list[View]) -> list[list[Transition]]:
    """Return what is sent at each look, where looks count even without new pairs."""
    found = []
    for each in views:
        found.append(ledger.differences(each))
        ledger.record(found[-1])
    return found


def test_a_name_that_rests_on_twice_the_pairs_needs_no_new_ones_to_hold():
    """A backlog comes in one look: the fault is named on its first pairs, judged on all of them."""
    ledger = Ledger()
    told(ledger, named("understated", 14))
    *before, last = at_looks(ledger, [named("offset", 96)] * LOOKS)

    assert before == [[]] * (LOOKS - 1)
    assert steps(last) == [
        ("0", "understated", "firing", "resolved"),
        ("0", "offset", "ok", "firing"),
    ]
    assert at_looks(ledger, [named("understated", 190)] * 30) == [[]] * 30


def test_a_name_that_rests_on_twice_the_pairs_at_one_look_is_not_taken():
    ledger = Ledger()
    told(ledger, named("understated", 35))
    views = [named(("offset", "understated")[at % 9 == 0], 200) for at in range(99)]

    assert at_looks(ledger, views) == [[]] * 99


def test_a_pending_fault_that_turns_out_another_ends_and_that_begins():
    ledger = Ledger()
    told(ledger, view(seen(["pending"], {})))
    found = told(ledger, view(seen(["firing"], {"understated": [0]})))

    assert steps(found) == [
        ("0", "understated", "pending", "firing"),
        ("0", "offset", "pending", "ok"),
    ]


def test_alerts_of_any_name_are_told_and_a_suspect_reference_once():
    suspect = Suspect("S3", "pm25", "ug/m3", Estimate(1.4, 1.0, 1.8), 800.0, 9, 8, (0, 1, 2))
    ledger = Ledger()
    active = {"reference_suspect": [0, 1, 2], "reference_stale": [2]}
    found = told(ledger, view(seen(["ok"] * 3, active, suspects=(suspect,))))

    assert steps(found) == [
        ("2", "reference_stale", "ok", "firing"),
        ("3", "reference_suspect", "ok", "firing"),
    ]
    assert str(found[1]) == f"S3 {suspect.words}"
    assert suspect.words.startswith("either reads 1.4 ug/m3 high (1.0 to 1.8), since 1970-01-01")
    assert steps(told(ledger, view(seen(["ok"] * 3, {})))) == [
        ("2", "reference_stale", "firing", "resolved"),
        ("3", "reference_suspect", "firing", "resolved"),
    ]


def test_two_instruments_of_one_reference_that_are_suspect_at_once_have_an_alert_each():
    sizes = {"%": Estimate(4.0, 3.0, 5.0), "g/m3": Estimate(1.4, 1.0, 1.8)}
    suspects = [Suspect("S3", "rh", unit, size, 8.0, 9, 8, ()) for unit, size in sizes.items()]
    ledger = Ledger()
    begun = told(ledger, view(seen(["ok"] * 3, {}, suspects=tuple(suspects))))

    assert {each.unit: each.estimate for each in begun} == {"%": 4.0, "g/m3": 1.4}
    assert [each.unit for each in Ledger(ledger.firing()).firing()] == ["%", "g/m3"]
    (over,) = told(ledger, view(seen(["ok"] * 3, {}, suspects=(suspects[1],))))
    assert (over.unit, over.after, over.incident) == ("%", "resolved", begun[0].incident)


@pytest.mark.parametrize(
    ("alert", "state", "after"),
    [
        ("reference_stale", "ok", "resolved"),
        ("reference_stale", "unknown", "resolved"),
        ("rejected_share", "unknown", "resolved"),
        ("rejected_share", "firing", "resolved"),
        ("crps_high", "pending", "resolved"),
        ("crps_high", "unknown", "unknown"),
    ],
)
def test_an_alert_that_is_no_fault_ends_with_what_the_page_says_then(alert, state, after):
    ledger, fault = Ledger(), {"offset": [0]} if state == "firing" else {}
    told(ledger, view(seen([state], {alert: [0], **fault})))
    (over,) = told(ledger, view(seen([state], fault), taken_back=frozenset({0})))

    assert steps([over]) == [("0", alert, "firing", after)]
    assert over.sentence == f"is {state}"
    assert not over.corrected


def test_evidence_that_gathers_is_told_of_whatever_other_alerts_there_are():
    ledger = Ledger()
    (first,) = told(ledger, view(seen(["pending"], {"rejected_share": [0]})))[1:]
    assert steps([first]) == [("0", "offset", "ok", "pending")]
    assert steps(told(ledger, view(seen(["pending"], {})))) == [
        ("0", "rejected_share", "firing", "resolved")
    ]
    assert steps(told(ledger, view(seen(["stale"], {"reference_stale": [0]})))) == [
        ("0", "reference_stale", "ok", "firing")
    ]
    assert told(ledger, view(seen(["unknown"], {"reference_stale": [0]}))) == []
    assert steps(told(ledger, view(seen(["ok"], {})))) == [
        ("0", "reference_stale", "firing", "resolved"),
        ("0", "offset", "pending", "ok"),
    ]


def test_evidence_without_a_name_ends_once_its_fault_has_one():
    ledger = Ledger()
    told(ledger, View(seen(["pending"], {})))
    over = told(ledger, view(seen(["firing"], {"offset": [0]})))[-1]

    assert steps([over]) == [("0", "unclear", "pending", "ok")]
    assert str(over) == "node-00000 is firing"


def test_evidence_that_an_adjustment_ends_does_not_make_a_sensor_right():
    ledger = Ledger()
    told(ledger, view(seen(["pending"], {})))
    (over,) = told(ledger, view(seen(["unknown"], {})))

    assert steps([over]) == [("0", "offset", "pending", "ok")]
    assert over.sentence == "is unknown"


def test_an_offset_that_a_suspect_reference_explains_ends_with_that_reason():
    suspect = Suspect("S3", "pm25", "ug/m3", Estimate(1.4, 1.0, 1.8), 800.0, 9, 8, (0, 1, 2))
    ledger = Ledger()
    told(ledger, view(seen(["firing"] * 3, {"offset": [0]})))
    blamed = seen(["firing"] * 3, {"reference_suspect": [0, 1, 2]}, suspects=(suspect,))
    over, begun = told(ledger, view(blamed))

    assert steps([over]) == [("0", "offset", "firing", "resolved")]
    assert over.sentence == "is firing"
    assert (begun.sensor, begun.after) == ("S3", "firing")


def test_what_a_reference_left_that_is_right_again_ends_with_that_reason():
    former = Suspect(
        *("S3", "pm25", "ug/m3", Estimate(1.4, 1.0, 1.8), 0.0, 9, 8, (0, 1, 2)),
        cleared=(0,),
        until=3600.0,
    )
    ledger = Ledger()
    told(ledger, view(seen(["firing"] * 3, {"offset": [0, 1]})))
    left = seen(
        ["firing"] * 3, {"reference_suspect": [0], "offset": [1]}, former_suspects=(former,)
    )
    (over,) = told(ledger, view(left))

    assert steps([over]) == [("0", "offset", "firing", "resolved")]
    assert over.sentence == "is firing"


def test_a_reference_that_is_right_again_ends_with_what_it_did():
    at = (*("S3", "pm25", "ug/m3", Estimate(1.4, 1.0, 1.8)), 0.0, 9, 8, (0, 1, 2))
    ledger = Ledger()
    told(ledger, view(seen(["ok"] * 3, {}, suspects=(Suspect(*at),))))
    former = Suspect(*at, cleared=(0,), until=3600.0)
    (over,) = told(ledger, view(seen(["ok"] * 3, {}, former_suspects=(former,))))

    assert str(over) == (
        "S3 either read 1.4 ug/m3 high (1.0 to 1.8), from 1970-01-01 00:00 to 1970-01-01 01:00 "
        "UTC, or 8 of the 9 sensors that met it shared a fault (reference suspect: resolved)"
    )


@pytest.mark.parametrize(
    ("fault", "verdict", "estimate"),
    [
        ("offset", {"state": "unclear"}, (None, None, None, "")),
        ("understated", {}, (None, None, None, "")),  # the alert's name, not yet the verdict's
        ("offset", {"fault": "lag", "delay": 90.0}, (None, None, None, "")),
        ("lag", {"fault": "lag", "delay": 90.0}, (90.0, None, None, "s")),
        (
            "drift",
            {"fault": "drift", "slope_per_day": Estimate(0.5, 0.4, 0.6)},
            (0.5, 0.4, 0.6, "ug/m3/d"),
        ),
    ],
)
def test_an_alert_has_the_size_that_the_interface_gives_of_its_fault(fault, verdict, estimate):
    report = FaultReport(fault, JUDGEMENT.verdict._replace(**verdict))
    snapshot = replace(seen(["pending"], {}), reports={0: report})
    (begun,) = Ledger().differences(View(snapshot))

    assert begun.alert == fault
    assert (begun.estimate, begun.lower, begun.upper, begun.estimate_unit) == estimate


def test_an_alert_that_a_revision_takes_back_is_corrected_once():
    rules = SeriesRules(unit="kg", pairing=Rules("nearest", 0.4))
    store = InMemoryStore()
    plan = CoreSettings(lambda _s, _q: rules, limits=Limits(10, 10), window_pairs_max=500)
    network, ledger, chance = Network(plan, store), Ledger(), random.Random(5)

    def take(*observations: Reading | Reference) -> list[Transition]:
        outcome = network.observe(observations, 1000.0)
        store.append(
            Batch(
                observations=observations,
                pairs=outcome.pairs,
            )
        )
        network.apply(outcome.pairs)
        snapshot = network.evaluate(1000.0)
        now = View(snapshot, network.drain_transitions(), network.drain_taken_back())
        found = ledger.differences(now)
        ledger.record(found)
        return [each for each in found if each.is_news]

    def reference(at: int, value: float, revision: int = 0) -> Reference:
        return Reference("s", "x", float(at), value, 0.1, identity=f"r{at}", revision=revision)

    def reading(at: int) -> Reading:
        return Reading("s", "x", float(at), 10.0 + chance.gauss(0.0, 1.0), u=1.0)

    assert take(*[each for at in range(60) for each in (reading(at), reference(at, 10.0))]) == []
    wrong = [each for at in range(60, 75) for each in (reading(at), reference(at, 14.0))]
    (begun,) = take(*wrong)
    assert steps([begun])[0][1:] == ("offset", begun.before, "firing")
    (over,) = take(*[reference(at, 10.0, revision=1) for at in range(60, 75)])
    assert (over.after, over.corrected, over.incident) == ("resolved", True, begun.id)
    assert take(reading(75), reference(75, 10.0)) == []


@pytest.mark.parametrize("seed", range(20))
def test_the_sensors_of_a_group_are_counted_whatever_comes_goes_and_comes_back(seed):
    chance, sizes, names = random.Random(seed), GroupSizes(), []
    for _ in range(30):
        names += [
            SeriesName(f"s{chance.randrange(9)}", chance.choice("ab"), group=chance.choice("gh"))
            for _ in range(chance.randrange(3))
        ]
        gone = frozenset(chance.sample(range(len(names)), chance.randrange(len(names) + 1)))
        sizes.follow(replace(fleet(1), names=tuple(names), gone=gone))
        present = [name for row, name in enumerate(names) if row not in gone]
        for name in names:
            alike = {each.sensor for each in present if each.group == name.group}
            assert sizes.labels_of(name)["peers"] == len(alike)
