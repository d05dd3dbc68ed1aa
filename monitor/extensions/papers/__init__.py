"""The papers' tables and figures, made again: ours beside the printed ones.

`martin`, `pernot` and `navratil` hold a paper each: its printed numbers, as constants
(`printed_tables` has whole tables), the results of the package's own functions, and its drawings
(`paper_figures`). `paper_page` is what they return (sections of text, tables and figures) and its
two forms, for the terminal and as Markdown with SVG files. `data_folder` reads recorded data;
`generated_claims` and `calibrated_sets` generate what can be generated. `written_pages` writes
docs/evidence/figures.md, docs/evidence/images and Table 2 of docs/evidence/papers.md.

Invariants: the same data give the same bytes. Every number comes from the functions that score in
the daemon, none from a formula repeated here. A missing file is a sentence that says what it would
have shown; an unreadable file is an error. The papers' printed numbers are in these constants and
nowhere else.

Considered and rejected: shipping the recorded data (it belongs to others, under other licences);
downloading it (addresses die, and a command that scores should not open connections).

What breaks first: a last digit, if another version of numpy draws or sums differently.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="papers",
    summary="the papers' tables and figures, made again",
    page="evidence/figures.md",
    commands={
        "reproduce": Command(
            "reproduce the tables and figures of the three papers beside the printed ones",
            "monitor.extensions.papers.command",
            "more",
        ),
    },
)
