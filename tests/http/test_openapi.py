"""The description of the interface against the service, by a program that reads only the former."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from harness.cases import further
from harness.examples import examples
from harness.http_service import document, get

from monitor.http.answers import TITLES

_BIN = Path(sys.executable).parent


@pytest.mark.parametrize("names", ["known", *further("any")])
def test_nothing_but_what_is_described_is_answered(names, shown, tmp_path):
    """Valid and invalid queries, of any names and of those of a series with pairs."""
    known = '[parameters]\nsensor = "cart-01"\nquantity = "mass"\n' if names == "known" else ""
    (tmp_path / "schemathesis.toml").write_text(known)
    program = [_BIN / "schemathesis", f"--config-file={tmp_path}/schemathesis.toml", "--no-color"]
    most = examples(10).max_examples
    bounds = [
        f"--max-examples={most}",
        "--seed=1",
        "--continue-on-failure",
        "--phases=coverage,fuzzing",
    ]
    url = f"{shown.url}/api/v1/openapi.json"
    done = subprocess.run(
        [*program, "run", *bounds, url], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_a_name_of_an_operation_stays(shown):
    """Clients are generated from these names."""
    paths = document(shown, "/api/v1/openapi.json")["paths"]

    assert sorted(each["get"]["operationId"] for each in paths.values()) == [
        *(
            "get_budget",
            "get_comparison",
            "get_conventions",
            "get_doctor",
            "get_event",
            "get_pairs",
        ),
        *("get_ranking", "get_series", "get_settings", "get_ucc"),
        *("list_alerts", "list_dead_letters", "list_due", "list_series"),
    ]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/series/nobody/mass", 404),
        ("GET", "/api/v1/nothing", 404),
        ("POST", "/api/v1/series", 405),
        ("GET", "/api/v1/series?page=0", 422),
        ("GET", "/api/v1/series?pages=1", 422),
    ],
)
def test_a_refusal_is_a_problem_that_leads_to_its_section(method, path, status, shown):
    answer, body, headers = get(shown, path, method)
    problem = json.loads(body)

    assert (answer, headers["Content-Type"]) == (status, "application/problem+json")
    assert len(problem["detail"].split()) > 3  # it says what to do, not only what is refused
    assert (problem["status"], problem["title"]) == (status, TITLES[status])
    assert problem["instance"] == path.partition("?")[0]
    leads_to, _, section = problem["type"].partition("#")
    assert f'id="{section}"'.encode() in get(shown, leads_to)[1]


def test_before_the_first_publication_a_problem_says_that_it_is_starting(service):
    status, body, headers = get(service, "/api/v1/series")

    assert (status, headers["Content-Type"]) == (503, "application/problem+json")
    assert "still starting" in json.loads(body)["detail"]


@pytest.mark.parametrize("title", TITLES.values())
def test_every_kind_of_refusal_has_its_section(title, shown):
    section = title.lower().replace(" ", "-")

    assert f'id="{section}"'.encode() in get(shown, "/docs/outlets")[1]
