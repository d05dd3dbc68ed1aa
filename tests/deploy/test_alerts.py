"""The alerts: promtool and amtool accept them, each is tested and is in docs/alerts.md."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import promql_parser
import pytest
import yaml
from harness.programs import need

from monitor.core.verdict import FAULTS
from monitor.decode.checks import NO_FAULT
from tests.deploy.installation import DEPLOY, PROJECT, changed, run
from tests.deploy.test_dashboards import TARGET, metrics

PROMETHEUS = DEPLOY / "prometheus"
ALERTS = PROMETHEUS / "alerts.yml"
TESTS = sorted(PROMETHEUS.glob("*_test.yml"))
PAGE = PROJECT / "docs" / "alerts.md"
GROUPS = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
EVERY = [rule for group in GROUPS for rule in group["rules"]]
RULES = {rule["alert"]: rule for rule in EVERY}
rules = pytest.mark.parametrize("rule", EVERY, ids=[rule["alert"] for rule in EVERY])


@pytest.fixture
def fault_rules(monkeypatch):
    monkeypatch.syspath_prepend(PROMETHEUS)
    return importlib.import_module("fault_rules")


def alertmanager() -> dict:
    return yaml.safe_load((DEPLOY / "alertmanager" / "alertmanager.yml").read_text())


def parsed(file: Path) -> list[dict]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]


def names_of(matchers: list[str]) -> set[str]:
    """Return the alerts' names that a matcher of Alertmanager lists."""
    text = " ".join(matchers)
    return set(re.findall(r"\b(?:Sensor|Monitor)[A-Z]\w+", text))


def test_promtool_accepts_configuration_and_rules():
    done = run(need("promtool"), "check", "config", "prometheus.yml", cwd=PROMETHEUS)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(EVERY)} rules found" in done.stdout


def test_the_rules_of_the_faults_are_what_the_script_makes_of_the_table(fault_rules):
    """Else: python deploy/prometheus/fault_rules.py."""
    shipped, quiet = ALERTS.read_text("utf-8"), fault_rules.ALERTMANAGER.read_text("utf-8")

    assert fault_rules.alerts(shipped) == shipped
    assert fault_rules.inhibitions(quiet) == quiet


def test_no_alert_keeps_quiet_the_one_that_names_the_fault():
    """But for those by which the fault is the reference's."""
    named = {fault.rule for fault in FAULTS.values()}
    sources = {
        name
        for rule in alertmanager()["inhibit_rules"]
        if named & names_of(rule["target_matchers"])
        for name in names_of(rule["source_matchers"])
    }

    assert sources == {"SensorReferenceSuspect", "MonitorSensorsAgree"}


