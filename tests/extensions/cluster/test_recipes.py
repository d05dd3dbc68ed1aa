"""Recipes of blocks."""

from __future__ import annotations

from monitor.config import load
from monitor.extensions.cluster.recipes import for_workers, settings_in, worst_of_a_block
from tests.extensions.cluster.test_block import settings_of


def test_a_block_shows_few_calm_series_and_all_blocks_together_what_was_asked_for():
    for blocks, worst, shown in ((1, 100, 100), (8, 100, 50), (1024, 100, 4), (1024, 2, 2)):
        text = f"cluster: {{blocks: {blocks}, log: {{partitions: 1}}, job: {{worst: {worst}}}}}"
        assert worst_of_a_block(settings_of(text)) == shown


def test_workers_find_the_files_of_the_settings_where_the_driver_does(tmp_path):
    file = tmp_path / "monitor.yaml"
    file.write_text("places_file: places.csv\n")

    assert settings_in(for_workers(file)) == load(file)
    assert load(file).places_file == f"{tmp_path}/places.csv"
