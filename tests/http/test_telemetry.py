"""The daemon's own figures."""

from __future__ import annotations

from monitor.http.process_metrics import ProcessMetrics
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import render
from tests.http.test_metrics import value


def test_the_daemons_own_figures_are_on_the_page():
    figures = Figures(received=7, committed=5, duplicate=1, rejected={"future": 1}, connected=True)
    page = render(families(figures)) + ProcessMetrics().render()

    assert value(page, "monitor_messages_received_total") == 7
    assert value(page, "monitor_messages_rejected_total", reason="future") == 1
    assert value(page, "monitor_mqtt_connected") == 1
