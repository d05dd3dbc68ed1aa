"""The options of a station are written to a recipe once, and taken from it ever after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.cli import main
from monitor.errors import USAGE

TABLE = "Stand: 1;;\nZeit;Ort;Wert [µg/m³]\n01.03.2026 05:00;Süd;1.021,5\n"
OPTIONS = (
    *("--columns", 'time=1,subject=Ort,value="Wert [µg/m³]"', "--quantity", "pm10"),
    *("--time-zone", "UTC", "--time-format", "%d.%m.%Y %H:%M", "--skip-lines", "1"),
    *("--decimal-comma", "--encoding", "cp1252", "--duration", "1h", "--stamp", "end"),
    *("--u", "5", "--config", "monitor.yaml"),
)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "monitor.yaml").write_text("mqtt: {port: 1}\n")
    (tmp_path / "station.csv").write_bytes(TABLE.encode("cp1252"))
    (tmp_path / "recipes").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words: str) -> list[str]:
    assert main(["reference", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_a_recipe_holds_all_options_and_each_may_be_replaced(folder, capsys, monkeypatch):
    plain = told(capsys, "station.csv", "--dry-run", *OPTIONS)
    assert told(capsys, "--save-recipe", "recipes/süd.yaml", *OPTIONS) == []
    assert '"value":1021.5' in plain[0]

    assert told(capsys, "--recipe", "recipes/süd.yaml", "station.csv", "--dry-run") == plain
    monkeypatch.chdir(folder / "recipes")  # its files are where they were
    (again,) = told(capsys, "--recipe", "süd.yaml", "../station.csv", "--dry-run", "--u", "7")
    assert json.loads(again.split(" ", 1)[1])["u"] == 7.0


def test_a_recipe_may_be_written_by_hand(folder, capsys):
    Path("r.yaml").write_text(
        "columns: time=Zeit,subject=Ort,value=3\nquantity: pm10\nskip_lines: 1\nu: 5\n"
        "time_zone: UTC\ntime_format: auto\nencoding: cp1252\ndecimal_comma: true\n"
        "duration: 1h\nstamp: end\nconfig: monitor.yaml\n"
    )
    Path("station.csv").write_bytes(TABLE.replace("01.03", "28.02").encode("cp1252"))

    plain = told(capsys, "station.csv", "--dry-run", *OPTIONS)
    assert told(capsys, "--recipe", "r.yaml", "station.csv", "--dry-run") == plain


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        (
            "u: 5\ncolums: a\n",
            "r.yaml:2:1: colums: is no option of a recipe; did you mean columns",
        ),
        ("decimal_comma: yes\n", "r.yaml:1:1: decimal_comma: must be true or false"),
        ("quantity: [a]\n", "r.yaml:1:1: quantity: must be a text"),
        ("a: {\n", "r.yaml:2:1"),
        ("u: 5\n", "give the settings file as --config FILE"),
        ("config: monitor.yaml\nduration: 1h\n", "--duration and --stamp belong together"),
        (None, "r.yaml: cannot be read: No such file"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_recipe_that_cannot_be_used_is_refused_with_the_place(capsys, recipe, says):
    if recipe is not None:
        Path("r.yaml").write_text(recipe)
    assert main(["reference", "--recipe", "r.yaml", "station.csv", "--dry-run"]) == USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--save-recipe", "monitor.yaml"], "monitor.yaml: is there already"),
        (["--save-recipe", "none/r.yaml"], "none/r.yaml: cannot be written"),
        (["--save-recipe", "r.yaml", "--stamp", "end"], "--duration and --stamp"),
        (["--watch", "recipes"], "--watch FOLDER needs --recipe FILE"),
        (["--save-recipe", "r.yaml", "--watch", "none"], "--watch none: is no folder"),
    ],
)
def test_what_cannot_be_meant_is_refused(folder, capsys, words, says):
    assert main(["reference", "--config", "monitor.yaml", *words]) == USAGE
    assert says in capsys.readouterr().err
    assert (folder / "r.yaml").exists() is ("none" in words)
