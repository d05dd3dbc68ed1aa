"""What settings mean to a cluster."""

from __future__ import annotations

from typing import get_args

import pytest

from monitor.cli import main
from monitor.config.extended import every_model
from monitor.config.kinds import Section
from monitor.extensions.cluster.settings import MEANINGS, SAME, Meaning


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


def test_more_partitions_than_blocks_are_a_mistake_with_its_place(tmp_path, capsys):
    settings = tmp_path / "s.yaml"
    settings.write_text("cluster: {blocks: 2, log: {partitions: 3}}\n")

    assert main(["check-config", str(settings)]) == 2
    assert "cluster.log.partitions: exceeds cluster.blocks" in capsys.readouterr().out
