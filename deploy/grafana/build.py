"""Writes the dashboards of monitor as JSON: ``python deploy/grafana/build.py [FOLDER]``.

Rules of this file: one function a dashboard; a panel answers one question, which its title asks or
names. Needs the extra ``deploy``; the JSON in ``dashboards/`` is committed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from parts import (
    SERIES,
    AnyPanel,
    Mark,
    Query,
    Step,
    Text,
    assembled,
    bars,
    lines,
    number,
    rows,
    select,
    states,
    variable,
)

FOLDER: Final = Path(__file__).parent / "dashboards"

ONE: Final = (Step(None, "transparent"), Step(1.0, "green"))
BAD_ABOVE_0: Final = (Step(None, "green"), Step(1.0, "red"))
GOOD_AT_1: Final = (Step(None, "red"), Step(1.0, "green"))

JOB: Final = variable("job", "Job", "monitor_build_info")
INSTANCE: Final = variable("instance", "Daemon", 'monitor_build_info{job=~"$job"}')
GROUP: Final = variable(  # all are those without a group too
    "group", "Group", select("monitor_series_info"), everything=".*"
)
QUANTITIES: Final = variable("quantity", "Quantity", select("monitor_series_info"))
QUANTITY: Final = variable("quantity", "Quantity", select("monitor_series_info"), several=False)
SENSOR: Final = variable(
    "sensor", "Sensor", select("monitor_series_info", 'quantity="$quantity"'), several=False
)


def series(metric: str, *more: str) -> str:
    """Return a metric of all series of the chosen quantities and groups."""
    chosen = select(metric, 'quantity=~"$quantity"', *more)
    own_group = select("monitor_series_info", 'group=~"$group"')
    return f"({chosen} and on ({SERIES}) {own_group})"


def own(metric: str, *more: str) -> str:
    """Return a metric of the chosen series, whose names may hold any character."""
    return select(metric, 'quantity="$quantity"', 'sensor="$sensor"', *more)


def rate(metric: str, *more: str) -> str:
    """Return how much a counter grows in a second."""
    return f"rate({select(metric, *more)}[$__rate_interval])"


def spread(metric: str) -> list[Query]:
    """Return the median of all series, and where the outermost ten of a hundred begin."""
    return [
        Query(f"quantile by (quantity) ({share}, {series(metric)})", f"{{{{quantity}}}} {name}")
        for share, name in ((0.05, "5 %"), (0.5, "median"), (0.95, "95 %"))
    ]


def column(expression: str, *more: str) -> str:
    """Return an expression as a table's column: without its name, a row a series."""
    return f"max by ({', '.join(('sensor', 'quantity', *more))}) ({expression})"


def with_page(expression: str) -> str:
    """Return an expression with the address of its daemon's pages as label, where it is known."""
    pages = select("monitor_pages_info")
    joined = f"{expression} * on (job, instance) group_left (url) {pages}"
    return f"{joined} or {expression} unless on (job, instance) {pages}"


def firing(metric: str) -> str:
    """Return a metric of those series of which an alert fires."""
    return f"{series(metric)} and on ({SERIES}) ({series('monitor_alert_active')} == 1)"


def fleet() -> Dashboard:
    """What is wrong, and how is the fleet as a whole?"""
    states_of = series("monitor_series_state")
    active = series("monitor_alert_active")
    overview = [
        states(
            Text("Series by state", "How many series are in each state.", "short"),
            Query(f"sum by (state) ({states_of})", "{{state}}"),
        ),
        number(
            Text("Sensors", "Sensors that have ever sent a reading.", "short"),
            Query(f"count(count by (sensor) ({series('monitor_series_info')}))"),
        ),
        number(
            Text("Pairs", "Pairs of readings with references in all windows.", "short"),
            Query(f"sum({series('monitor_window_pairs')})"),
        ),
        number(
            Text("Daemons", "Daemons that answer Prometheus.", "short"),
            Query(f"sum({select('up')})"),
            steps=GOOD_AT_1,
        ),
        lines(
            Text("Firing alerts", "Number of series with each alert.", "short"),
            Query(f"sum by (alert) ({active})", "{{alert}}"),
        ),
        lines(
            Text("States over time", "How many series were in each state.", "short"),
            Query(f"sum by (state) ({states_of})", "{{state}}"),
        ),
    ]
    return assembled(
        "monitor-fleet",
        "monitor: fleet",
        "Which sensors are not as right as they say, and how the fleet is doing.",
        [JOB, INSTANCE, GROUP, QUANTITIES],
        {"Now": overview, "What fires": [_faulty()], "The fleet": _fleet_statistics()},
        [
            Mark(
                "Alerts that begin",
                f"sum by (alert) ({active} == 1 unless "
                f"{select('monitor_alert_active')} offset 1m == 1)",
                "{{alert}}",
            )
        ],
    )


