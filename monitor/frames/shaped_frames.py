"""A frame of another shape than one pair a row, by the shapes of files (`monitor.files.shapes`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import narwhals.stable.v1 as nw
import numpy as np

from monitor.core.model import Float
from monitor.files.cells import Chunk
from monitor.files.input_file import Mistakes, cell_text, column_name
from monitor.files.layout import FileLayout
from monitor.files.shapes import ShapedTable, at_once, shaped

FRAME: Final = Path("the frame")


class FrameMistakes(Mistakes):
    """The mistakes of a frame: each names its column and row."""

    row = "row"

    def __init__(self) -> None:
        super().__init__(FRAME)

    def place(self, line: int, column: str) -> str:
        """Return where a mistake is."""
        return f"column {column!r}, row {line}"

    def label(self) -> str:
        """Return nothing: there is one frame."""
        return ""


def texts_of(table: Any, name: str) -> list[str]:  # noqa: ANN401
    """Return a column as the texts that a file would have."""
    return [cell_text(each) for each in table[name].to_list()]


def shaped_frame(
    table: Any,  # noqa: ANN401 - of narwhals
    columns: dict[str, str],
    layout: FileLayout,
    mistakes: Mistakes,
) -> tuple[Any, list[str]]:
    """Return a frame with one pair in each row, and what to say; raises FileError."""
    names = [*map(column_name, table.columns)]
    mistakes.written = dict(zip(names, table.columns, strict=True))
    chunk = Chunk(range(len(table)), {n: _cells(table, m) for n, m in mistakes.written.items()})
    source = ShapedTable(FRAME, names, lambda _used: iter([chunk]), columns, mistakes, [])
    result = shaped(source, layout)
    whole = at_once([*result.chunks({name: name for name in result.names})])
    cells = {
        mistakes.written.get(name, name): [*each] if not isinstance(each, np.ndarray) else each
        for name, each in whole.cells.items()
    }
    space = nw.get_native_namespace(table)
    return nw.from_dict(cells, native_namespace=space), result.notes


def _cells(table: Any, name: str) -> Sequence[Any] | Float:  # noqa: ANN401
    column = table[name]
    if column.dtype.is_numeric():
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    gone = column.is_null().to_list()
    return ["" if none else each for each, none in zip(column.to_list(), gone, strict=True)]
