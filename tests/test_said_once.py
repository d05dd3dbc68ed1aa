"""What is listed is listed once: an entry added to a table is found wherever the table is shown.

Each test adds an entry in a process of its own, before anything else is imported, as a commit
would.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from monitor.core.detector.e_values import FAMILIES
from monitor.core.diagnosis.faults import FAULTS

PROJECT = Path(__file__).parents[1]


def told_by(script: str) -> dict:
    """Return what a script prints as JSON in a fresh process at the project's root."""
    command = [sys.executable, "-W", "error", "-c", script]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ANOTHER_FAULT = """
import json, sys
from dataclasses import replace
from monitor.core.diagnosis.faults import FAULTS, estimate_unit, sentence_of
from monitor.core.diagnosis.estimates import Diagnosis, Estimate

FAULTS["lag"] = replace(
    FAULTS["stuck"],
    means="it follows the measurand too late",
    sentence=lambda diagnosis, unit: f"lags by {diagnosis.estimate.value:g} {unit}",
    rule="SensorLag",
    summary="is late",
    description="It is {calibration_bias:%+.3g} {unit} behind.",
)

import numpy as np
from monitor.config.kinds import Section
from monitor.config.threshold_settings import Threshold
from monitor.core.detector.lifecycle import FIRING
from monitor.core.snapshot.series_stats import active
from monitor.http.metrics_docs import metrics_page
from pydantic import ValidationError

sys.path.insert(0, "deploy/prometheus")
import fault_rules

try:
    Threshold(name="lag", statistic="calibration_bias", above=1.0)
    refused = ""
except ValidationError as error:
    refused = str(error)
found = Diagnosis("lag", Estimate(3.0, 2.0, 4.0), 0, 20, provisional=False)
print(json.dumps({
    "sentence": sentence_of(found, "kg"),
    "unit": estimate_unit("lag", "kg"),
    "active": active(np.array([FIRING]), np.array([len(FAULTS) - 1]))["lag"].tolist(),
    "refused": refused,
    "docs": metrics_page(),
    "rules": fault_rules.alerts(fault_rules.ALERTS.read_text()),
    "quiet": fault_rules.inhibitions(fault_rules.ALERTMANAGER.read_text()),
}))
"""


def test_a_fault_that_is_added_to_the_table_is_found_everywhere():
    told = told_by(ANOTHER_FAULT)

    assert told["sentence"] == "lags by 3 kg"
    assert told["unit"] == "kg"
    assert told["active"] == [True]
    assert "is the name of an alert that there is already" in told["refused"]
    assert "| `lag` | it follows the measurand too late |" in told["docs"]
    assert "      - alert: SensorLag\n" in told["rules"]
    assert "runbook_url: docs/runbook.md#sensorlag\n" in told["rules"]
    assert re.search(r'alert!~"[^"]*\|lag\|', told["rules"])
    assert re.search(r'alertname =~ "[^"]*\|SensorLag"', told["quiet"])


def test_the_faults_begin_with_what_the_detector_bets_on():
    assert tuple(FAULTS)[: len(FAMILIES)] == FAMILIES


def test_the_glossary_and_the_runbook_name_every_fault():
    glossary = (PROJECT / "docs" / "glossary.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| fault \| (.*?); ", glossary, re.MULTILINE)
    runbook = (PROJECT / "docs" / "runbook.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)$", runbook, re.MULTILINE)

    assert re.findall(r"`(\w+)`", row) == list(FAULTS)
    assert [name for name in sections if name in {each.rule for each in FAULTS.values()}] == [
        each.rule for each in FAULTS.values()
    ]
