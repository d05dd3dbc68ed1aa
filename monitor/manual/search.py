"""Sections of the documentation that hold every word of a question."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

from monitor.manual.markdown_pages import headings, markdown_of, page_names

MOST: Final = 20


class Hit(NamedTuple):
    """A section: its page, its anchor, its heading, and the line with most of the words."""

    page: str
    slug: str
    heading: str
    line: str


class _Section(NamedTuple):
    page: str
    slug: str
    heading: str
    lines: tuple[str, ...]


def search(question: str) -> list[Hit]:
    """Return at most ``MOST`` sections that hold all words, those with words in the heading first.

    Case does not matter, and a word may be a part of one: ``pair`` is in ``pairing``.
    """
    words = question.casefold().split()
    hits = []
    for section in _sections() if words else ():
        heading, text = section.heading.casefold(), "\n".join(section.lines).casefold()
        if all(word in text or word in section.page for word in words):
            below = section.lines[1:] or section.lines
            line = max(below, key=lambda line: (_words_in(line.casefold(), words), bool(line)))
            rank = (_words_in(heading, words), sum(map(text.count, words)))
            hits.append((rank, Hit(section.page, section.slug, section.heading, line.strip(" #|"))))
    hits.sort(key=lambda hit: hit[0], reverse=True)
    return [hit for _, hit in hits[:MOST]]


def _words_in(text: str, words: list[str]) -> int:
    return sum(word in text for word in words)


@cache
def _sections() -> tuple[_Section, ...]:
    return tuple(section for name in page_names() for section in _of_page(name))


def _of_page(name: str) -> list[_Section]:
    text = markdown_of(name)
    lines = text.splitlines()
    begins = [*headings(text), (None, len(lines))]
    return [
        _Section(name, heading.slug, heading.text, tuple(lines[line:end]))
        for (heading, line), (_, end) in pairwise(begins)
        if heading is not None
    ]