def test_an_alert_names_no_setting_and_shows_no_number_as_a_question_mark():
    keys = re.findall(r"^## `(\w+)", (PROJECT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert len(keys) > 10
    for rule in EVERY:
        text = "".join(rule["annotations"].values())
        assert "}}?" not in text
        assert not re.search(rf"\b(?:{'|'.join(keys)})[.]\w+", text)


def test_every_fault_has_a_rule_that_passes_its_alert_on():
    passed_on = {
        re.search(r'alert="(\w+)"', RULES[fault.rule]["expr"])[1]: RULES[fault.rule]["labels"]
        for fault in FAULTS.values()
    }

    assert passed_on == {
        label: {"severity": f'{{{{ or $labels.severity "{of.severity}" }}}}', "fault": label}
        for label, of in FAULTS.items()
    }


def test_critical_is_the_daemon_and_what_a_person_marked():
    critical = {name for name, rule in RULES.items() if rule["labels"]["severity"] == "critical"}

    assert critical == {
        *("MonitorDown", "MonitorAbsent", "MonitorNotConnected", "MonitorJournalNotWritable"),
        *("MonitorSessionLost", "MonitorFleetSilent", "MonitorReferencesMissing"),
    }


def test_refusals_that_are_no_fault_count_neither_here_nor_in_the_daemon():
    (excluded,) = re.findall(r'reason!~"([^"]+)"', RULES["MonitorRejected"]["expr"])

    assert set(excluded.split("|")) == NO_FAULT


def test_promtool_finds_that_every_alert_fires_when_it_should_and_not_else():
    done = run(need("promtool"), "test", "rules", *TESTS, cwd=PROMETHEUS)

    assert (done.returncode, done.stdout.count("SUCCESS")) == (0, 2), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("alert", "rule", "wrong", "test"),
    [
        (
            "MonitorJournalNotWritable",
            "monitor_journal_writable == 0",
            "monitor_journal_writable == 1",
            "alerts_test.yml",
        ),
        ("MonitorRejected", "> 0.05", "> 0.5", "alerts_test.yml"),
        (
            "MonitorSensorsAgree",
            "sgn(monitor_calibration_bias)",
            "monitor_calibration_bias",
            "alerts_test.yml",
        ),
        ("MonitorFilterSilent", '{kind="reading"}', "", "alerts_days_test.yml"),
    ],
)
def test_promtool_would_find_a_wrong_rule(tmp_path, alert, rule, wrong, test):
    """Only the tests that name the alert are run: each of them evaluates all rules."""
    text = changed(ALERTS.read_text(encoding="utf-8"), (rule, wrong))
    (tmp_path / "alerts.yml").write_text(text, encoding="utf-8")
    whole = yaml.safe_load((PROMETHEUS / test).read_text(encoding="utf-8"))
    whole["tests"] = [each for each in whole["tests"] if alert in yaml.safe_dump(each)]
    (tmp_path / test).write_text(yaml.safe_dump(whole), encoding="utf-8")
    done = run(need("promtool"), "test", "rules", test, cwd=tmp_path)

    assert "FAILED" in done.stdout + done.stderr
    assert done.returncode != 0


def test_every_alert_is_seen_to_fire_and_not_to():
    fired, quiet = set(), False
    for test in (test for file in TESTS for test in parsed(file)):
        for case in test.get("alert_rule_test", []):
            fired |= {case["alertname"]} if case["exp_alerts"] else set()
        for case in test.get("promql_expr_test", []):
            expected = case.get("exp_samples", [])
            fired |= {re.search(r'alertname="(\w+)"', each["labels"])[1] for each in expected}
            quiet |= not expected

    assert fired == set(RULES)
    assert quiet


@rules
def test_an_alert_says_whom_what_and_where_to_read_on(rule):
    annotations = rule["annotations"]

    wanted = {"summary", "description", "runbook_url"}
    assert set(annotations) - {"page_url", "many"} == wanted
    of_a_series = "$labels.sensor }}" in annotations["summary"]
    assert ("page_url" in annotations) is of_a_series
    assert re.search("critical|warning|info", rule["labels"]["severity"])
    assert "{{" in annotations["summary"] or rule["alert"] == "MonitorAbsent"
    assert annotations["description"].endswith(".")
    section = rule["alert"].lower()
    link = annotations["runbook_url"].removesuffix("{{ end }}")  # of MonitorAbsent: if one is known
    assert link.endswith(f"/docs/alerts#{section}")
    assert link.startswith("{{ with ")


@rules
def test_an_alert_asks_for_metrics_that_the_daemon_has(rule):
    promql_parser.parse(rule["expr"])
    known = {*metrics(), "monitor_bridge_last_message_timestamp_seconds"}
    for name in re.findall(r"\b((?:monitor|process|up)\w*)\b(?=[\s{)\[]|$)", rule["expr"]):
        assert name in known or name.removesuffix("_total") in known or TARGET.fullmatch(name)


def test_the_page_has_a_section_for_every_alert_that_says_what_it_means_and_what_to_do():
    sections = re.findall(
        r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )

    assert [name for name, _ in sections] == list(RULES)
    for _, text in sections:
        means, to_do, *more = text.strip().split("\n\n")
        assert re.match(r"[A-Z`\[]", means)
        assert re.match(r"\*\*Do:\*\* \S", to_do)
        assert more == []


def test_the_page_silences_all_alerts_of_a_sensor_whatever_they_are_called():
    of_sensors = {name for name, rule in RULES.items() if "page_url" in rule["annotations"]}
    (matchers,) = re.findall(
        r"silence add (.*?) *\\$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert any(name.startswith("Monitor") for name in of_sensors)
    assert matchers == "sensor=cart-04"


def test_amtool_accepts_the_configuration_and_would_not_accept_another(tmp_path):
    shipped = DEPLOY / "alertmanager" / "alertmanager.yml"
    wrong = tmp_path / "wrong.yml"
    here = changed(shipped.read_text(), ("/etc/alertmanager/", f"{shipped.parent}/"))
    wrong.write_text(changed(here, ("receiver: people", "receiver: nobody")))
    (tmp_path / "right.yml").write_text(here)

    done = run(need("amtool"), "check-config", tmp_path / "right.yml")
    assert (done.returncode, "1 templates" in done.stdout) == (0, True), done.stdout
    assert run(need("amtool"), "check-config", wrong).returncode != 0


def test_inhibition_names_alerts_that_exist_and_labels_that_both_have():
    for rule in alertmanager()["inhibit_rules"]:
        sources, targets = names_of(rule["source_matchers"]), names_of(rule["target_matchers"])

        assert sources
        assert targets
        assert sources | targets <= set(RULES)
        assert not sources & targets
        for name in sources | targets:
            assert "by (" not in RULES[name]["expr"] or {*rule["equal"]} <= labels_of(name)


def labels_of(name: str) -> set[str]:
    """Return the labels that aggregation leaves to an alert."""
    kept = re.findall(r"by \(([a-z, ]+)\)", RULES[name]["expr"])
    return set.intersection(*({*each.split(", ")} for each in kept))


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ("alertname=SensorOffset severity=warning sensor=a", "sensors"),
        ("alertname=SensorOffset severity=critical sensor=a", "sensors"),
        ("alertname=MonitorDown severity=critical", "people"),
        ("alertname=MonitorRejected severity=warning", "people"),
    ],
)
def test_amtool_routes_everything_to_somebody(labels, receiver):
    shipped = DEPLOY / "alertmanager" / "alertmanager.yml"
    command = ["config", "routes", "test", f"--config.file={shipped}", *labels.split()]
    done = run(need("amtool"), *command)

    assert done.stdout.strip() == receiver


