"""What is printed of two replays."""

from __future__ import annotations

import math
from html.parser import HTMLParser

from monitor.cli import main
from monitor.core.model import Event
from monitor.errors import CANNOT_CREATE
from monitor.extensions.what_if.comparison import comparison_page
from monitor.journal import Batch, Journal
from tests.extensions.what_if.conftest import BEGAN


def test_what_is_printed_names_alerts_figures_and_how_far_back_it_goes(config, capsys):
    assert main(["what-if", "--config", str(config), "--subtract", "5", "--sensor", "high"]) == 0
    shown = capsys.readouterr()

    assert "360 pairs from 2026-02-25 06:13 to 2026-02-25 08:12 UTC" in shown.out
    assert "then: values of high: less 5" in shown.out
    assert "alerts: 2 was, 2 then" in shown.out
    assert "  was: offset 2026-02-25 07:" in shown.out
    assert "2 of 3 series as before" in shown.out
    assert "720 pairs replayed in" in shown.err


def test_a_journal_without_readings_is_said_to_have_pairs_only(config, capsys):
    journal = Journal(config.parent / "journal.sqlite")
    journal.expire(observations_before=math.inf, pairs_before=-math.inf)
    journal.close()

    assert main(["what-if", "--config", str(config)]) == 0
    shown = capsys.readouterr().out
    assert "no reading is held any more, so all pairs stay as they were made" in shown
    assert shown.endswith("3 of 3 series as before\n")


def test_alerts_before_an_event_that_no_pair_follows_are_counted(config, capsys):
    journal = Journal(config.parent / "journal.sqlite")
    journal.append(Batch(events=[Event("high", BEGAN + 1e5, "adjusted")]))
    journal.close()

    assert main(["what-if", "--config", str(config)]) == 0
    shown = capsys.readouterr().out
    assert "alerts: 2 was, 2 then" in shown
    assert "3 of 3 series as before" in shown


def test_the_page_has_the_words_and_figures_that_are_printed(config, capsys, tmp_path):
    page = tmp_path / "page.html"
    options = ["--subtract", "5", "--sensor", "high", "--out", str(page)]
    assert main(["what-if", "--config", str(config), *options]) == 0
    printed = capsys.readouterr().out.partition("journal.sqlite: ")[2].splitlines()

    parser = _Text()
    parser.feed(page.read_text(encoding="utf-8"))
    shown = " ".join(" ".join(parser.texts).split())
    table = printed.index("") + 1
    heads, was, then = (line.split("  ") for line in printed[table : table + 3])
    cells = [cell.strip() for line in (heads, was, then) for cell in line if cell.strip()]
    assert len(cells) == 12 + 13 + 11
    for words in (*printed[: table - 1], *printed[table + 4 :], *cells):
        assert words.strip().removeprefix("was: ").removeprefix("then: ") in shown
    assert parser.outside == []


def test_names_are_escaped_on_the_page_and_a_page_that_cannot_be_written_is_said(config, capsys):
    shown = {"sensor": "<b>a", "quantity": "t", "was": None, "then": None}
    document = {"journal": "j", "pairs": 1, "since": 0.0, "until": 0.0, "held_since": None}
    document |= {"limits": [], "changes": ["x: <i>"], "series": [shown]}
    page = comparison_page(document, "now")
    assert "&lt;b&gt;a" in page
    assert "<b>a" not in page
    assert "<i>" not in page

    options = ["--out", str(config.parent / "no" / "page.html")]
    assert main(["what-if", "--config", str(config), *options]) == CANNOT_CREATE
    assert "cannot be written" in capsys.readouterr().err


class _Text(HTMLParser):
    """The words of a page, and the addresses that it needs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.outside += [to for name, to in attrs if name in {"src", "href"} and to[:1] != "#"]

    def handle_data(self, data):
        self.texts.append(data)
