"""Names that users build on stay: docs/stability.md has the rule, tests/small/stable the names."""

from __future__ import annotations

import pytest
from harness import stable
from harness.stable import LISTS, complaints, kept_lines, present_lines

from monitor.journal.schema import SCHEMA_VERSION

# Of each list some lines written by hand: a list that is read from the wrong place lacks them.
KNOWN = {
    "commands": {
        "monitor run --config VALUE",
        "monitor run needs --config",
        "monitor score --json",
        "monitor score --density = tophat",
        "monitor compare --sensors VALUE...",
        "monitor certificate verify FILE VALUE",
    },
    "documents": {
        "score --json version 2",
        "score --json series[].statistics.crps_expected_ratio",
        "score --json series[].intervals.*.replicates",
        "score --json alerts[].fired",
        "compare --json version 1",
        "webhook version 1",
        "alert since: null or string",
    },
    "exit_codes": {"2 USAGE", "65 BAD_INPUT", "78 BAD_SETTINGS"},
    "interface": {
        "GET /api/v1/series (list_series)",
        "GET /api/v1/series takes sort: string",
        "GET /api/v1/series series[].verdict.fault: null or string",
        "GET /api/v1/series series[].evidence: null or number",
        "GET /api/v1/alerts history?: array",
        "GET /api/v1/due order: string",
        "GET /api/v1/series series[].neighbours.shift: null or number",
        "GET /api/v1/series/{sensor}/{quantity} targets?: null or object",
        "GET /api/v1/series/{sensor}/{quantity} where[].findings[].from: null or number",
    },
    "journal": {"form 5 row of a pair: u_ref <f8"},
    "metrics": {
        "statistic monitor_score_crps_mean; unit unit; essential",
        "metric monitor_alert_active; type gauge; labels sensor, quantity, alert; essential",
        "metric monitor_messages_received_total; type counter",
        "fault offset; unit unit",
        "reason naive_time",
        "state stale",
    },
    "python": {
        "monitor.Alert.is_firing",
        "monitor.Scores.to_frame: function",
        "monitor.compare(keyword-only level: 'float' = 0.9)",
    },
    "settings": {
        "mqtt.port: integer",
        "mqtt.client_id: null",
        "pairing.mode = nearest",
        "sources[].map.columnar: string",
        "alerts.due: boolean",
        "otlp.endpoint: string",
    },
}


@pytest.mark.parametrize("name", LISTS)
def test_every_name_is_in_its_list_and_none_went(name):
    assert complaints(name, kept_lines(name), present_lines(name)) == []


@pytest.mark.parametrize("name", LISTS)
def test_each_list_is_of_what_users_see(name):
    assert KNOWN[name] - set(kept_lines(name)) == set()


def test_a_name_that_went_or_changed_is_complained_of_with_what_to_do():
    (complaint,) = complaints("metrics", ["a; unit kg", "b"], ["b"])

    assert complaint.startswith("tests/small/stable/metrics.txt promises what is no longer so:")
    assert "\n  a; unit kg\n" in complaint
    assert "docs/stability.md" in complaint
    gone, unlisted = complaints("metrics", ["a; unit kg", "b"], ["a; unit g", "b"])
    assert "a; unit kg" in gone
    assert "a; unit g\n" in unlisted


def test_a_name_that_was_added_and_listed_is_welcome():
    assert complaints("metrics", ["a", "b"], ["b", "a"]) == []
    (complaint,) = complaints("metrics", ["a"], ["a", "b"])
    assert "\n  b\n" in complaint
    assert "`make generated`" in complaint


def test_what_an_earlier_form_of_the_journal_was_stays_in_its_list():
    former, present = "form 1 create table a", f"form {SCHEMA_VERSION} create table b"

    assert complaints("journal", [former, present], [present]) == []
    assert complaints("journal", [present], []) != []


def test_the_generator_only_ever_adds(tmp_path, monkeypatch):
    monkeypatch.setattr(stable, "STABLE", tmp_path)
    monkeypatch.setattr(stable, "LISTS", {"names": lambda: iter(["c", "a"])})
    (tmp_path / "names.txt").write_text("a\nb\n")

    stable.add()

    assert (tmp_path / "names.txt").read_text() == "a\nb\nc\n"
