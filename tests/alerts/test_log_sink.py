"""Alerts in the log."""

from __future__ import annotations

from harness.transitions import transition

from monitor.alerts.log_sink import LogSink


def test_the_log_has_a_line_for_each_transition(caplog):
    caplog.set_level("INFO")
    sink = LogSink()
    sink.deliver(transition(1, after="pending"))
    sink.deliver(transition(2, before="pending"))
    sink.close()

    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "s reads 3 kg heavy [offset: pending to firing, " in caplog.text