def _faulty() -> AnyPanel:
    info = f"group_left (unit, group) {series('monitor_series_info')}"
    active = f"({series('monitor_alert_active')} == 1) * on ({SERIES}) {info}"
    columns = {
        "Bias": "monitor_calibration_bias",
        "ZMS": "monitor_calibration_zms",
        "Coverage": "monitor_calibration_coverage_ratio",
        "Evidence": "monitor_alert_evidence",
        "Pairs": "monitor_window_pairs",
    }
    return rows(
        Text(
            "Sensors that are not as right as they say",
            "Bias is in the unit of the row; ZMS is 1 and coverage the stated level for a sensor "
            "that is right about its uncertainty.",
            "short",
        ),
        Query(column(with_page(f"({active})"), "alert", "unit", "group", "url"), "Fires"),
        *(Query(column(firing(metric)), name) for name, metric in columns.items()),
    )


def _fleet_statistics() -> list[AnyPanel]:
    return [
        lines(
            Text(
                "ZMS",
                "Mean of z squared: median, 5 % and 95 % quantiles over the sensors; 1 is right, "
                "above it errors are larger than stated.",
            ),
            *spread("monitor_calibration_zms"),
            steps=ONE,
        ),
        lines(
            Text(
                "CRPS over its expectation",
                "1 where a sensor's errors are as large as its own claim predicts; above 1 it is "
                "worse than it says.",
            ),
            *spread("monitor_score_crps_expected_ratio"),
            steps=ONE,
        ),
        lines(
            Text(
                "Coverage",
                "Share of the stated intervals that hold the reference; it should be the level "
                "that sensors state.",
                "percentunit",
            ),
            *spread("monitor_calibration_coverage_ratio"),
        ),
        lines(
            Text(
                "Availability",
                "Share of the references that came with a usable reading.",
                "percentunit",
            ),
            *spread("monitor_availability_ratio"),
        ),
    ]


def one_series() -> Dashboard:
    """How right is one sensor, and since when is it not?"""
    return assembled(
        "monitor-series",
        "monitor: series",
        "One sensor's one quantity: how far it is off, and whether it says so.",
        [JOB, INSTANCE, QUANTITY, SENSOR],
        {
            "Now": _series_now(),
            "How far is it off?": _series_errors(),
            "Is it right about its uncertainty?": _series_calibration(),
            "What the verdict rests on": _series_evidence(),
        },
        [Mark("Alerts", f"{own('monitor_alert_active')} == 1", "{{alert}}")],
    )


def _series_now() -> list[AnyPanel]:
    return [
        number(
            Text(
                "State", "One of ok, pending, firing, unknown (too few pairs), stale (no readings)."
            ),
            Query(f"{own('monitor_series_state')} == 1", "{{state}}"),
            names=True,
        ),
        number(
            Text("Unit", "The unit of values, bias and scores."),
            Query(own("monitor_series_info"), "{{unit}}"),
            names=True,
        ),
        number(
            Text("Pairs", "Pairs that statistics and sentence are of.", "short"),
            Query(own("monitor_window_pairs")),
        ),
        number(
            Text("Evidence", "The alert fires when it reaches alerts.patience.", "short"),
            Query(own("monitor_alert_evidence")),
        ),
        number(
            Text("Last reading", "Time since the last reading, by its event time.", "s"),
            Query(f"time() - {own('monitor_series_last_reading_timestamp_seconds')}"),
        ),
        number(
            Text("Last comparison", "Time since a reading was last paired with a reference.", "s"),
            Query(f"time() - {own('monitor_series_last_pair_timestamp_seconds')}"),
        ),
    ]


