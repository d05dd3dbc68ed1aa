"""Writes docs/evidence/figures.md with its figures, and Table 2 of docs/evidence/papers.md.

    python -m monitor.extensions.papers.written_pages [FOLDER]

FOLDER holds the recorded data, ``../shared/data`` beside the project by default.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from monitor.extensions.papers import martin, navratil, pernot
from monitor.extensions.papers.data_folder import DataFolder
from monitor.extensions.papers.paper_page import (
    PaperSection,
    PaperTable,
    Reproduction,
    sections,
    table_lines,
)

PROJECT: Final = Path(__file__).parents[3]
DATA: Final = PROJECT.parent / "shared" / "data"
IMAGES: Final = PROJECT / "docs" / "evidence" / "images"
FIGURES: Final = PROJECT / "docs" / "evidence" / "figures.md"
PAPERS: Final = PROJECT / "docs" / "evidence" / "papers.md"
BEGIN: Final = "<!-- table 2: begin -->\n"
END: Final = "<!-- table 2: end -->\n"
_INTRODUCTION: Final = """# The tables and figures of the papers

Written by `python -m monitor.extensions.papers.written_pages`, as `monitor reproduce` makes them
with the functions that score and draw in the daemon, the same bytes each time; do not edit. Rows
are those of [papers.md](papers.md).

```sh
monitor reproduce martin
monitor reproduce pernot --sets 200
monitor reproduce navratil --cost 0.2 --out reproduced
```

What can be generated is. Recorded data are other people's and are read from a folder,
`--data FOLDER`; the command says which file it misses and what that would have shown. The files
are CSV, gzipped or not:
"""
_PERNOT: Final = (
    "github.com/ppernot/2024_RCE, Data/PAL2022, calibrated test sets of Diffusion_RF, "
    "Perovskite_RF, Diffusion_LR, Perovskite_LR, Diffusion_GPR_Bayesian and "
    "Perovskite_GPR_Bayesian, rows with u above 1e-6 of the errors' standard deviation; set 7: "
    "Data/BUS2022, qm9_qm9_E_calibrated_isotonic_test, u the root of uncertainty_total; sets 8 and "
    "9: Data/RAS2023, logP_10k_a_LS-GCN_test and logP_150k_LS-GCN_test. Sets 1 to 5 are shown here"
)
_FILES: Final = (
    (
        "pernot_set1.csv to pernot_set9.csv",
        "value, sigma, reference: 0, u and error",
        _PERNOT,
    ),
    (
        "ucc_sample.csv",
        "value, lower, upper, reference",
        "github.com/IBM/UQ360, examples/ucc_metric/sample_predict.pkl",
    ),
    (
        "wine_gbr.csv",
        "value, lower, upper, reference",
        "predictions of UCI's white wine quality with 90 % intervals, asymmetric",
    ),
    (
        "seed000_fig1.csv, seed000_fig2.csv",
        "claims, and the exact values of their scores",
        "the formulas of Martin et al.",
    ),
)
_LINKED: Final = "Table 2 is in [papers.md](papers.md#table-2-of-b-beside-ours)."


def reproductions(data: Path | None) -> dict[str, Reproduction]:
    """Return the reproductions of all three papers, by letter, for the pages."""
    return {
        "A": martin.reproduce(DataFolder(data)),
        "B": pernot.reproduce(DataFolder(data), pernot.SetsAsked()),
        "C": navratil.reproduce(DataFolder(data)),
    }


def figures_page(made: dict[str, Reproduction]) -> str:
    """Return docs/evidence/figures.md."""
    lines = [
        line
        for letter, paper in made.items()
        for line in (
            f"## {letter}: {paper.title}",
            "",
            *sections([_linked(each) for each in paper.sections], "images/", level=3),
        )
    ]
    files = table_lines(("file", "columns", "from"), _FILES)
    return "\n".join([_INTRODUCTION, *files, "", *lines]).rstrip("\n") + "\n"


def table_2(made: Reproduction) -> list[str]:
    """Return Table 2 as lines of Markdown, for the paper's sets only."""
    table = next(
        part
        for section in made.sections
        for part in section.parts
        if isinstance(part, PaperTable) and part.title == pernot.TABLE_2
    )
    return table_lines(table.heads, [row for row in table.rows if row[0].startswith("set ")])


def between_marks(page: str, lines: Sequence[str]) -> str:
    """Return the page with ``lines`` between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + rest.split(END)[1]


def paper_drawings(made: dict[str, Reproduction]) -> Iterator[tuple[str, str]]:
    """Yield the figures' names and drawings."""
    for paper in made.values():
        yield from ((figure.name, figure.drawing) for figure in paper.figures)


def _linked(section: PaperSection) -> PaperSection:
    """Return a section with a link in place of Table 2."""
    return section._replace(
        parts=tuple(
            _LINKED if isinstance(part, PaperTable) and part.title == pernot.TABLE_2 else part
            for part in section.parts
        )
    )


def write_pages(data: Path) -> None:
    """Write pages and figures."""
    made = reproductions(data)
    for name, drawing in paper_drawings(made):
        (IMAGES / name).write_text(drawing, encoding="utf-8")
    FIGURES.write_text(figures_page(made), encoding="utf-8")
    papers = PAPERS.read_text(encoding="utf-8")
    PAPERS.write_text(between_marks(papers, table_2(made["B"])), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
