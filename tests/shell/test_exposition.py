"""The metrics page: what is on it, and that others can read it."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
from harness.programs import need
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from monitor.core.snapshot import SeriesName, Snapshot
from monitor.decode import REASONS
from monitor.exposition import METRICS, STATES, Exposition
from monitor.telemetry import Figures, Telemetry

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
        window_pairs=np.arange(count) + 1,
        last_reading=np.full(count, 999.5),
        last_pair=np.full(count, 998.5),
        withdrawn=np.array(withdrawn),
    )


def samples(page: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page.decode())
        for sample in family.samples
    }


def value(page: bytes, name: str, **labels: str) -> float | None:
    return samples(page).get((name, frozenset(labels.items())))


def test_the_page_is_the_golden_page():
    page = Exposition().render(snapshot()).decode()
    if not GOLDEN.exists():
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(page, encoding="utf-8")

    assert page == GOLDEN.read_text(encoding="utf-8")


def test_promtool_finds_nothing_to_say():
    figures = Figures(rejected=dict.fromkeys(REASONS, 0), last_message={"a/+": 1.0})
    page = Exposition().render(snapshot()) + Telemetry(lambda: figures).render()
    checked = subprocess.run(
        [need("promtool"), "check", "metrics"], input=page, capture_output=True, check=False
    )

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_a_number_that_is_undefined_is_absent():
    page = Exposition().render(snapshot(values=(1.25, math.nan)))

    assert value(page, "monitor_calibration_zms", sensor="a", quantity="x") == 1.25
    assert value(page, "monitor_calibration_zms", sensor="b", quantity="x") is None
    assert b"NaN" not in page
    assert b"Inf" not in page


def test_a_series_that_stopped_keeps_its_state_and_times_only():
    page = Exposition().render(snapshot(values=(1.0, 2.0), withdrawn=(True, False)))
    kept = {name for (name, labels) in samples(page) if ("sensor", "a") in labels}

    assert kept == {
        "monitor_series_state",
        "monitor_series_info",
        "monitor_series_last_reading_timestamp_seconds",
        "monitor_series_last_pair_timestamp_seconds",
    }


def test_states_are_one_hot_and_alerts_say_which():
    page = Exposition().render(snapshot())
    series = {"sensor": "a", "quantity": "x"}

    assert {s: value(page, "monitor_series_state", state=s, **series) for s in STATES} == {
        **dict.fromkeys(STATES, 0.0),
        "ok": 1.0,
    }
    assert value(page, "monitor_alert_active", alert="offset", **series) == 1.0


def test_a_page_remembers_series_only_as_long_as_they_are_the_same():
    exposition = Exposition()
    exposition.render(snapshot())
    page = exposition.render(snapshot(names=(("c", "y"), ("d", "y")), values=(3.0, 4.0)))

    assert value(page, "monitor_calibration_zms", sensor="c", quantity="y") == 3.0
    assert value(page, "monitor_calibration_zms", sensor="a", quantity="x") is None


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"),
    min_size=1,
    max_size=12,
)


@given(
    series=st.lists(st.tuples(names, names), min_size=1, max_size=4, unique=True),
    number=st.floats(allow_nan=False, allow_infinity=False),
)
@settings(deadline=None, max_examples=200)
def test_whatever_names_and_numbers_there_are_another_parser_reads_them_back(series, number):
    page = Exposition().render(
        snapshot(series, [number] * len(series), withdrawn=[False] * len(series))
    )

    for sensor, quantity in series:
        assert value(page, "monitor_calibration_bias", sensor=sensor, quantity=quantity) == number


def test_a_lone_surrogate_does_not_take_the_page_down():
    page = Exposition().render(snapshot(names=(("a\ud800", "x"), ("b", "x"))))

    assert page.decode("utf-8")


def test_the_daemons_own_figures_are_on_the_page():
    figures = Figures(received=7, committed=5, duplicate=1, rejected={"future": 1}, connected=True)
    page = Telemetry(lambda: figures).render()

    assert value(page, "monitor_messages_received_total") == 7
    assert value(page, "monitor_messages_rejected_total", reason="future") == 1
    assert value(page, "monitor_mqtt_connected") == 1
