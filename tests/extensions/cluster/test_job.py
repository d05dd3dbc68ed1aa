"""The whole way through Spark: every series equals the daemon's, bridge and driver killed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from harness.kafka import need_log
from harness.programs import need, need_module

from monitor.cli import main
from monitor.config.extended import every_model
from monitor.config.kinds import Section
from monitor.extensions.cluster.settings import MEANINGS, SAME, Meaning

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


def test_check_config_says_what_settings_mean_to_a_cluster_where_there_is_one(tmp_path, capsys):
    settings = tmp_path / "s.yaml"
    differ = [each for each in MEANINGS if each.cluster != SAME]
    for text, lines in (("cluster: {blocks: 64}\n", len(differ)), ("journal: {path: j}\n", 0)):
        settings.write_text(text)
        assert main(["check-config", str(settings)]) == 0
        said = capsys.readouterr().out.splitlines()

        assert said[0].endswith("no mistakes")
        assert sum("bridge and cluster:" in line for line in said[1:]) == lines


def meaning_of(path: str) -> Meaning:
    """Return what the setting at ``path``, such as "series.max", means; raises KeyError."""
    parts = path.split(".")
    known = {each.key: each for each in MEANINGS}
    for length in range(len(parts), 0, -1):
        found = known.get(".".join(parts[:length]))
        if found is not None:
            return found
    raise KeyError(path)


def settings_below(model: type[Section], path: str = "") -> list[str]:
    found = []
    for key, field in model.model_fields.items():
        kinds = [field.annotation, *get_args(field.annotation)]
        sections = [each for each in kinds if isinstance(each, type) and issubclass(each, Section)]
        found += [each for part in sections for each in settings_below(part, f"{path}{key}.")]
        if not sections:
            found.append(f"{path}{key}")
    return found


def test_every_setting_says_what_it_means_to_a_daemon_and_to_a_cluster():
    """A new section has no meaning until it is given one; what is gone has none any more."""
    known = {meaning_of(path).key for path in settings_below(every_model())}

    assert known == {each.key for each in MEANINGS}
    assert meaning_of("series.max").cluster.startswith("limit of the cluster")
    assert meaning_of("groups.windows.pairs").cluster == SAME
    with pytest.raises(KeyError):
        meaning_of("colour.of_the_page")


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


def test_more_partitions_than_blocks_are_a_mistake_with_its_place(tmp_path, capsys):
    settings = tmp_path / "s.yaml"
    settings.write_text("cluster: {blocks: 2, log: {partitions: 3}}\n")

    assert main(["check-config", str(settings)]) == 2
    assert "cluster.log.partitions: exceeds cluster.blocks" in capsys.readouterr().out
