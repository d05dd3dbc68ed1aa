"""The metrics page: what is on it, and that others can read it.

The golden page is written anew by ``PYTHONPATH=.:tests python tests/http/test_metrics.py``;
read the difference before it is committed.
"""

from __future__ import annotations

import math
import re
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness.programs import need
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.registry import SeriesName
from monitor.core.scores.statistics import live_statistics
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import Estimate, Verdict
from monitor.decode import REASONS
from monitor.http import metrics
from monitor.http.documents import verdict_of_row
from monitor.http.metrics import ESSENTIAL, METRICS, OTHERS, STATES, Exposition
from monitor.http.process_metrics import ProcessMetrics
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import render

ZMS = METRICS["monitor_calibration_zms"]
PROJECT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden" / "metrics.txt"


def snapshot(names=(("a", "x"), ("b", "x")), values=(1.25, math.nan), withdrawn=(False, False)):
    count = len(names)
    column = np.array(values, dtype=float)
    return Snapshot(
        time=1000.0,
        names=tuple(SeriesName(*name, unit="kg", group="g") for name in names),
        statistics={metric.statistic: column for metric in METRICS.values()},
        states=("ok",) * count,
        alerts={"offset": np.array([True] + [False] * (count - 1))},
        evidence=np.full(count, 12.5),
        sentences=("",) * count,
        advice=("",) * count,
        window_pairs=np.arange(count) + 1,
        last_reading=np.full(count, 999.5),
        last_pair=np.full(count, 998.5),
        withdrawn=np.array(withdrawn, dtype=np.bool_),
    )


def judged(fault: str, state: str = "fault", **numbers: object) -> FaultReport:
    return FaultReport(fault, Verdict(state, fault, **numbers))


