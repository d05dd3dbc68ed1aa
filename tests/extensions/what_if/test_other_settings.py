"""Settings come back from a journal's note as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.config import load, parse, settings_hash, shown_settings
from monitor.extensions.what_if.other_settings import settings_of_note

PROJECT = Path(__file__).parents[3]


COVARIATES = """
mqtt: {host: broker.example}
covariates:
  - {name: hour}
  - {name: level}
  - {name: rh, unit: "%", field: rh}
"""


@pytest.mark.parametrize("file", sorted((PROJECT / "configs").glob("*.yaml")), ids=lambda p: p.stem)
def test_settings_that_a_journal_notes_mean_what_they_meant(file):
    assert_come_back(load(file), file)


def test_covariates_that_come_from_the_pairs_come_back():
    assert_come_back(parse(COVARIATES.encode(), "m.yaml"), "m.yaml")


def assert_come_back(settings, file):
    note = json.dumps(shown_settings(settings)).encode()

    back = settings_of_note(note, str(file))

    outside = ("mqtt", "sinks", "http", "log", "publish")
    same = settings.model_copy(update={key: getattr(back, key) for key in outside})
    assert settings_hash(back) == settings_hash(same)
