"""The page, the document, the calendar and the metrics of due dates."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from harness.http_service import get

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.due.command import due_snapshot
from monitor.http.metrics import Exposition
from monitor.http.published import Page
from monitor.report.recorded import read
from tests.http.conftest import service

__all__ = ["service"]


def test_page_document_calendar_and_metrics_tell_the_same(file, service):
    recorded = read(file, SeriesRules(asks=(("due", True),), tolerance=5.0))
    snapshot = due_snapshot(recorded)
    service.publish(Page(snapshot))
    listed = json.loads(get(service, "/api/v1/due")[1])
    page = get(service, "/due")[1].decode()
    for each in listed["series"]:
        assert each["sentence"] in page
    assert "<b>" not in page
    assert "needed by, UTC<" in page
    assert "leaves its tolerance, UTC<" in page
    status, body, headers = get(service, "/due.ics")
    assert (status, headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    assert body.count(b"BEGIN:VEVENT") == 3
    worth = [
        round(each["worth"], 3)
        for each in json.loads(get(service, "/api/v1/due?order=worth")[1])["series"]
    ]
    assert worth == sorted(worth, reverse=True)
    assert get(service, "/api/v1/due?order=name")[0] == 422
    assert get(service, "/api/v1/due?by=name")[0] == 422
    shown = replace(snapshot, withdrawn=np.zeros(3, np.bool_))  # a file's sensors are silent
    metrics = Exposition().render(shown).decode()
    (line,) = [
        each
        for each in metrics.splitlines()
        if each.startswith('monitor_due_lower_seconds{sensor="walker"')
    ]
    (walker,) = [each for each in listed["series"] if each["sensor"] == "walker"]
    assert float(line.split()[-1]) == pytest.approx(walker["lower"] - snapshot.time)
