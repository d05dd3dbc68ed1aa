"""Alerts in the log."""

from __future__ import annotations

import json
import logging

from harness.transitions import transition

from monitor.alerts.log_sink import LogSink
from monitor.daemon.runtime import configure


def test_the_log_has_a_line_for_each_transition(caplog):
    caplog.set_level("INFO")
    sink = LogSink()
    sink.deliver(transition(1, after="pending"))
    sink.deliver(transition(2, before="pending"))
    sink.close()

    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]
    assert "s reads 3 kg heavy [offset: pending to firing, " in caplog.text


def test_a_line_in_json_has_what_it_is_about_in_members(capfd, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    configure("info", "json")
    sink = LogSink()
    sink.deliver(transition(1))
    sink.deliver(transition(2, alert="my_limit", estimate=None, lower=None, upper=None))
    first, second = map(json.loads, capfd.readouterr().err.splitlines())

    assert (first["sensor"], first["quantity"], first["alert"]) == ("s", "mass", "offset")
    assert first["fault"] == "offset"
    assert first["estimate"] == {"value": 3.0, "lower": 2.0, "upper": 4.0, "unit": "kg"}
    assert "s reads 3 kg heavy" in first["message"]
    assert (second["alert"], second["fault"], second["estimate"]) == ("my_limit", None, None)
