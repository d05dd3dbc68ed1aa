"""The whole way through Spark, short: every series equals the daemon's, the driver killed once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness.kafka import need_log
from harness.programs import need

from monitor.cli import main

PROJECT = Path(__file__).parents[2]


def why_not() -> str:
    """Return why it cannot run here, nothing if it can."""
    if shutil.which("java") is None:
        return "Java is not installed (Debian: openjdk-17-jre-headless)"
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'monitor[cluster-test]'"
    if not os.environ.get("MONITOR_CLUSTER_TEST"):
        return "takes minutes: set MONITOR_CLUSTER_TEST=1, or make cluster-test"
    return ""


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can run")
def test_every_series_equals_the_daemons_through_bridge_log_spark_and_a_killed_driver():
    need("mosquitto")
    need_log()
    command = [sys.executable, "benchmarks/cluster_trial.py", "--short", "--sensors", "12"]
    found = subprocess.run(
        [*command, "--events", "60"], cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert found.returncode == 0, found.stdout + found.stderr
    assert 'series equal: "12 of 12"' in found.stdout


def test_without_the_extra_the_command_says_what_to_install(monkeypatch, tmp_path):
    from monitor.commands import cluster
    from monitor.engine.log import MissingLibraryError

    monkeypatch.setitem(sys.modules, "monitor.engine.job", None)
    settings = tmp_path / "s.yaml"
    settings.write_text("{}\n")
    with pytest.raises(MissingLibraryError, match="pip install"):
        cluster.run(type("Options", (), {"config": str(settings), "spark": []})())


def test_nothing_of_the_cluster_is_imported_by_the_daemon():
    theirs = ("pyspark", "pandas", "confluent_kafka", "pyarrow")
    program = (
        "import sys, monitor.commands.run\n"
        f"print([m for m in sys.modules if m.split('.')[0] in {theirs} or 'monitor.engine' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_check_config_says_what_settings_mean_to_a_cluster_where_there_is_one(tmp_path, capsys):
    settings = tmp_path / "s.yaml"
    for text, lines in (("cluster: {blocks: 64}\n", 10), ("journal: {path: j}\n", 0)):
        settings.write_text(text)
        assert main(["check-config", str(settings)]) == 0
        said = capsys.readouterr().out.splitlines()

        assert said[0].endswith("no mistakes")
        assert sum("bridge and cluster:" in line for line in said[1:]) == lines


def test_more_partitions_than_blocks_are_a_mistake_with_its_place(tmp_path, capsys):
    settings = tmp_path / "s.yaml"
    settings.write_text("cluster: {blocks: 2, log: {partitions: 3}}\n")

    assert main(["check-config", str(settings)]) == 2
    assert "cluster.log.partitions: is more than there are blocks" in capsys.readouterr().out
