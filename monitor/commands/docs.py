"""``monitor docs``: a page of the documentation in the terminal, or all as a site."""

from __future__ import annotations

import argparse
from pathlib import Path

from monitor import manual


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "page",
        nargs="?",
        metavar="PAGE[#SECTION]",
        help="such as troubleshooting, or docs/pairing.md#no-pairs (default: a list of pages)",
    )
    parser.add_argument("--out", metavar="FOLDER", help="write all pages as HTML files")


def run(options: argparse.Namespace) -> int:
    """Print a page, list the pages, or write the site."""
    if options.out:
        count = manual.write_site(Path(options.out))
        print(f"{options.out}: {count} pages; open {Path(options.out) / 'index.html'}")
    elif options.page:
        name, _, slug = options.page.removeprefix("docs/").partition("#")
        name = name.removesuffix(".md")
        print(manual.section(name, slug) if slug else manual.source(name), end="")
    else:
        names = manual.page_names()
        width = max(map(len, names))
        for name in names:
            print(f"{name:<{width}}  {manual.page(name, str).title}")
    return 0