def _series_errors() -> list[AnyPanel]:
    return [
        lines(
            Text(
                "Bias and error now",
                "Mean error, value less reference, in the quantity's unit; and "
                "while something is wrong, the error now, which its sentence says.",
            ),
            Query(own("monitor_calibration_bias"), "bias"),
            Query(own("monitor_error_now"), "error now"),
            steps=(Step(None, "transparent"), Step(0.0, "green")),
        ),
        lines(
            Text("CRPS", "In the unit of the quantity; lower is better."),
            Query(own("monitor_score_crps_mean"), "mean"),
            Query(own("monitor_score_crps_median"), "median"),
        ),
        lines(
            Text(
                "Scores over their expectation",
                "1 where the score is what the sensor's own claim predicts; above 1 it is worse, "
                "whichever the score.",
            ),
            Query(own("monitor_score_crps_expected_ratio"), "CRPS"),
            Query(own("monitor_score_quadratic_expected_ratio"), "quadratic (Brier)"),
            Query(own("monitor_score_interval_expected_ratio"), "interval"),
            steps=ONE,
        ),
        lines(
            Text("Negative log likelihood", "Mean; lower is better."),
            Query(own("monitor_calibration_nll"), "NLL"),
        ),
    ]


def _series_calibration() -> list[AnyPanel]:
    return [
        lines(
            Text(
                "ZMS with its 95 % interval",
                "Mean of z squared; above 1 the stated uncertainty is too small.",
            ),
            Query(own("monitor_calibration_zms"), "ZMS"),
            Query(own("monitor_calibration_zms_lower"), "lower"),
            Query(own("monitor_calibration_zms_upper"), "upper"),
            steps=ONE,
        ),
        lines(
            Text("Coverage", "Share of stated intervals that hold the reference.", "percentunit"),
            Query(own("monitor_calibration_coverage_ratio"), "coverage"),
        ),
        lines(
            Text(
                "Factor on the stated uncertainty that would cost least",
                "1 where the width of the intervals is right.",
            ),
            Query(own("monitor_ucc_scale_optimal"), "factor"),
            steps=ONE,
        ),
        lines(
            Text(
                "Information in the uncertainty",
                "Area that the stated uncertainty saves against a constant one, which has 0: "
                "above 0 it tells good readings from bad ones, below 0 it misleads.",
                "percentunit",
            ),
            Query(own("monitor_ucc_partial_gain_ratio"), "information"),
            steps=(Step(None, "transparent"), Step(0.0, "green")),
        ),
    ]


def _series_evidence() -> list[AnyPanel]:
    return [
        lines(
            Text(
                "Evidence", "Evidence that the sensor is not as right as it says; grows by factors."
            ),
            Query(own("monitor_alert_evidence"), "evidence"),
        ),
        lines(
            Text("Alerts", "1 while an alert fires."),
            Query(own("monitor_alert_active"), "{{alert}}"),
        ),
        lines(
            Text(
                "Pairs", "In the window, and their effective number under autocorrelation.", "short"
            ),
            Query(own("monitor_window_pairs"), "pairs"),
            Query(own("monitor_window_pairs_effective"), "effective"),
        ),
        lines(
            Text(
                "Limits of the verdict",
                "Uncertainty of the reference over the sensor's (above a third it blurs), and "
                "autocorrelation of z.",
            ),
            Query(own("monitor_calibration_u_ref_ratio"), "reference over sensor"),
            Query(own("monitor_calibration_z_lag1"), "autocorrelation"),
        ),
    ]


