"""From differences to sinks: nothing is lost without space, and who is new hears of what fires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.programs import until
from harness.transitions import CALM

from monitor.alerts.alertmanager import alert_of
from monitor.alerts.dispatch import REPEATED_SECONDS, Dispatch
from monitor.alerts.ledger import View
from monitor.alerts.outlet import LaterError, Outlet
from monitor.alerts.transition import Transition, severity_of
from monitor.core.detector.replay import AlertChange
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.verdict import Estimate, Verdict, many_of
from monitor.journal import Journal, JournalAlerts, JournalFullError
from tests.alerts.test_ledger import seen, view


class Heard:
    """A sink that lists what it is told."""

    def __init__(self) -> None:
        self.heard: list[Transition] = []

    def deliver(self, transition: Transition) -> None:
        self.heard.append(transition)

    @property
    def tried(self) -> bool:
        """Whether it was told anything."""
        return bool(self.heard)

    def close(self) -> None:
        """Hold nothing."""


class Unreachable:
    """A sink whose address nobody answers."""

    def __init__(self) -> None:
        self.tried = False

    def deliver(self, transition: Transition) -> None:
        self.tried = True
        raise LaterError("nobody answers")

    def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
def alerts(tmp_path: Path) -> Iterator[JournalAlerts]:
    journal = Journal(tmp_path / "journal.sqlite", transitions_kept=100)
    yield journal.alerts
    journal.close()


def test_a_journal_without_space_delays_what_is_told_and_loses_nothing(alerts, monkeypatch):
    dispatch, now = Dispatch(alerts), view(seen(["firing"], {"offset": [0]}))
    with monkeypatch.context() as patch:
        patch.setattr(alerts, "record", _full)
        dispatch.notify(now)
    assert dispatch.history == ()
    dispatch.notify(view(seen(["ok"], {})))
    dispatch.notify(now._replace(taken_back=frozenset()))
    assert [each.after for each in dispatch.history] == ["firing"]
    with monkeypatch.context() as patch:
        patch.setattr(alerts, "record", _full)
        over = AlertChange(0, 977.0, "firing", "ok", "offset")
        dispatch.notify(view(seen(["ok"], {}), changes=[over], taken_back=frozenset({0})))
    dispatch.notify(view(seen(["ok"], {})))
    told = dispatch.history[0]
    assert (told.after, told.corrected, told.time) == ("resolved", True, 977.0)
    assert dispatch.transitions == {("offset", "firing"): 1, ("offset", "resolved"): 1}
    dispatch.close()


@pytest.mark.parametrize("fires_again", [False, True])
def test_an_alert_that_is_taken_back_of_a_stale_series_is_corrected_once_it_ends(
    alerts, fires_again
):
    dispatch, firing = Dispatch(alerts), view(seen(["firing"], {"offset": [0]}))
    dispatch.notify(firing)
    over = AlertChange(0, 977.0, "firing", "ok", "offset")
    dispatch.notify(view(seen(["stale"], {}), changes=[over], taken_back=frozenset({0})))
    dispatch.notify(view(seen(["stale"], {})))
    assert [each.after for each in dispatch.history] == ["firing"]

    if fires_again:
        dispatch.notify(firing)
    dispatch.notify(view(seen(["ok"], {})))
    told = dispatch.history[0]
    expected = (False, 1000.0) if fires_again else (True, 977.0)
    assert (told.after, told.corrected, told.time) == ("resolved", *expected)


def _full(*_words: object) -> None:
    raise JournalFullError("no space")


def test_a_new_sink_that_cannot_be_reached_at_first_is_spared_the_history_later(alerts):
    calm, alarm = seen(["ok"] * 2, {}), seen(["firing", "ok"], {"offset": [0]})
    dispatch = Dispatch(alerts)
    dispatch.notify(view(alarm))
    for _ in range(10):
        dispatch.notify(view(seen(["firing"] * 2, {"offset": [0, 1]})))
        dispatch.notify(view(alarm))
    dispatch.close()

    for sink in (Unreachable(), Heard()):
        dispatch = Dispatch(alerts, [Outlet("new", sink, CALM)])
        dispatch.notify(view(alarm))
        until("it was tried", lambda sink=sink: sink.tried)
        dispatch.close()
    assert [each.seq for each in sink.heard] == [1]

    dispatch = Dispatch(alerts, [Outlet("new", sink, CALM)])
    dispatch.notify(view(calm))
    until("it goes on from there", lambda: len(sink.heard) == 2)
    dispatch.close()
    assert [each.after for each in sink.heard] == ["firing", "resolved"]


def test_a_sink_that_is_new_hears_of_what_fires_already_and_one_too_far_behind_loses(alerts):
    calm, alarm = seen(["ok"] * 2, {}), seen(["firing", "ok"], {"offset": [0]})
    dispatch = Dispatch(alerts)
    dispatch.notify(view(alarm))
    for _ in range(80):  # of 160 transitions of the second series the first 62 are gone
        dispatch.notify(view(seen(["firing"] * 2, {"offset": [0, 1]})))
        dispatch.notify(view(alarm))
    dispatch.close()

    sink = Heard()
    dispatch = Dispatch(alerts, [Outlet("new", sink, CALM)])
    dispatch.notify(view(alarm))
    until("it is told", lambda: dispatch.figures()["new"].queued == 0)
    assert [each.seq for each in sink.heard] == [1]
    dispatch.notify(view(calm))
    until("it is told more", lambda: len(sink.heard) == 2)
    dispatch.close()
    assert [(each.seq, each.after) for each in sink.heard] == [(1, "firing"), (162, "resolved")]

    dispatch = Dispatch(alerts)
    for _ in range(60):
        dispatch.notify(view(alarm))
        dispatch.notify(view(calm))
    dispatch.close()
    sink = Heard()
    dispatch = Dispatch(alerts, [Outlet("new", sink, CALM)])
    dispatch.notify(view(calm))
    until("it is told the rest", lambda: dispatch.figures()["new"].queued == 0)
    assert [each.seq for each in sink.heard] == list(range(183, 283))
    assert dispatch.figures()["new"].dropped == 20
    dispatch.close()


def test_what_is_said_again_has_the_words_of_the_newest_page_and_the_ends_of_late(alerts):
    dispatch, both = Dispatch(alerts), seen(["firing"] * 2, {"offset": [0, 1]})
    names = tuple(replace(name, group="g") for name in both.names)
    dispatch.notify(view(replace(both, names=names)))
    later = replace(seen(["firing", "ok"], {"offset": [0]}), names=names)
    dispatch.notify(view(replace(later, sentences=("reads 4 kg heavy", "is right"))))

    said = {(of.sensor, of.after): (of.sentence, of.peers) for of in dispatch.current()}
    assert said == {
        ("node-00000", "firing"): ("reads 4 kg heavy", 2),
        ("node-00001", "resolved"): ("is right", 2),
    }
    long_after = replace(later, time=later.time + REPEATED_SECONDS + 1.0)
    dispatch.notify(view(long_after))
    assert [of.after for of in dispatch.current()] == ["firing"]
    dispatch.close()
    assert [of.after for of in Dispatch(alerts).current()] == ["firing"]  # after a restart


def test_while_an_alert_keeps_another_faults_name_all_its_words_are_of_one_fault(alerts):
    """Name, time and labels stay; sentence, size, "many" and runbook are of the same verdict."""
    first = seen(["firing"], {"offset": [0]})
    swing = Verdict(
        "fault", "daily", size=Estimate(2.0, 1.5, 2.5), sentence="swings", advice="look"
    )
    other = FaultReport("daily", swing)
    dispatch = Dispatch(alerts)
    dispatch.notify(view(first))
    (begun,) = dispatch.current()
    later = replace(seen(["firing"], {}), sentences=("swings",), advice=("look",))
    later.alerts["daily"] = np.array([True])
    dispatch.notify(View(replace(later, reports={0: other})))
    (now,) = dispatch.current()
    dispatch.close()

    assert (now.alert, now.began, now.id, now.sentence) == (
        "offset",
        begun.began,
        begun.id,
        "swings",
    )
    assert (now.estimate, now.lower, now.upper) == (2.0, 1.5, 2.5)
    alert = alert_of(now, 2000.0, "https://monitor.example")
    assert (alert["labels"]["alertname"], alert["labels"]["fault"]) == ("SensorOffset", "offset")
    assert alert["annotations"]["many"] == many_of("daily", 2.0, "")
    assert alert["annotations"]["runbook_url"].endswith("#sensordaily")


def test_what_is_said_again_of_a_reference_is_what_the_page_says_of_it_now(alerts):
    suspect = Suspect("S3", "pm25", "ug/m3", Estimate(1.4, 1.0, 1.8), 800.0, 9, 8, (0, 1, 2))
    grown = suspect._replace(estimate=Estimate(2.9, 2.5, 3.3), sensors=12, agree=12)
    dispatch = Dispatch(alerts)
    for each in (suspect, grown):
        dispatch.notify(view(seen(["ok"] * 3, {}, suspects=(each,))))
    (now,) = dispatch.current()
    dispatch.close()

    assert (now.sentence, now.estimate, now.upper) == (grown.words, 2.9, 3.3)


def test_an_alert_whose_labels_change_ends_under_its_old_ones(alerts):
    now = seen(["firing"], {"offset": [0]})
    marked = replace(now, names=(replace(now.names[0], severity="critical", site="dock"),))
    dispatch = Dispatch(alerts)
    dispatch.notify(view(now))
    dispatch.notify(view(marked))

    labels = {(of.after, severity_of(of), of.site) for of in dispatch.current()}
    assert labels == {("firing", "critical", "dock"), ("resolved", "warning", "")}
    dispatch.notify(view(replace(marked, alerts=seen(["ok"], {}).alerts, states=("ok",))))
    (over,) = dispatch.current()
    assert (over.after, severity_of(over), over.site) == ("resolved", "critical", "dock")
