"""Searching the documentation: every word, headings first, in the terminal and at /docs."""

from __future__ import annotations

import pytest

from monitor import manual
from monitor.cli import main


@pytest.mark.parametrize(
    ("question", "page", "slug"),
    [
        ("no pairs", "pairing", "no-pairs"),
        ("MONITORDRIFT", "alerts", "monitordrift"),
        ("sparkplug", "formats", "sparkplug"),
        ("json api", "outlets", "json-api"),
    ],
)
def test_the_section_of_that_name_comes_first(question, page, slug):
    assert manual.search(question)[0][:2] == (page, slug)


def test_every_hit_is_a_section_that_holds_all_words_and_shows_a_line_of_it():
    hits = manual.search("restart journal")

    assert hits
    for hit in hits:
        text = manual.section(hit.page, hit.slug).casefold()
        assert all(word in text + hit.page for word in ("restart", "journal"))
        assert hit.line.casefold() in text


def test_a_question_without_words_or_with_an_unknown_one_has_no_hits():
    assert manual.search("  ") == manual.search("drift zzyzx") == []


def test_the_terminal_lists_places_that_it_can_print(capsys):
    assert main(["docs", "--search", "no pairs"]) == 0
    place = capsys.readouterr().out.splitlines()[0]

    assert main(["docs", place]) == 0
    assert capsys.readouterr().out.startswith("## No pairs")


def test_the_terminal_says_that_no_section_holds_the_words(capsys):
    assert main(["docs", "--search", "zzyzx"]) != 0

    assert "no section holds all words of 'zzyzx'" in capsys.readouterr().err