def samples(page: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def promtool(page: bytes) -> tuple[int, bytes, bytes]:
    command = [need("promtool"), "check", "metrics"]
    checked = subprocess.run(command, input=page, capture_output=True, check=False)
    return checked.returncode, checked.stdout, checked.stderr


def value(page: bytes, name: str, **labels: str) -> float | None:
    return samples(page).get((name, frozenset(labels.items())))


def golden() -> bytes:
    """Return a page with every metric, each number another, and what a page has of odd cases.

    Numbers hang on the metric's name alone, so that a new one changes no other line.
    """
    names = (("cart-01", "mass"), ("cart-02", "mass"), ('odd"\\\n%d', "<script>"))
    numbers = np.array([zlib.crc32(name.encode()) for name in METRICS])
    columns = (numbers[:, None] + np.arange(3.0)) / 7e6
    columns[:, 1] = np.where(numbers % 2, np.nan, columns[:, 1])
    every = snapshot(names, (0.0, 0.0, 0.0), withdrawn=(False, False, True))
    statistics = {m.statistic: column for m, column in zip(METRICS.values(), columns, strict=True)}
    seen = Suspect("S\n3", "mass", "kg", Estimate(-1.5, -2.0, -1.0), 0.0, 9, 8, (0, 1))
    return Exposition().render(
        replace(
            every,
            statistics=statistics,
            states=("firing", "unknown", "stale"),
            paged=np.array([True, False, True]),
            suspects=(seen, seen._replace(unit="g", estimate=Estimate(2.5, 2.0, 3.0))),
            reports={0: judged("offset", size=Estimate(3.0, 2.0, 4.0))},
        )
    )


def test_essential_metrics_are_a_part_of_all_that_the_rules_can_do_with():
    every = replace(snapshot(), states=("firing", "ok"))
    statistics = {metric.statistic: np.ones(2) for metric in METRICS.values()}
    every = replace(every, statistics=statistics)
    whole, part = (samples(Exposition(essential=each).render(every)) for each in (False, True))
    assert part.items() < whole.items()
    assert len(part) <= 0.6 * len(whole)
    states = [dict(labels)["state"] for name, labels in part if name == "monitor_series_state"]
    assert sorted(states) == ["firing", "ok"]

    rules = (PROJECT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    asked = set(re.findall(r"monitor_[a-z0-9_]+", rules)) & {*METRICS, *OTHERS}
    assert len(asked) > 10
    assert asked <= ESSENTIAL <= {*METRICS, *OTHERS}


def test_the_page_is_the_golden_page():
    assert golden() == GOLDEN.read_bytes()


def test_promtool_finds_nothing_to_say_of_the_golden_page():
    assert promtool(GOLDEN.read_bytes()) == (0, b"", b"")


def test_promtool_would_say_something_of_a_bad_page():
    assert promtool(b"# TYPE monitorBad gauge\nmonitorBad 1\n")[0] != 0


def test_promtool_finds_nothing_to_say():
    figures = Figures(rejected=dict.fromkeys(REASONS, 0), last_message={("a/+", "reading"): 1.0})
    page = Exposition().render(snapshot()) + render(families(figures)) + ProcessMetrics().render()

    assert promtool(page) == (0, b"", b"")


def test_a_number_that_is_undefined_is_absent():
    page = Exposition().render(snapshot(values=(1.25, math.nan)))

    assert value(page, "monitor_calibration_zms", sensor="a", quantity="x") == 1.25
    assert value(page, "monitor_calibration_zms", sensor="b", quantity="x") is None
    assert b"NaN" not in page
    assert b"Inf" not in page


def test_a_series_that_stopped_keeps_its_state_and_times_only():
    page = Exposition().render(snapshot(values=(1.0, 2.0), withdrawn=(False, True)))
    kept = {name for (name, labels) in samples(page) if ("sensor", "b") in labels}

    assert kept == {
        "monitor_series_state",
        "monitor_series_info",
        "monitor_series_last_reading_timestamp_seconds",
        "monitor_series_last_pair_timestamp_seconds",
    }


@pytest.mark.parametrize("alert", ["offset", "reference_stale", "rejected_share", "crps_high"])
def test_a_series_that_stopped_keeps_its_alerts_until_it_is_forgotten(alert):
    """Else Prometheus would announce that a fault is over because its sensor is silent."""
    stopped = snapshot(values=(1.0, 2.0), withdrawn=(True, True))
    alerts = {"understated": np.array([False, False]), alert: np.array([True, False])}
    page = Exposition().render(replace(stopped, alerts=alerts))
    gone = Exposition().render(replace(stopped, alerts=alerts, gone=frozenset({0})))

    told = [(dict(labels), each) for (name, labels), each in samples(page).items()]
    active = {(of["sensor"], of["alert"]): each for of, each in told if "alert" in of}
    assert active == {("a", "understated"): 0.0, ("a", alert): 1.0}
    assert b"monitor_alert_active" not in gone


def test_states_are_one_hot_and_alerts_say_which():
    page = Exposition().render(snapshot())
    series = {"sensor": "a", "quantity": "x"}

    assert {s: value(page, "monitor_series_state", state=s, **series) for s in STATES} == {
        **dict.fromkeys(STATES, 0.0),
        "ok": 1.0,
    }
    assert value(page, "monitor_alert_active", alert="offset", **series) == 1.0


SIZE, RATE = Estimate(3.0, 2.0, 4.0), Estimate(0.5, 0.25, 0.75)


@pytest.mark.parametrize(
    ("report", "told", "unit"),
    [
        (judged("offset", size=SIZE), SIZE, "kg"),
        (judged("understated", size=SIZE), SIZE, ""),
        (judged("overstated", size=Estimate(math.nan, math.nan, 0.5)), (None, None, 0.5), ""),
        (judged("outliers", size=RATE), RATE, ""),
        (judged("drift", size=SIZE, slope_per_day=RATE), RATE, "kg/d"),
        (judged("drift", size=SIZE), (None, None, None), "kg/d"),
        (judged("stuck", size=Estimate(7.0, 7.0, 7.0)), (7.0, 7.0, 7.0), "kg"),
        (judged("gain", size=SIZE), SIZE, ""),
        (
            judged("lag", size=Estimate(3.0, math.nan, math.nan), delay=30.0),
            (30.0, None, None),
            "s",
        ),
        (judged("lag", size=Estimate(0.0, math.nan, math.nan)), (None, None, None), "s"),
        (judged("sign"), (None, None, None), ""),
        (judged("offset", "undecided", size=SIZE), (None, None, None), None),
    ],
)
def test_a_fault_is_published_with_its_own_size_as_the_verdict_of_the_interface_has_it(
    report, told, unit
):
    now = replace(snapshot(), reports={0: report})
    page = Exposition().render(now)
    names = (
        "monitor_fault_estimate",
        "monitor_fault_estimate_lower",
        "monitor_fault_estimate_upper",
    )
    of = {"sensor": "a", "quantity": "x", "fault": report.alert}

    assert tuple(value(page, name, **of) for name in names) == tuple(told)
    assert sum(name in names for name, _ in samples(page)) == sum(each is not None for each in told)
    document = verdict_of_row(now, 0)["fault_estimate"]
    if unit is None:
        assert document is None
    else:
        assert tuple(document.values()) == (*told, unit)


def test_a_fault_keeps_its_size_as_long_as_its_alert():
    alerts = {"offset": np.array([True, False])}
    stopped = replace(snapshot(withdrawn=(True, True)), alerts=alerts)
    page = Exposition().render(
        replace(stopped, reports=dict.fromkeys((0, 1), judged("offset", size=SIZE)))
    )
    both = ("monitor_alert_active", "monitor_fault_estimate")

    assert {dict(labels)["sensor"] for name, labels in samples(page) if name in both} == {"a"}
    assert value(page, "monitor_fault_estimate", sensor="a", quantity="x", fault="offset") == 3.0


def test_a_page_remembers_series_only_as_long_as_they_are_the_same():
    renderer = Exposition()
    renderer.render(snapshot(values=(1.0, 2.0)))
    page = renderer.render(snapshot(names=(("c", "y"), ("d", "y")), values=(3.0, 4.0)))

    assert value(page, "monitor_calibration_zms", sensor="c", quantity="y") == 3.0
    assert value(page, "monitor_calibration_zms", sensor="a", quantity="x") is None


hostile = st.sampled_from(['"', "\\", "\n", "\\n", "%", "%b", "{", "}", ",", "<script>", "\u202e"])
names = st.lists(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5) | hostile, min_size=1, max_size=4
).map("".join)


@given(series=st.dictionaries(st.tuples(names, names), st.floats(width=64), min_size=1, max_size=4))
@settings(deadline=None, max_examples=300)
def test_whatever_names_and_numbers_there_are_another_parser_reads_them_back(series):
    page = Exposition().render(
        snapshot(tuple(series), tuple(series.values()), [False] * len(series))
    )
    read = {
        (sample.labels["sensor"], sample.labels["quantity"]): sample.value
        for family in text_string_to_metric_families(page.decode())
        if family.name == "monitor_calibration_bias"
        for sample in family.samples
    }

    assert read == {name: number for name, number in series.items() if math.isfinite(number)}


@given(
    pages=st.lists(
        st.lists(
            st.tuples(st.floats(width=64), st.booleans(), st.sampled_from(STATES)), max_size=5
        ),
        min_size=2,
        max_size=4,
    )
)
@settings(deadline=None, max_examples=100)
def test_what_was_rendered_before_leaves_no_trace(pages):
    """Series come and go, numbers become defined and undefined: one renderer, like a new one."""
    renderer = Exposition()
    for page in pages:
        numbers, withdrawn, states = zip(*page, strict=True) if page else ((), (), ())
        now = replace(
            snapshot([(f"s{row}", "x") for row in range(len(page))], numbers, list(withdrawn)),
            states=states,
            alerts={"offset": np.array(withdrawn, dtype=np.bool_)},
        )

        assert renderer.render(now) == Exposition().render(now)


def test_only_the_lines_near_a_number_that_changed_are_written_again(monkeypatch):
    """Of 1000 series two change: two pieces of one family are filled, and no template is made."""
    written: list[int] = []
    write = metrics._Block._write

    def noted(self: metrics._Block, pieces: np.ndarray, *more: object) -> None:
        written.append(pieces.size)
        write(self, pieces, *more)

    monkeypatch.setattr(metrics._Block, "_write", noted)
    monkeypatch.setattr(metrics, "METRICS", {"monitor_calibration_zms": ZMS})
    many = [(f"s{row}", "x") for row in range(1000)]
    renderer, now = Exposition(), snapshot(many, [1.0] * 1000, [False] * 1000)
    renderer.render(now)
    written.clear()
    values = now.statistics[ZMS.statistic].copy()
    values[[3, 900]] = 2.0
    monkeypatch.setattr(metrics._Block, "_template", None)
    later = replace(now, statistics={ZMS.statistic: values})
    page = renderer.render(later)

    assert written == [2]
    assert value(page, "monitor_calibration_zms", sensor="s900", quantity="x") == 2.0
    assert renderer.render(later) == page
    assert written == [2]


def test_a_page_that_was_left_half_written_does_no_harm():
    renderer, first = Exposition(), snapshot(values=(1.0, 2.0))
    later = snapshot(values=(3.0, 4.0))
    for steps in range(1, 40):
        renderer.render(first)
        half = renderer.parts(later)
        for _ in range(steps):
            next(half)

        assert renderer.render(first) == Exposition().render(first)


def test_a_lone_surrogate_does_not_take_the_page_down():
    page = Exposition().render(snapshot(names=(("a\ud800", "x"), ("b", "x"))))

    assert page.decode("utf-8")


def test_the_golden_page_has_every_metric_of_the_list():
    shown = {family.name for family in text_string_to_metric_families(GOLDEN.read_text("utf-8"))}

    assert shown == {*METRICS, *OTHERS}


def test_every_statistic_that_is_computed_live_has_a_metric():
    statistics = {metric.statistic for metric in METRICS.values()}
    live = set(live_statistics("normal")) | set(live_statistics("tophat"))

    # /api/v1 and the picture alone have them.
    assert live - statistics == {"calibration_coverage_stated", "calibration_z_mean"}


if __name__ == "__main__":
    GOLDEN.write_bytes(golden())
