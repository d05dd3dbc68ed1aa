"""Tables that are not one pair a row, as columns of pairs: one function and one entry a shape.

Rules of this file: a shape takes a table and returns one of the same kind, so that shapes combine
and no reader knows of them; what it does with rows, it says in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import NAN, Float, Int
from monitor.decode.paths import says_no_value
from monitor.decode.time import is_number
from monitor.decode.units import is_understood
from monitor.files.cells import Chunk, Chunks, Coded, as_texts, encoded_column, taken
from monitor.files.input_file import (
    EXPANDED,
    FileError,
    Mistakes,
    column_name,
    is_expanded,
    listing,
)
from monitor.files.layout import FileLayout
from monitor.files.pair_fields import (
    USUAL,
    common_unit,
    fields_of,
    k_in,
    known_column,
    matching,
    plain_name,
    refuse_expanded,
    unit_in,
)

_CLOCK: Final = re.compile(r"\s*\d{1,2}:\d\d(:\d\d(\.\d+)?)?(\s*[AaPp]\.?[Mm]\.?)?\s*")
_KEYS: Final = (
    *("time", "sensor", "quantity", "reference", "reference_id", "reference_event"),
    *("subject", "key", "id", "start", "end"),
)

_STATED: Final = frozenset({"u", "lower", "upper"})
_BESIDE: Final = ("{0}_{1}", "{1}_{0}", "{0}_*")  # what stands beside columns of a pattern


class ShapedTable(NamedTuple):
    """The names of a table's columns, its rows, the columns that are given, and what to say.

    ``usual`` has the columns' usual names by field; ``wide`` is the field that columns stand for
    which are a series each: without one the sensor, or the quantity if there are sensors.
    """

    path: Path
    names: list[str]
    chunks: Chunks
    columns: Mapping[str, str]
    mistakes: Mistakes
    notes: list[str]
    usual: Mapping[str, tuple[str, ...]] = USUAL
    wide: str = ""

    def fields(self) -> dict[str, str]:
        """Return the column of each field; raises FileError."""
        return fields_of(self.path, self.names, self.columns, self.usual)


Shape = Callable[[ShapedTable, FileLayout], ShapedTable]


def shaped(table: ShapedTable, layout: FileLayout) -> ShapedTable:
    """Return a table with one pair in each row; raises FileError."""
    for shape in SHAPES:
        table = shape(table, layout)
    return table


def _selected(table: ShapedTable, layout: FileLayout) -> ShapedTable:
    """Return the rows in which columns have the wanted texts, such as quality codes."""
    if not layout.where:
        return table
    tests = {known_column(table.path, table.names, name): test for name, test in layout.where}

    def chunks(used: Mapping[str, str]) -> Iterator[Chunk]:
        rows = out = 0
        for chunk in table.chunks(dict.fromkeys(tests, "sensor") | dict(used)):
            good = np.ones(len(chunk.lines), dtype=np.bool_)
            for name, passes in tests.items():
                column = encoded_column(as_texts(chunk.cells[name]))
                good &= np.array([*map(passes, column.texts)], dtype=np.bool_)[column.which]
            rows, out = rows + good.size, out + int(np.count_nonzero(~good))
            yield chunk if good.all() else chunk.taken(np.flatnonzero(good))
        if out:
            table.notes.append(f"{table.path}: --where leaves out {out} of {rows} rows")

    return table._replace(chunks=chunks)


def _joined(table: ShapedTable, _layout: FileLayout) -> ShapedTable:
    """Return a table in which a field of several columns, as a date and a clock, has one.

    The last of the columns holds all texts, with blanks between them.
    """
    parts = {
        field: [known_column(table.path, table.names, each) for each in name.split("+")]
        for field, name in table.columns.items()
        if "+" in name and column_name(name) not in table.names
    }
    named = {plain_name(name): name for name in table.names}
    if "time" not in table.columns and {"date", "time"} <= named.keys():
        parts["time"] = [named["date"], named["time"]]
    if not parts:
        return table
    columns = {**table.columns, **{field: names[-1] for field, names in parts.items()}}
    joined = {part for names in parts.values() for part in names[:-1]}

    def chunks(used: Mapping[str, str]) -> Iterator[Chunk]:
        needed = {part: "sensor" for names in parts.values() for part in names}
        for chunk in table.chunks(needed | dict(used)):
            cells = dict(chunk.cells)
            for field, names in parts.items():
                texts = [as_texts(chunk.cells[name]) for name in names]
                if field in table.columns or _CLOCK.fullmatch(next(iter(texts[-1]), "")):
                    cells[names[-1]] = list(map(" ".join, zip(*texts, strict=True)))
            yield Chunk(chunk.lines, cells)

    left = [name for name in table.names if name not in joined]
    return table._replace(names=left, chunks=chunks, columns=columns)


def _divided(table: ShapedTable, layout: FileLayout) -> ShapedTable:
    """Return a table in which a field of ``U/2`` or ``U/k`` has the quotients of its column."""
    parts = {
        field: name.rpartition("/")
        for field, name in table.columns.items()
        if "/" in name and not matching(name, table.names)
    }
    if not parts:
        return table
    named = {field: name.strip() for field, (name, _, _) in parts.items()}
    whole = {
        column: parts[field][2].strip()
        for field, name in named.items()
        for column, _ in matching(name, table.names)
        or [(known_column(table.path, table.names, name), "")]
    }
    by_column = {
        by: known_column(table.path, table.names, by) for by in whole.values() if not is_number(by)
    }

    def chunks(used: Mapping[str, str]) -> Iterator[Chunk]:
        needed = dict.fromkeys([*by_column.values(), *whole], "u")
        for chunk in table.chunks(needed | dict(used)):
            cells = dict(chunk.cells)
            for name, by in whole.items():
                divisor = (
                    _numbers(table, layout, chunk, by_column[by]) if by in by_column else float(by)
                )
                with np.errstate(divide="ignore", invalid="ignore"):  # refused, as all of the kind
                    cells[name] = _numbers(table, layout, chunk, name) / divisor
            yield Chunk(chunk.lines, cells)

    return table._replace(
        chunks=chunks,
        columns={**table.columns, **named},
        names=[name for name in table.names if name not in by_column.values()],
    )


def _numbers(table: ShapedTable, layout: FileLayout, chunk: Chunk, name: str) -> Float:
    """Return a column of some rows as numbers, NaN where it states none."""
    cells = chunk.cells[name]
    if isinstance(cells, np.ndarray):
        return cells
    numbers = np.full(len(chunk.lines), NAN)
    for row, text in enumerate(as_texts(cells)):
        if says_no_value(text):
            continue
        try:
            numbers[row] = layout.number(text)
        except ValueError as error:
            table.mistakes.add(chunk.lines[row], name, str(error))
    return numbers


def _long(table: ShapedTable, layout: FileLayout) -> ShapedTable:
    """Return a table with a column for each name in a column, such as value, u and reference.

    Rows belong together that agree in the columns of time, sensor, quantity and reference.
    """
    if not layout.long:
        return table
    kind, value = (known_column(table.path, table.names, each) for each in layout.long)
    others = [name for name in table.names if name not in (kind, value)]
    given = {field: name for field, name in table.columns.items() if column_name(name) in others}
    named = fields_of(table.path, others, given, table.usual)
    fields = {name: field for field, name in named.items()}
    keys = [name for name, field in fields.items() if field in _KEYS]
    if not keys:
        raise FileError(
            f"{table.path}:1: --long needs a column that tells which rows belong together: name "
            f"its time, sensor or reference with --columns; there are {listing(others)}"
        )
    whole = at_once(
        [*table.chunks({name: name for name in others} | fields | {kind: "sensor", value: value})]
    )
    kinds = encoded_column(as_texts(whole.cells[kind]))
    first, group = _groups([encoded_column(as_texts(whole.cells[name])) for name in keys])
    cells = {name: taken(whole.cells[name], first) for name in others}
    for at, text in enumerate(kinds.texts):
        rows = np.flatnonzero(kinds.which == at)
        _, once = np.unique(group[rows], return_index=True)
        for row in np.delete(rows, once).tolist():
            fault = (
                f"is a second {text!r} of one {' and '.join(keys)}; tell them apart by --columns"
            )
            table.mistakes.add(whole.lines[row], value, fault)
        cells[column_name(text)] = _filled(whole.cells[value], rows[once], group, first.size)
    lines = [whole.lines[row] for row in first.tolist()]
    return table._replace(names=[*cells], chunks=lambda _used: iter([Chunk(lines, cells)]))


def at_once(chunks: Sequence[Chunk]) -> Chunk:
    """Return chunks as one."""
    lines = [line for chunk in chunks for line in chunk.lines]
    cells: dict[str, Sequence[str] | Float] = {}
    for name in chunks[0].cells if chunks else ():
        parts = [chunk.cells[name] for chunk in chunks]
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        cells[name] = (
            np.concatenate(arrays) if arrays else [text for part in parts for text in part]
        )
    return Chunk(lines, cells)


def _groups(columns: Sequence[Coded]) -> tuple[Int, Int]:
    """Return the first row of each group that agrees in all columns, and the group of each row."""
    code = columns[0].which
    for column in columns[1:]:
        _, code = np.unique(code * len(column.texts) + column.which, return_inverse=True)
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[group]


def _filled(
    values: Sequence[str] | Float, rows: Int, group: Int, size: int
) -> Sequence[str] | Float:
    """Return the values of some rows at the places of their groups."""
    if isinstance(values, np.ndarray):
        numbers = np.full(size, NAN)
        numbers[group[rows]] = values[rows]
        return numbers
    texts = [""] * size
    for row, place in zip(rows.tolist(), group[rows].tolist(), strict=True):
        texts[place] = values[row]
    return texts


def _wide(table: ShapedTable, layout: FileLayout) -> ShapedTable:
    """Return a table with a row for each of the columns that stand for sensors.

    In the names of other columns, ``*`` stands for what it stands for in the sensor's. What sensors
    ``s*`` state is also found in columns such as u_s1, s1_u or u_1. Where the table has a column of
    sensors, the columns are quantities.
    """
    if not layout.wide:
        return table
    starred = {field: name for field, name in table.columns.items() if "*" in name}
    plain = {field: name for field, name in table.columns.items() if field not in starred}
    fields = fields_of(table.path, table.names, plain, table.usual)
    written = table.mistakes.written_name
    sources = _sources(table, layout.wide, fields, starred)
    for source in sources.values():
        _refuse_units(table, {"reference": fields.get("reference", "")} | source)
    taken_up = {column for source in sources.values() for column in source.values()}
    stated = {field for source in sources.values() for field in source}
    label = table.wide or ("quantity" if "sensor" in fields else "sensor")
    usual_unit = unit_in(written(fields.get("reference", "")))
    made = {label, "unit", *stated}
    others = [name for name in table.names if name not in taken_up | made]

    def chunks(used: Mapping[str, str]) -> Iterator[Chunk]:
        rest = {name: field for name, field in used.items() if name not in made}
        needed = {name: field for source in sources.values() for field, name in source.items()}
        for chunk in table.chunks(rest | needed):
            zeros = np.zeros(len(chunk.lines), dtype=np.int64)
            nothing = np.full(len(chunk.lines), NAN)
            for name, source in sources.items():
                texts = {label: written(name), "unit": usual_unit}
                if unit := unit_in(texts[label]):
                    texts = {label: plain_name(texts[label]), "unit": unit}
                cells = {each: chunk.cells[each] for each in rest} | dict.fromkeys(stated, nothing)
                cells |= {field: chunk.cells[column] for field, column in source.items()}
                cells |= {field: Coded(zeros, [text]) for field, text in texts.items()}
                yield Chunk(chunk.lines, cells)

    return table._replace(names=[*others, *sorted(made)], chunks=chunks, columns=plain)


def _sources(
    table: ShapedTable,
    wide: Sequence[str],
    fields: Mapping[str, str],
    starred: Mapping[str, str],
) -> dict[str, dict[str, str]]:
    """Return by the column of each sensor the columns of its fields; raises FileError."""
    fits = {
        column_name(pattern): {
            name: star
            for name, star in matching(pattern, table.names)
            if name not in fields.values()
        }
        for pattern in wide
    }
    stars = {name: star for fit in fits.values() for name, star in fit.items()}
    if not stars:
        raise FileError(
            f"{table.path}:1: no column is one of --wide {','.join(wide)}; there are "
            f"{listing(table.names)}"
        )
    sources = {
        name: {field: column_name(form).replace("*", star) for field, form in starred.items()}
        for name, star in stars.items()
    }
    # Of two sensors for which * stands alike, the form without their names says nothing.
    forms = _BESIDE if len({*stars.values()}) == len(stars) else _BESIDE[:-1]
    for field in sorted((_STATED & table.usual.keys()) - fields.keys() - starred.keys()):
        for pattern, fit in fits.items():
            if form := _beside(table, field, plain_name(pattern), forms, fit):
                for name, star in fit.items():
                    sources[name][field] = form.replace("*", star)
    plain = {plain_name(name): name for name in table.names} | {name: name for name in table.names}
    beside = {plain.get(each, each) for source in sources.values() for each in source.values()}
    return {
        name: {
            field: known_column(table.path, table.names, each)
            for field, each in {"value": name, **source}.items()
        }
        for name, source in sources.items()
        if name not in beside
    }


def _beside(
    table: ShapedTable, field: str, pattern: str, forms: Sequence[str], fit: Mapping[str, str]
) -> str:
    """Return the form of the columns that state a field of some sensors, empty if there are none.

    ``fit`` has what ``*`` stands for in the column of each. Raises FileError for expanded
    uncertainties.
    """
    names = {plain_name(name): name for name in table.names}
    expanded: dict[str, str] = {}
    for each in forms:
        form = each.format(field, pattern)
        columns = {form.replace("*", star): plain_name(name) for name, star in fit.items()}
        stated = [names[column] for column in columns if column in names]
        if not stated or any(column == name for column, name in columns.items()):
            continue
        written = table.mistakes.written_name(stated[0])
        if field != "u" or not is_expanded(written):
            return form
        expanded.setdefault(written, each.format(EXPANDED, pattern))
    for written, form in expanded.items():
        refuse_expanded(table.path, written, field, form, k_in(written))
    return ""


def _refuse_units(table: ShapedTable, source: Mapping[str, str]) -> None:
    """Raise FileError where the columns of a sensor are in two units."""
    written = {field: table.mistakes.written_name(name) for field, name in source.items() if name}
    common_unit(
        table.path,
        {
            field: name if (unit := unit_in(name)) and is_understood(unit) else plain_name(name)
            for field, name in written.items()
        },
    )


# In this order: rows are chosen before columns are made of them.
SHAPES: Final[tuple[Shape, ...]] = (_selected, _joined, _long, _divided, _wide)
