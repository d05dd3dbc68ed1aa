"""``monitor report``: one page that needs nothing else and repeats to the byte but for its date."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from monitor.cli import main
from monitor.core.pairing.series_rules import SeriesRules
from monitor.report.recorded import read


class Outline(HTMLParser):
    """Collects what a page is made of, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "action", "srcset") and not (value or "").startswith("#"):
                self.fetched.append(value or "")

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    chance = np.random.default_rng(5)
    lines = ["time,sensor,quantity,value,sigma,reference,unit"]
    for at in range(150):
        truth = chance.normal(500.0, 40.0)
        for sensor, bias in (("heavy", 9.0), ("honest", 0.0)):
            value = truth + bias + 5.0 * chance.normal()
            time = f"2026-03-{1 + at // 24:02}T{at % 24:02}:00:00Z"
            lines.append(f"{time},{sensor},mass,{value:.3f},5,{truth:.3f},kg")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def made(file: Path, out: Path, *more: str) -> str:
    assert main(["report", str(file), "--out", str(out), *more]) == 0
    return out.read_text(encoding="utf-8")


def test_a_page_says_what_is_wrong_and_draws_it(pairs, tmp_path, capsys):
    page = made(pairs, tmp_path / "report.html")
    outline = Outline()
    outline.feed(page)
    text = " ".join(outline.text)

    assert "2 series, 300 pairs" in capsys.readouterr().err
    assert re.search(r"heavy reads (8|9|10)(\.\d)? kg heavy", text)
    assert re.search(r"honest: (right within|no fault found yet|may be wrong)", text)
    assert "The daemon would have raised" in text
    assert outline.tags.count("svg") == 2 * 9
    assert "150 events that all of them saw" in text
    assert text.index("honest", text.index("Ranking")) < text.index("heavy", text.index("Ranking"))
    assert "each chosen on 50 pairs and judged on the 50 after them" in text
    recorded = read(pairs, SeriesRules(level=0.9))
    assert hashlib.sha256(recorded.pairs.tobytes()).hexdigest() in text


def test_a_file_without_times_is_given_no_dates(pairs, tmp_path, capsys):
    lines = [line.partition(",")[2] for line in pairs.read_text().splitlines()]
    pairs.write_text("\n".join(lines) + "\n")
    page = made(pairs, tmp_path / "report.html")
    drawn = re.sub(r"<code>.*?</code>", "", page.partition("<main")[2])
    capsys.readouterr()
    assert main(["score", str(pairs), "--json", "--blocks", "3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert main(["score", str(pairs), "--blocks", "3"]) == 0

    assert drawn.count("pair, in order of the file") == 2 * 4
    assert "1970" not in drawn
    assert "UTC" not in drawn
    blocks = document["series"][0]["blocks"]
    assert [(each["since"], each["until"]) for each in blocks] == [(None, None)] * 3
    assert "1970" not in capsys.readouterr().out


def test_a_page_fetches_nothing_and_runs_nothing(pairs, tmp_path):
    outline = Outline()
    outline.feed(made(pairs, tmp_path / "report.html"))

    assert outline.fetched == []
    assert not {"script", "iframe", "object", "embed", "img", "link"} & set(outline.tags)


def test_a_page_repeats_but_for_the_line_with_its_date(pairs, tmp_path):
    pages = [made(pairs, tmp_path / name).splitlines() for name in ("one.html", "two.html")]

    without = [[line for line in page if 'id="date"' not in line] for page in pages]
    assert without[0] == without[1]
    assert all(len(page) == len(each) + 1 for page, each in zip(pages, without, strict=True))
    other = made(pairs, tmp_path / "three.html", "--alpha", "0.05").splitlines()
    assert [line for line in other if 'id="date"' not in line] != without[0]


def test_names_of_files_are_words_and_nothing_else(pairs, tmp_path):
    hostile = tmp_path / "<script>alert(1)<&'\".csv"
    hostile.write_text(pairs.read_text())
    outline = Outline()
    outline.feed(made(hostile, tmp_path / "report.html"))

    assert "script" not in outline.tags
    assert any("<script>alert(1)" in text for text in outline.text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--out", "/nowhere/report.html"], "cannot be written"),
        (["--out", "report.html", "--alpha", "1"], "between 0 and 1"),
    ],
)
def test_what_cannot_be_done_is_said(pairs, tmp_path, monkeypatch, capsys, arguments, says):
    monkeypatch.chdir(tmp_path)

    assert main(["report", str(pairs), *arguments]) != 0
    assert says in capsys.readouterr().err