def ranking() -> Dashboard:
    """Which sensors are best and worst, of one quantity?"""
    ratio, zms = "monitor_score_crps_expected_ratio", "monitor_calibration_zms"
    columns = {
        "CRPS": "monitor_score_crps_mean",
        "CRPS / expected": ratio,
        "Bias": "monitor_calibration_bias",
        "ZMS": zms,
        "Coverage": "monitor_calibration_coverage_ratio",
        "Information": "monitor_ucc_partial_gain_ratio",
        "Factor": "monitor_ucc_scale_optimal",
        "Availability": "monitor_availability_ratio",
    }
    first = [
        bars(
            Text("Farthest off", "The 15 largest mean CRPS, in the unit of the quantity."),
            Query(f"topk(15, {series('monitor_score_crps_mean')})", "{{sensor}}"),
        ),
        bars(
            Text("Farther off than they say", "The 15 largest CRPS over expectation; 1 is right."),
            Query(f"topk(15, {series(ratio)})", "{{sensor}}"),
        ),
        bars(
            Text(
                "Least right about their uncertainty",
                "The 15 whose ZMS is farthest from 1, as its logarithm to base 2: 1 means squared "
                "errors twice as large as stated, -1 half as large.",
            ),
            Query(
                f"log2({series(zms)}) and on ({SERIES}) topk(15, abs(log2({series(zms)})))",
                "{{sensor}}",
            ),
        ),
    ]
    last = rows(
        Text(
            "All sensors",
            "Scores and bias in the unit of the quantity, over each sensor's own window: compare "
            "sensors that saw the same. Click a column header to sort.",
            "short",
        ),
        Query(column(with_page(series("monitor_window_pairs")), "url"), "Pairs"),
        *(Query(column(series(metric)), name) for name, metric in columns.items()),
    )
    return assembled(
        "monitor-ranking",
        "monitor: ranking",
        "The sensors of one quantity, side by side.",
        [JOB, INSTANCE, GROUP, QUANTITY],
        {"Outermost": first, "All": [last]},
    )


def daemon() -> Dashboard:
    """Does the daemon itself work?"""
    return assembled(
        "monitor-daemon",
        "monitor: daemon",
        "Whether messages arrive, are stored, and are processed in time.",
        [JOB, INSTANCE],
        {
            "Now": _daemon_now(),
            "Messages": _daemon_messages(),
            "Work": _daemon_work(),
            "Alert delivery": _daemon_sinks(),
            "Machine": _daemon_machine(),
        },
        [
            Mark(
                "Alerts",
                select("ALERTS", 'alertname=~"Monitor.*"', 'alertstate="firing"'),
                "{{alertname}}",
            )
        ],
    )


def _daemon_now() -> list[AnyPanel]:
    return [
        number(
            Text("Connected", "1 while connected to the broker and subscribed."),
            Query(select("monitor_mqtt_connected"), "{{instance}}"),
            steps=GOOD_AT_1,
        ),
        number(
            Text(
                "Journal writable",
                "0 while the journal cannot be written. Messages are not acknowledged then; the "
                "broker queues them while it has room.",
            ),
            Query(select("monitor_journal_writable"), "{{instance}}"),
            steps=GOOD_AT_1,
        ),
        number(
            Text(
                "Sessions lost",
                "Times the broker lost the daemon's session; messages queued in it may be missing.",
                "short",
            ),
            Query(select("monitor_session_lost_total"), "{{instance}}"),
            steps=BAD_ABOVE_0,
        ),
        number(
            Text("Certificate expires in", "The broker's; an alert fires 14 days before.", "s"),
            Query(f"{select('monitor_tls_peer_not_after_seconds')} - time()", "{{instance}}"),
            steps=(Step(None, "red"), Step(14 * 86400.0, "green")),
        ),
        number(
            Text("Uptime", "Time since the process started.", "s"),
            Query(f"time() - {select('process_start_time_seconds')}", "{{instance}}"),
        ),
        number(
            Text("Version", "Version of the daemon."),
            Query(select("monitor_build_info"), "{{version}}"),
            names=True,
        ),
    ]


