"""The documentation as the tests read it: its links, its headings, and its blocks of commands.

A comment before a block says how it is run, where that is not simply in its order, to end with 0:

    <!-- test: background -->                       a daemon; the next block waits until it is ready
    <!-- test: ends with 1 -->                      the exit code
    <!-- test: repeated until it ends with 0 -->    what it waits for takes a moment
    <!-- test: not run, REASON -->                  its commands are only checked
    <!-- test: file NAME -->                        no command, but a file beside the page

A block of YAML whose first line is ``# NAME.yaml`` is a file, too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).parents[2]
PAGES: Final = [
    *(
        PROJECT / name
        for name in (
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
        )
    ),
    *sorted((PROJECT / "docs").rglob("*.md")),
]
_BLOCK: Final = re.compile(r"(?ms)(?:^<!-- test: ([^\n]*?) -->\n)?^```(\w*)\n(.*?)^```$")
_STOPS: Final = frozenset(("|", "||", "&&", ";", "&", ">", ">>", "<"))


class Block(NamedTuple):
    """A block of a page: ``how`` it is run, its language and its text."""

    how: str
    language: str
    text: str

    @property
    def file(self) -> str:
        """Return the name of the file that the block is, empty if it is none."""
        if self.how.startswith("file "):
            return self.how.removeprefix("file ")
        named = re.match(r"# (\S+\.yaml)\n", self.text) if self.language == "yaml" else None
        return named[1] if named else ""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in their order."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Block(*each) for each in found]


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, without what it is piped or written to."""
    for line in re.sub(r"\$\([^)]*\)", "told", script.replace("\\\n", " ")).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in lexer:
            if word in _STOPS:
                if words:
                    yield words
                words = []
            else:
                words.append(word)
        if words:
            yield words


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the names of the headings of a page, as GitHub makes them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    return frozenset(
        re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings
    )


def links(page: Path) -> list[str]:
    """Return the targets of the links and pictures of a page that are no web addresses."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [each for each in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in each]
