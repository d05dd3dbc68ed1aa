"""Generated bands and what their names promise."""

from __future__ import annotations

import re
from itertools import pairwise

from monitor.cli import main


def tables_of(page):
    """Return the tables of a page by their titles, each a list of rows (tuples of cells)."""
    found = {}
    for title, body in pairwise(page.split("\n\n")):
        if body.startswith("|"):
            lines = [
                tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
                for line in body.splitlines()
            ]
            found[" ".join(title.split()).removesuffix(":")] = [lines[0], *lines[2:]]
    return found


def made(folder, *words):
    """Return the tables of a run by their titles."""
    assert main(["reproduce", *words, "--out", str(folder)]) == 0
    return tables_of((folder / f"{words[0]}.md").read_text(encoding="utf-8"))


def titled(tables, begin):
    return next(rows for title, rows in tables.items() if title.startswith(begin))


def by_first(rows, width=1):
    """Return the rows below the heads by their first cells."""
    return {row[:width] if width > 1 else row[0]: row[width:] for row in rows[1:]}


def test_generated_bands_rank_as_their_names_say(tmp_path):
    rows = by_first(titled(made(tmp_path, "navratil"), "Areas under the curves"))

    partial = {name: float(row[3]) for name, row in rows.items()}
    assert partial["perfect"] > partial["honest"] > partial["weak"] > partial["shuffled"]
    assert partial["constant"] == 0.0 > partial["shuffled"]