def test_only_the_daemon_is_repeated_within_hours_and_sensors_come_once_a_day():
    route = alertmanager()["route"]
    marked, sensors, daemon = route["routes"]

    assert [each.get("repeat_interval") for each in (marked, daemon)] == [None, "2h"]
    assert (route["repeat_interval"], sensors["group_interval"]) == ("24h", "24h")
    assert marked["group_by"] == sensors["group_by"] == ["group", "site"]


# -- the text of a notification -------------------------------------------------------------------


def alert(sensor: str, many: str, status: str = "firing", of: str = "30") -> dict:
    labels = {"alertname": "SensorX", "sensor": sensor, "group": "harbour", "site": "dock"}
    annotations = {"summary": f"{sensor} (mass) is wrong", "many": many, "of": of}
    annotations = {name: text for name, text in annotations.items() if text}
    return {"status": status, "labels": labels, "annotations": annotations}


def rendered(folder: Path, alerts: list[dict], **common: str) -> str:
    """Return the shipped text of a notification, as amtool renders it."""
    data = {"receiver": "r", "status": "firing", "externalURL": "", "commonAnnotations": {}}
    data |= {"alerts": alerts, "groupLabels": common, "commonLabels": common}
    (folder / "data.json").write_text(json.dumps(data), encoding="utf-8")
    done = run(
        *(need("amtool"), "template", "render"),
        f"--template.glob={DEPLOY}/alertmanager/*.tmpl",
        '--template.text={{ template "monitor.text" . }}',
        f"--template.data={folder}/data.json",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_notification_leads_with_counts_of_sensors_not_of_alerts(tmp_path):
    alerts = [alert(f"s{at}", "read high") for at in range(9)]
    alerts += [alert(f"t{at}", "understate") for at in range(3)]
    alerts += [alert("t0", "lack references"), alert("x", "drift", "resolved")]
    first, *lines = rendered(tmp_path, alerts, group="harbour").splitlines()

    assert first == (
        "12 of harbour's 30 sensors need work: 9 read high, 3 understate, 1 lack references; 1 over"
    )
    assert lines[:2] == ["s0 (mass) is wrong", "s1 (mass) is wrong"]
    assert len(lines) == 13


@pytest.mark.parametrize(
    ("alerts", "common", "expected"),
    [
        ([alert("a", "drift")], {"group": "g", "site": "s"}, "1 of g, s's 30 sensors need work: "),
        ([alert("a", "drift")], {}, "1 of 30 sensors need work: 1 drift\n"),
        ([alert("a", "drift", of="")] * 2, {}, "1 sensor needs work: 2 drift\n"),
        ([alert("a", "", of="")], {"group": "g"}, "1 sensor needs work\n"),
        ([alert("a", "drift", "resolved")] * 2, {}, "2 over"),
    ],
)
def test_a_notification_says_what_is_known(tmp_path, alerts, common, expected):
    assert rendered(tmp_path, alerts, **common).startswith(expected)


def test_a_notification_is_at_most_1024_letters_long(tmp_path):
    names = [f"{at} \N{PILE OF POO} {'x' * 20}" for at in range(300)]
    alerts = [alert(name, f"do {at % 60}" + "y" * 20) for at, name in enumerate(names)]
    text = rendered(tmp_path, alerts, group="h" * 128, site="s" * 128)

    assert 900 < len(text.encode()) <= 1024
    shown = text.count("is wrong")
    assert text.endswith(f"... and {300 - shown} more")
