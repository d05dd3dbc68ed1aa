"""Other settings and readings give what they would have made, as another journal shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from monitor.journal import Journal
from tests.extensions.what_if.conftest import answers, digest, judged, stream, without_moment


@pytest.mark.parametrize(
    "keys",
    [
        ["windows.pairs=40"],
        ["alerts.patience=20"],
        ["pairing.tolerance_seconds=10"],
        ["scoring.level=0.5", "scoring.density=tophat"],
    ],
)
def test_other_settings_give_what_they_would_have_made(config, keys, tmp_path, capsys):
    before = digest(config.parent)

    document = answers(capsys, "--config", str(config), "--settings", *keys)

    assert digest(config.parent) == before
    sections = (key.replace("=", ": ").split(".") for key in keys)
    more = "\n".join(f"{section}: {{{rest}}}" for section, rest in map(_two, sections))
    if len(keys) == 2:
        more = "scoring: {level: 0.5, density: tophat}"
    then = [each["then"] for each in document["series"] if each["then"] is not None]
    assert [without_moment(each) for each in then] == judged(
        capsys, tmp_path / "other", tmp_path / "stream.csv", more
    )
    assert any(each["differs"] for each in document["series"])
    changed = {change.partition(":")[0] for change in document["changes"]}
    assert changed == {key.partition("=")[0] for key in keys}


def _two(parts: Sequence[str]) -> tuple[str, str]:
    return parts[0], ".".join(parts[1:])


@pytest.mark.parametrize(("times", "less"), [(4.0, 0.0), (1.0, 5.0), (0.5, -1.25)])
def test_other_readings_give_what_they_would_have_made(config, times, less, tmp_path, capsys):
    options = ["--multiply-u", str(times), "--subtract", str(less), "--sensor", "hi*"]

    document = answers(capsys, "--config", str(config), *options)

    other = stream(tmp_path / "changed.csv", times=times, less=less)
    then = [without_moment(each["then"]) for each in document["series"]]
    assert then == judged(capsys, tmp_path / "other", other)
    assert [each["sensor"] for each in document["series"] if each["differs"]] == ["high"]


def test_pairs_whose_readings_are_no_longer_held_stay_and_are_counted(config, capsys):
    journal = Journal(config.parent / "journal.sqlite")
    journal.expire(observations_before=math.inf, pairs_before=-math.inf)
    journal.close()

    keys = ["--settings", "pairing.tolerance_seconds=10"]
    document = answers(capsys, "--config", str(config), *keys)

    pairs = [[each[side]["pairs"] for side in ("was", "then")] for each in document["series"]]
    assert all(was == then for was, then in pairs)
    (limit,) = document["limits"]
    assert limit.startswith("360 pairs of 3 sensors were made with other settings and stay")
    assert document["held_since"] is None
