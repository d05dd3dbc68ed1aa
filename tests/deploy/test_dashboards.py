"""The dashboards' files: what the script makes, and what every panel owes its reader."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import promql_parser
import pytest
import yaml

from monitor.core.formatting import series_path
from monitor.extensions import all_extensions, hooks
from monitor.http.metrics import METRICS, OTHERS, STATES
from monitor.http.process_metrics import ProcessMetrics
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import render
from tests.deploy.installation import DEPLOY, run

GRAFANA = DEPLOY / "grafana"
FILES = sorted((GRAFANA / "dashboards").glob("*.json"))
TARGET = re.compile(r"up|process_[a-z_]+|ALERTS")


def document(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def panels(file: Path) -> Iterator[dict]:
    yield from (panel for panel in document(file)["panels"] if panel["type"] != "row")


def expressions(file: Path) -> Iterator[str]:
    yield from (target["expr"] for panel in panels(file) for target in panel["targets"])
    yield from (mark["expr"] for mark in document(file)["annotations"]["list"])


PANELS = [
    pytest.param(panel, id=f"{file.stem}: {panel['title']}")
    for file in FILES
    for panel in panels(file)
]
dashboards = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def metrics() -> set[str]:
    """Return the names on the metrics page of a daemon that has everything to show."""
    of_extensions = [family for of in hooks(all_extensions(), "families") for family in of]
    figures = Figures(tls_not_after=1.0, public_url="http://h", of_extensions=of_extensions)
    page = (render(families(figures)) + ProcessMetrics().render()).decode()
    added = {name for metrics in hooks(all_extensions(), "metrics") for name in metrics}
    return {*METRICS, *OTHERS, *added, *re.findall(r"^# TYPE (\S+)", page, re.MULTILINE)}


def test_the_files_are_what_the_script_makes_of_them(tmp_path):
    """Else: python deploy/grafana/build.py."""
    made = run(sys.executable, GRAFANA / "build.py", tmp_path)

    assert (made.returncode, made.stderr) == (0, "")
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        file.name: file.read_text() for file in FILES
    }
    assert len(FILES) == 4


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows_in_which_unit_and_asks_the_chosen_source(panel):
    assert re.fullmatch(r"\S.{1,60}\S", panel["title"])
    assert re.fullmatch(r"[A-Z0-9].{10,}[.]", panel["description"])
    assert panel["fieldConfig"]["defaults"]["unit"]
    sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
    assert {source["uid"] for source in sources} == {"${datasource}"}


@pytest.mark.parametrize("panel", PANELS)
def test_lines_have_names_and_queries_have_letters(panel):
    letters = [target["refId"] for target in panel["targets"]]
    names = [target["legendFormat"] for target in panel["targets"]]

    assert letters == [chr(ord("A") + at) for at in range(len(letters))]
    assert len(names) == 1 or (all(names) and len(set(names)) == len(names))


@pytest.mark.parametrize("panel", [panel for panel in PANELS if panel.values[0]["type"] == "table"])
def test_the_columns_of_a_table_can_be_merged_into_rows(panel):
    """Rows with different names of metrics would stay apart."""
    for target in panel["targets"]:
        parsed = promql_parser.parse(target["expr"].replace("$", ""))
        assert isinstance(parsed, promql_parser.AggregateExpr)
        assert {"sensor", "quantity"} <= set(parsed.modifier.labels)


@dashboards
def test_every_metric_exists_and_is_of_the_chosen_daemons(file):
    known = metrics()
    for expression in expressions(file):
        selected = re.findall(r"\b((?:monitor|process|up|ALERTS)\w*)(\{[^}]*\})?", expression)
        assert selected
        for name, matchers in selected:
            assert name.removesuffix("_total") in known or name in known or TARGET.fullmatch(name)
            assert 'job=~"$job"' in matchers
            assert 'instance=~"$instance"' in matchers


@dashboards
def test_counters_are_looked_at_over_the_interval_that_grafana_knows(file):
    for expression in expressions(file):
        ranges = re.findall(r"\[([^\]]*)\]", expression)
        assert set(ranges) <= {"$__rate_interval"}
        assert len(ranges) == len(re.findall(r"\brate\(", expression))


@pytest.mark.parametrize("panel", [panel for panel in PANELS if panel.values[0]["type"] == "table"])
def test_a_row_of_a_table_links_to_its_page_at_the_daemon(panel):
    """As Grafana fills in links; the address is a label of the first query."""
    (own,) = (
        each["properties"]
        for each in panel["fieldConfig"]["overrides"]
        if each["matcher"] == {"id": "byName", "options": "url"}
    )
    (link,) = next(each["value"] for each in own if each["id"] == "links")
    names = {"sensor": "Waage 3 \N{GREEK SMALL LETTER MU}/", "quantity": "m/s"}
    filled = link["url"].replace("${__value.raw}", "https://monitor.example")
    for field, text in names.items():
        filled = filled.replace(f"${{__data.fields.{field}:percentencode}}", quote(text, safe=""))

    assert filled == f"https://monitor.example{series_path(*names.values())}"
    first = promql_parser.parse(panel["targets"][0]["expr"].replace("$", ""))
    assert "url" in first.modifier.labels


def test_plots_over_time_are_marked_with_alerts():
    marks = {file.stem: document(file)["annotations"]["list"] for file in FILES}

    assert {name: len(of) for name, of in marks.items()} == {
        "monitor-daemon": 1,
        "monitor-fleet": 1,
        "monitor-series": 1,
        "monitor-ranking": 0,  # has no plot over time
    }
    for mark in (mark for of in marks.values() for mark in of):
        promql_parser.parse(mark["expr"].replace("$", ""))
        assert (mark["enable"], mark["datasource"]["uid"]) == (True, "${datasource}")
        assert re.search(r"\{\{alert(name)?\}\}", mark["titleFormat"])


def test_all_groups_are_the_sensors_without_one_too():
    group = [
        each
        for file in FILES
        for each in document(file)["templating"]["list"]
        if each["name"] == "group"
    ]

    assert [(each["allValue"], each["multi"]) for each in group] == [(".*", True)] * 2


@dashboards
def test_variables_that_are_used_can_be_chosen_in_order(file):
    defined = [variable["name"] for variable in document(file)["templating"]["list"]]
    wanted = {
        name
        for expression in expressions(file)
        for name in re.findall(r"\$(\w+)", expression)
        if not name.startswith("__")
    }
    queries = [each["query"] for each in document(file)["templating"]["list"]]

    assert defined[:3] == ["datasource", "job", "instance"]
    assert wanted == {*defined[1:]}
    for at, query in enumerate(queries):
        assert {*re.findall(r"\$(\w+)", query)} <= {*defined[:at]}


@dashboards
def test_a_dashboard_is_read_only_refreshes_and_is_found(file):
    one = document(file)

    assert one["uid"] == file.stem
    assert one["editable"] is False
    assert one["refresh"] == "30s"
    assert one["tags"] == ["monitor"]
    assert one["schemaVersion"] >= 39
    numbers = Counter(panel["id"] for panel in one["panels"])
    assert set(numbers.values()) == {1}


@dashboards
def test_panels_do_not_overlap(file):
    taken: set[tuple[int, int]] = set()
    for panel in document(file)["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells


def test_the_daemons_dashboard_shows_every_figure_of_the_sinks():
    asked = " ".join(expressions(GRAFANA / "dashboards" / "monitor-daemon.json"))

    for figure in ("delivered_total", "failed_total", "dropped_total", "queue_length"):
        assert f"monitor_sink_{figure}" in asked


def test_every_state_has_its_colour():
    (panel,) = (
        each
        for each in panels(GRAFANA / "dashboards" / "monitor-fleet.json")
        if each["title"] == "Series by state"
    )
    coloured = [each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]]

    assert sorted(coloured) == sorted(STATES)


def test_provisioning_finds_the_files_where_compose_puts_them():
    provider = yaml.safe_load((GRAFANA / "provisioning/dashboards/monitor.yaml").read_text())
    source = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text())
    stack = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    mounted = dict(
        volume.removesuffix(":ro").split(":") for volume in stack["services"]["grafana"]["volumes"]
    )

    assert mounted["./grafana/dashboards"] == provider["providers"][0]["options"]["path"]
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
