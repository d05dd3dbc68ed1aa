"""The documentation for installed copies: pages of docs/ as HTML and in the terminal.

The pages are the Markdown files of ``docs/`` itself, ``index`` first; the wheel carries them. What
stands in folders of ``docs/`` (evidence, decisions, notebooks) is for reviewers and only in the
source: a link to it is shown as text. The daemon serves the pages at ``/docs``, ``monitor docs
PAGE`` prints one, ``monitor docs --out FOLDER`` writes a site. All three use one rendering; only
the targets of links differ. Site and daemon have the same for language models, as ``llms.txt``.

Invariants: a link to a page or section that is not there is an error of the site
(:class:`BrokenLinkError`), not of the reader. Nothing in a page runs: HTML in the Markdown is
dropped, and there are no scripts.

Considered and rejected: a site generator (MkDocs, Sphinx): the daemon must serve the same pages
without a network, in its own style.
"""

from __future__ import annotations

from monitor.manual.markdown_pages import (
    BrokenLinkError,
    ManualPage,
    PageMissingError,
    image,
    model_texts,
    page,
    page_names,
    section,
    source,
    write_site,
)
from monitor.manual.search import Hit, search

__all__ = [
    "BrokenLinkError",
    "Hit",
    "ManualPage",
    "PageMissingError",
    "image",
    "model_texts",
    "page",
    "page_names",
    "search",
    "section",
    "source",
    "write_site",
]
