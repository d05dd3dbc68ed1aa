"""The page of a reproduction: sections of text, tables and figures; for a terminal, as Markdown.

Rules of this file: words and numbers come in as text. Prose is one string per paragraph and is
wrapped here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from monitor.core.formatting import aligned
from monitor.errors import CannotWriteError

_TERMINAL: Final = 100
_PAGE: Final = 120


class PaperTable(NamedTuple):
    """A table: its title, its heads, and its rows of as many cells."""

    title: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class PaperFigure(NamedTuple):
    """A figure: its file's name, its caption, and the self-contained SVG."""

    name: str
    title: str
    drawing: str


# A string is a paragraph.
Part = str | PaperTable | PaperFigure


class PaperSection(NamedTuple):
    """A heading with its parts."""

    title: str
    parts: tuple[Part, ...]


class Reproduction(NamedTuple):
    """A paper made again; ``left_out`` says in sentences what was not available."""

    title: str
    sections: tuple[PaperSection, ...]
    left_out: tuple[str, ...] = ()

    @property
    def figures(self) -> Iterator[PaperFigure]:
        """All figures, in order."""
        return (
            part for each in self.sections for part in each.parts if isinstance(part, PaperFigure)
        )


def terminal(made: Reproduction) -> Iterator[str]:
    """Yield the lines of a reproduction for a terminal; figures appear by name."""
    yield from (made.title, "=" * len(made.title))
    for section in made.sections:
        yield from ("", section.title, "-" * len(section.title))
        for part in section.parts:
            yield ""
            if isinstance(part, PaperTable):
                yield part.title
                yield from aligned([part.heads, *part.rows])
            elif isinstance(part, PaperFigure):
                yield f"[{part.name}: {part.title}]"
            else:
                yield from textwrap.wrap(part, _TERMINAL, break_on_hyphens=False)
    for sentence in made.left_out:
        yield ""
        yield from textwrap.wrap(sentence, _TERMINAL, break_on_hyphens=False)


def paper_markdown(made: Reproduction) -> str:
    """Return a reproduction as a Markdown page whose figures lie beside it."""
    lines = [f"# {made.title}", "", *sections(made.sections, "")]
    if made.left_out:
        lines += ["## Left out", "", *(f"{_wrapped(each)}\n" for each in made.left_out)]
    return "\n".join(lines).rstrip("\n") + "\n"


def sections(parts: Sequence[PaperSection], folder: str, level: int = 2) -> Iterator[str]:
    """Yield sections as lines of Markdown; the figures lie in ``folder`` (with its slash)."""
    for section in parts:
        yield from (f"{'#' * level} {section.title}", "")
        for part in section.parts:
            if isinstance(part, PaperTable):
                yield from (_wrapped(f"{part.title}:"), "", *table_lines(part.heads, part.rows))
            elif isinstance(part, PaperFigure):
                yield f"![{part.title}]({folder}{part.name})"
            else:
                yield _wrapped(part)
            yield ""


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown."""
    lines = [_row(heads), "|---" * len(heads) + "|"]
    return lines + [_row(row) for row in rows]


def write_paper(made: Reproduction, name: str, folder: Path) -> list[Path]:
    """Write page and figures into ``folder``, created if missing, and return their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.md"]
        paths[0].write_text(paper_markdown(made), encoding="utf-8")
        for figure in made.figures:
            paths.append(folder / figure.name)
            paths[-1].write_text(figure.drawing, encoding="utf-8")
    except OSError as error:
        raise CannotWriteError(
            f"--out {folder}: cannot be written: {error.strerror}; name a folder you may write to"
        ) from error
    return paths


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, _PAGE, break_long_words=False, break_on_hyphens=False)
