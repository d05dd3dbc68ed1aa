"""The page of a report: ranks, plots of scores and verdicts, and how many pairs there are."""

from __future__ import annotations

import numpy as np

from tests.commands.test_report import Outline, made


def test_three_sensors_have_their_scores_drawn_against_each_other_and_their_verdicts(
    tmp_path, capsys
):
    chance = np.random.default_rng(7)
    lines = ["time,sensor,quantity,value,sigma,reference,unit"]
    for at in range(60):
        truth, time = chance.normal(500.0, 40.0), f"2026-03-{1 + at // 24:02}T{at % 24:02}:00:00Z"
        for sensor, sd in (("near", 3.0), ("far", 9.0), ("middle", 6.0)):
            value = truth + sd * chance.normal()
            lines.append(f"{time},{sensor},mass,{value:.3f},5,{truth:.3f},kg")
    file = tmp_path / "three.csv"
    file.write_text("\n".join(lines) + "\n")
    page = made(file, tmp_path / "report.html", "--profile", "accuracy")
    outline = Outline()
    outline.feed(page)
    text = " ".join(outline.text)

    assert "On 60 common events near reads best by the mean CRPS" in text
    assert text.count("Rank correlation 1.00 over 3 sensors.") == 2
    assert "|zeta| of RCE against |zeta| of ZMS" in text
    assert text.count("block by block.") == 3
    assert outline.tags.count("svg") == 3 * 9 + 4
    assert text.count("It states the same u in every pair.") == 3
    assert "the primary score is crps" in text
    other = made(file, tmp_path / "other.html", "--profile", "coverage")
    assert "the primary score is quadratic" in other


def test_sensors_are_ranked_among_those_of_their_quantity(tmp_path):
    chance = np.random.default_rng(8)
    lines = ["time,sensor,quantity,value,sigma,reference"]
    spreads = {"mass": (3.0, 9.0), "temperature": (30.0, 10.0)}
    for at in range(60):
        time = f"2026-03-{1 + at // 24:02}T{at % 24:02}:00:00Z"
        for quantity, both in spreads.items():
            for sensor, sd in zip(("one", "other"), both, strict=True):
                lines.append(f"{time},{sensor},{quantity},{sd * chance.normal():.3f},{sd},0")
    file = tmp_path / "errors.csv"
    file.write_text("\n".join(lines) + "\n")
    outline = Outline()
    outline.feed(made(file, tmp_path / "report.html"))
    text = " ".join(outline.text)

    assert "On 60 common events one reads best by the mean interval score" in text
    assert "On 60 common events other reads best by the mean interval score" in text
    assert "Not compared" not in text


def test_a_trial_of_many_pairs_is_said_to_be_of_as_many(tmp_path):
    error = np.random.default_rng(9).normal(size=6000).round(3)
    file = tmp_path / "many.csv"
    file.write_text("value,sigma,reference\n" + "".join(f"{each},1,0\n" for each in error))
    page = made(file, tmp_path / "report.html")

    assert "each chosen on 60 pairs and judged on the 60 after them" in page
    assert "Ranking" not in page