def _daemon_messages() -> list[AnyPanel]:
    rejected = f"sum by (reason) ({rate('monitor_messages_rejected_total')}) > 0"
    heard = select("monitor_mqtt_filter_last_message_timestamp_seconds")
    return [
        lines(
            Text("Messages", "Messages received, and their outcomes.", "cps"),
            Query(rate("monitor_messages_received_total"), "{{instance}} received"),
            Query(rate("monitor_messages_committed_total"), "{{instance}} committed"),
            Query(rate("monitor_messages_duplicate_total"), "{{instance}} duplicates"),
        ),
        lines(
            Text("Rejected, by reason", "Messages that could not be used; docs/formats.md.", "cps"),
            Query(rejected, "{{reason}}"),
        ),
        lines(
            Text("Silence", "Time since the last message on each topic filter.", "s"),
            Query(f"time() - {heard}", "{{filter}}"),
        ),
        lines(
            Text(
                "Delay",
                "Median time from event to arrival; below 0 the sender's clock is ahead.",
                "s",
            ),
            Query(select("monitor_source_delay_seconds"), "{{filter}}"),
        ),
    ]


def _daemon_work() -> list[AnyPanel]:
    commits = rate("monitor_commits_total")
    return [
        lines(
            Text(
                "Waiting for the other side", "Readings and references held for pairing.", "short"
            ),
            Query(select("monitor_pending_readings"), "{{instance}} readings"),
            Query(select("monitor_pending_references"), "{{instance}} references"),
        ),
        lines(
            Text("Never paired", "Readings whose reference did not come in time.", "cps"),
            Query(rate("monitor_readings_unpaired_expired_total"), "{{instance}}"),
        ),
        lines(
            Text("Transactions", "Mean duration of a journal transaction.", "s"),
            Query(f"{rate('monitor_commit_seconds_total')} / ({commits} > 0)", "{{instance}}"),
        ),
        lines(
            Text("Publishing", "How long a round takes; messages wait meanwhile.", "s"),
            Query(select("monitor_publish_seconds"), "{{instance}}"),
        ),
    ]


def _daemon_sinks() -> list[AnyPanel]:
    return [
        lines(
            Text("Delivered, failed, dropped", "Outcomes of delivering alert transitions.", "cps"),
            Query(rate("monitor_sink_delivered_total"), "{{sink}} delivered"),
            Query(rate("monitor_sink_failed_total"), "{{sink}} failed, will retry"),
            Query(rate("monitor_sink_dropped_total"), "{{sink}} dropped"),
        ),
        lines(
            Text("Awaiting delivery", "Alert transitions not yet delivered to a sink.", "short"),
            Query(select("monitor_sink_queue_length"), "{{sink}}"),
        ),
    ]


def _daemon_machine() -> list[AnyPanel]:
    return [
        lines(
            Text("Memory", "Resident memory of the process.", "bytes"),
            Query(select("process_resident_memory_bytes"), "{{instance}}"),
        ),
        lines(
            Text("Processor", "Share of one core.", "percentunit"),
            Query(rate("process_cpu_seconds_total"), "{{instance}}"),
        ),
        lines(
            Text("Series", "Series known; series.max in the settings limits them.", "short"),
            Query(select("monitor_series"), "{{instance}}"),
        ),
        lines(
            Text("Connections", "Times the connection to the broker was restored.", "short"),
            Query(select("monitor_mqtt_reconnects_total"), "{{instance}}"),
        ),
    ]


DASHBOARDS: Final = (fleet, one_series, ranking, daemon)


def write(folder: Path) -> None:
    """Write every dashboard to a file named after it."""
    folder.mkdir(parents=True, exist_ok=True)
    for make in DASHBOARDS:
        made = make()
        document = json.loads(json.dumps(made, cls=JSONEncoder))
        for each in document["templating"]["list"]:
            for name in ("auto", "auto_count", "auto_min"):  # of interval variables only
                each.pop(name, None)
        text = json.dumps(document, indent=2, sort_keys=True)
        (folder / f"{made.uid}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
