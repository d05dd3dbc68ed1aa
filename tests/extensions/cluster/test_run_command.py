"""The whole way through Spark: every series equals the daemon's, bridge and driver killed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from harness.kafka import need_log
from harness.programs import need, need_module

PROJECT = Path(__file__).parents[3]


def test_every_series_equals_the_daemons_through_a_killed_bridge_and_a_killed_driver():
    need_module("pyspark", "cluster-test")
    need_log()
    need("java")
    need("mosquitto")
    command = [sys.executable, "benchmarks/cluster_trial.py", "--short", "--sensors", "12"]
    found = subprocess.run(
        [*command, "--events", "60"], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    for line in ('series equal: "12 of 12"', "messages lost: 0", "messages counted twice: 0"):
        assert line in found.stdout, found.stdout + found.stderr


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, tmp_path):
    from monitor.extensions.cluster import run_command
    from monitor.extensions.cluster.kafka_log import MissingLibraryError

    monkeypatch.setitem(sys.modules, "monitor.extensions.cluster.job", None)
    monkeypatch.delattr(
        "monitor.extensions.cluster.job", raising=False
    )  # another test may have imported it
    settings = tmp_path / "s.yaml"
    settings.write_text("{}\n")
    with pytest.raises(MissingLibraryError, match="pip install"):
        run_command.run(type("Options", (), {"config": str(settings), "spark": []})())


def test_folders_of_results_are_listed_once_in_a_while():
    from monitor.extensions.cluster.run_command import Seldom

    done, times = [], iter([0.0, 0.5, 1.0, 599.0, 600.5, 601.0, 602.0])
    tidy = Seldom(600.0, lambda: next(times))
    for at in range(5):
        tidy(lambda at=at: done.append(at))

    assert done == [0, 3]


def test_nothing_of_the_cluster_is_imported_by_the_daemon():
    theirs = ("pyspark", "pandas", "confluent_kafka", "pyarrow")
    program = (
        "import sys, monitor.commands.run\n"
        f"print([m for m in sys.modules if m.split('.')[0] in {theirs} or '.cluster' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_the_extra_alone_brings_the_clusters_libraries():
    """What the package alone brings, and what the other extras do, has none of them."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    theirs = ("pyspark", "pandas", "confluent-kafka", "pyarrow", "noida-db")
    extras = project["optional-dependencies"]

    assert not [each for each in project["dependencies"] if each.startswith(theirs)]
    assert {name for name, needed in extras.items() if str(needed).count("pyspark")} == {"cluster"}
    assert {re.split(r"[\[<>=]", each)[0] for each in extras["cluster"]} == {
        *("confluent-kafka", "pandas", "protobuf", "pyspark"),
    }
