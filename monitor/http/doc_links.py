"""The pages of the documentation that a sentence names, as links to where the daemon serves them.

Rules of this file: everything else of the sentence is escaped; only pages that there are become
links, whoever wrote the sentence.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from markupsafe import Markup, escape

from monitor import manual

_NAMED: Final = re.compile(r"\bdocs/([a-z0-9/-]+)\.md(#[a-z0-9-]+)?")


def with_links(sentence: str) -> Markup:
    """Return a sentence in which ``docs/pairing.md#no-pairs`` is a link."""
    return Markup(_NAMED.sub(_link, str(escape(sentence))))  # noqa: S704 - it is escaped


def _link(named: re.Match[str]) -> str:
    name, section = named[1], named[2] or ""
    if name not in _names():
        return named[0]
    return f'<a href="/docs/{name}{section}">{named[0]}</a>'


@cache
def _names() -> frozenset[str]:
    return frozenset(manual.page_names())
