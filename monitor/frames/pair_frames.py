"""A frame of pairs as the table of pairs that a file becomes.

Rules of this file: a column that is named must exist; for the others, a column with the usual name
is taken if there is one. Numbers are numbers and times have a zone: the only texts that are parsed
are times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from monitor.core.model import NAN, Float, Int
from monitor.decode.checks import TIME_END, TIME_MIN, VALUE_MAX
from monitor.decode.time import divisors
from monitor.decode.units import is_same_unit
from monitor.errors import USAGE, MonitorError
from monitor.files import PairTable, pair_fields
from monitor.files.distributions import CRPS, Claims
from monitor.files.input_file import (
    EXPANDED,
    FileError,
    Mistakes,
    all_seconds,
    column_name,
    is_expanded,
    listing,
    seconds,
)
from monitor.files.layout import FileLayout, LayoutError, early_times, with_shape
from monitor.files.pair_checks import (
    left_out,
    most_lacking,
    row_faults,
    rows_lacking,
    value_or_middle,
)
from monitor.files.pair_fields import MEMBERS, QUANTILES, k_in, shape_hint
from monitor.files.paired_columns import (
    CATEGORIES_MOST,
    NameNumbers,
    numbered,
    too_many_categories,
)
from monitor.frames.shaped_frames import FRAME, FrameMistakes, shaped_frame, texts_of

# Usual names of columns whose argument is not given.
USUAL: Final = {**pair_fields.USUAL, "by": pair_fields.USUAL["sensor"]}
_NUMBERS: Final = ("value", "reference", "u", "lower", "upper", "p", "alpha", "u_reference")
_UNIT: Final = "unit"
_SHAPE: Final = {"wide", "long", "where", "assume_u", MEMBERS, QUANTILES}
_OPTION: Final = re.compile(r"--([\w-]+)[ =]?")
_NAMES_MOST: Final = 8  # columns that identify a sensor; a longer list is data


class FrameError(MonitorError, ValueError):
    """A frame cannot be read as pairs; the message says which column, which row and what to do."""

    exit_code = USAGE


def refuse_share(name: str, number: float) -> None:
    """Raise FrameError for an argument that is no probability."""
    if not 0.0 < number < 1.0:
        raise FrameError(f"{name}={number}: must lie between 0 and 1, such as 0.9")


class PairColumns(NamedTuple):
    """Names of a frame's columns, None for the usual name; ``by`` may name several columns."""

    value: str = "value"
    reference: str = "reference"
    u: str | None = None
    lower: str | None = None
    upper: str | None = None
    p: str | None = None
    alpha: str | None = None
    u_reference: str | None = None
    time: str | None = None
    by: str | Sequence[str] | None = None
    quantity: str | None = None
    reference_id: str | None = None
    reference_event: str | None = None


Column = Any  # the name of a column, or an array; ``by`` may be several names
_LIBRARIES: Final = ("pandas", "polars", "pyarrow")


def given_frame(data: Any, *columns: Column, **named: Column) -> tuple[Any, PairColumns]:  # noqa: ANN401
    """Return data as a frame, with the names of its columns; raises FrameError.

    Arrays among ``columns`` (those of :class:`PairColumns`), and ``data`` that is an array of
    values, become columns of the frame under the usual names.
    """
    parts = PairColumns(*columns, **named)._asdict()
    arrays = {part: given for part, given in parts.items() if _is_array(given, part)}
    if hasattr(data, "data_vars"):  # a dataset of xarray, which brings pandas
        data = data.to_dataframe().reset_index()
    if not arrays and not isinstance(data, dict):
        return data, PairColumns(**parts)
    if _is_array(data, "value"):
        data, parts["value"] = {"value": data}, "value"
    names = {part: "sensor" if part == "by" else part for part in arrays}
    new = {names[part]: each for part, each in arrays.items()}
    if isinstance(data, dict):
        return _of_arrays(data | new), PairColumns(**{**parts, **names})
    table = _wrapped(data)
    refuse_other_order({"the frame": data} | new)
    whole = _for_each_pair({name: array_of(each) for name, each in new.items()}, len(table))
    space = nw.get_native_namespace(table)
    made = [nw.new_series(name, each, native_namespace=space) for name, each in whole.items()]
    return table.with_columns(*made).to_native(), PairColumns(**{**parts, **names})


def array_of(given: Any) -> np.ndarray:  # noqa: ANN401 - what NumPy reads
    """Return what is given as an array, NaN where a mask leaves a number out."""
    if isinstance(given, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(given.astype(np.float64), NAN))
    return np.asarray(given)


def _is_array(given: Column, part: str) -> bool:
    """Return whether an argument holds data, and is no name or list of names."""
    if given is None or isinstance(given, str | dict) or hasattr(given, "columns"):
        return False
    is_names = part == "by" and isinstance(given, list | tuple) and len(given) <= _NAMES_MOST
    return not (is_names and all(isinstance(each, str) for each in given))


def _of_arrays(columns: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return arrays of equal length as a frame of a library that is installed."""
    refuse_other_order(columns)
    arrays = {name: array_of(each) for name, each in columns.items()}
    rows = max((each.size for each in arrays.values() if each.ndim), default=1)
    whole = _for_each_pair(arrays, rows)
    library = next((name for name in _LIBRARIES if find_spec(name)), None)
    if library is None:
        raise FrameError("arrays need pandas, Polars or Arrow: pip install pandas")
    return nw.from_dict(whole, native_namespace=import_module(library)).to_native()


def _for_each_pair(arrays: Mapping[str, np.ndarray], rows: int) -> dict[str, np.ndarray]:
    """Return arrays with a number for each pair, as a single one counts for all."""
    for name, each in arrays.items():
        if each.ndim > 1 or (each.ndim and each.size != rows):
            raise FrameError(
                f"{name!r} has the shape {each.shape}; pass one number for each of {rows} pairs"
            )
    return {name: np.broadcast_to(each, rows) for name, each in arrays.items()}


def refuse_other_order(columns: Mapping[str, Any]) -> None:
    """Refuse series of pandas with the same labels in another order: which one counts?"""
    labelled = {
        name: each.index
        for name, each in columns.items()
        if hasattr(getattr(each, "index", None), "equals")
    }
    first = next(iter(labelled), "")
    for name, index in labelled.items():
        if not index.equals(labelled[first]) and {*index} == {*labelled[first]}:
            raise FrameError(
                f"{name!r} has the labels of {first} in another order: pass .reindex(...) of it "
                "where the labels tell which rows belong together, .to_numpy() where the order does"
            )


def pairs_of(
    frame: Any,  # noqa: ANN401 - any frame
    named: PairColumns,
    unit: str = "",
    covariates: Sequence[str] = (),
    shape: Mapping[str, Any] = MappingProxyType({}),
) -> PairTable:
    """Return the pairs of a frame, in its order, with further columns; raises FrameError.

    ``shape``: the options of :func:`monitor.files.layout.with_shape`, ``members`` and
    ``quantiles``.
    """
    for odd in sorted({*shape} - _SHAPE):
        part = next((each for each in PairColumns._fields if odd in USUAL[each]), "")
        raise FrameError(f"there is no argument {odd}{part and f'; pass {part}={shape[odd]!r}'}")
    try:
        return _pairs_of(_wrapped(frame), named, unit, covariates, {**shape})
    except (FileError, LayoutError) as error:
        raise FrameError(_as_argument(str(error))) from error


def _as_argument(text: str) -> str:
    """Return the first sentence of an error of files with the arguments for the options."""
    text = text.splitlines()[0].removeprefix(f"{FRAME}:1:")
    text = text.replace("--columns ", "")
    return _OPTION.sub(lambda match: f"{match[1].replace('-', '_')}=", text).strip()


def _listed(given: Any) -> Any:  # noqa: ANN401
    """Return a list of names as the text that an option has."""
    is_list = isinstance(given, list | tuple)
    return ",".join(f'"{each}"' for each in given) if is_list else given


def _pairs_of(
    table: Any,  # noqa: ANN401
    named: PairColumns,
    unit: str,
    covariates: Sequence[str],
    shape: dict[str, Any],
) -> PairTable:
    mistakes, shape_notes = FrameMistakes(), list[str]()
    shape = {part: _listed(each) for part, each in shape.items()}
    spread = {part: str(each) for part in (MEMBERS, QUANTILES) if (each := shape.pop(part, ""))}
    layout = with_shape(FileLayout(), **shape)
    if layout.wide or layout.long or layout.where or "+" in str(named.time):
        table, named, shape_notes = _reshaped(table, named, layout, mistakes)
    lowered = {column_name(name): name for name in table.columns}
    given = {**spread, **{part: column_name(str(each)) for part, each in _stated(named).items()}}
    claims = Claims(FRAME, [*lowered], given, layout)
    chosen = _chosen(table, named, has_value=claims.have_value)
    numbers = {name: _numbers(table, chosen[name], mistakes) for name in _NUMBERS}
    numbers[CRPS] = _numbers(table, CRPS if CRPS in table.columns else "", mistakes)
    numbers["value"] = np.array(value_or_middle(numbers))
    numbers["p"] = np.where(np.isnan(numbers["p"]), 1.0 - numbers["alpha"], numbers["p"])
    if claims:
        members = {name: texts_of(table, lowered[name]) for name in claims.members[:1]}
        rows_all = range(len(table))
        claims.fill(
            numbers,
            members,
            lambda name: _numbers(table, lowered[name], mistakes),
            rows_all,
            mistakes,
        )
    elif layout.assume_u is None:
        _refuse_without_claim(table, chosen)
    if layout.assume_u is not None:
        bare = np.isnan(numbers["u"]) & (np.isnan(numbers["lower"]) | np.isnan(numbers["upper"]))
        numbers["u"] = np.where(bare, layout.assume_u.of(numbers["value"]), numbers["u"])
        shape_notes.append(f"u is assumed, not stated, in {int(bare.sum())} rows (assume_u)")
    _add_faults(numbers, chosen, claims, mistakes)
    places = {
        name: _categories(table, name)
        for name in covariates
        if _must_be_there(table, "covariates", name) and _is_text(table[name])
    }
    others = {
        name: _placed(table, name, places[name])
        if name in places
        else _numbers(table, name, mistakes)
        for name in covariates
    }
    bad = mistakes.rows_of(range(len(table)))
    gone = rows_lacking(numbers)
    gone[bad] = False
    whole = np.setdiff1d(np.flatnonzero(~gone), bad)
    if not whole.size:
        mistakes.refuse()
        raise FrameError(_nothing(len(table), numbers))
    time, quantity = chosen["time"], chosen["quantity"]
    by = [chosen["by"]] if chosen["by"] else [*(named.by or ())]
    for name in filter(None, (*by, quantity)):
        _add_nameless(table, name, whole, mistakes)
    whole = np.delete(whole, mistakes.rows_of(whole.tolist()))
    times = _times(table, time, whole, mistakes) if time else np.arange(0.0, whole.size)
    late = mistakes.rows_of(whole.tolist())
    whole, times = np.delete(whole, late), np.delete(times, late)
    if not whole.size:
        mistakes.refuse()
    series, names = _series(table, by, quantity, whole)
    rows = {name: column[whole] for name, column in numbers.items()}
    return PairTable(
        names=names,
        units=_units(table, unit, series, whole),
        series=series,
        time=times,
        value=rows["value"],
        u=rows["u"],
        lower=rows["lower"],
        upper=rows["upper"],
        p=rows["p"],
        reference=rows["reference"],
        u_ref=np.nan_to_num(rows["u_reference"]),
        reference_id=_named(table, chosen["reference_id"])[whole],
        reference_event=_named(table, chosen["reference_event"])[whole],
        crps=rows[CRPS],
        notes=(
            *shape_notes,
            *_notes(table, named, chosen, times, int(gone.sum())),
            *mistakes.notes(len(table)),
        ),
        timed=bool(time),
        covariates={name: numbers[whole] for name, numbers in others.items()},
        categories=places,
    )


def _nothing(rows: int, numbers: dict[str, Float]) -> str:
    if not rows:
        return "the frame has no rows: nothing can be scored; look at what was selected or joined"
    return (
        f"none of the frame's {rows} rows has all of the numbers a pair needs; most lack "
        f"{most_lacking(numbers)}: fill it in, or name the column that has it"
    )


def _notes(
    table: Any,  # noqa: ANN401
    named: PairColumns,
    chosen: dict[str, str],
    times: Float,
    lost: int,
) -> Iterator[str]:
    if lost:
        yield left_out(lost, len(table))
    if chosen["time"] and (early := early_times(float(times.max()), "add it")):
        yield early
    known = {**chosen, "sensor": chosen["by"] or str(named.by or "")}
    for field, name in pair_fields.overlooked(table.columns, known):
        argument = "by" if field == "sensor" else field
        column = f"df[{name!r}]/{k_in(name)}" if is_expanded(name) else repr(name)
        yield f"no column {field}; if {name!r} holds it: {argument}={column}"
    if index := _in_index(table):
        yield f"the index ({listing(index)}) is not used: df.reset_index() makes columns of it"


def _in_index(table: Any) -> list[str]:  # noqa: ANN401
    """Return what the index of a frame of pandas holds: its names, or datetimes without one."""
    index = nw.maybe_get_index(table)
    if index is None:
        return []
    named = [str(name) for name in index.names if name is not None]
    bare = "datetimes" if "datetime" in str(index.dtype) else ""
    return [name for name in named or [bare] if name and name not in table.columns]


def _wrapped(frame: Any) -> Any:  # noqa: ANN401 - any frame
    try:
        table = nw.from_native(frame, eager_only=True)
    except DuplicateError as error:
        detail = " ".join(str(error).partition(":")[2].split())
        raise FrameError(f"a column name appears twice: {detail}; keep one of them") from error
    except TypeError as error:
        raise FrameError(
            f"{type(frame).__name__} is not a data frame: pass one of pandas, Polars or Arrow "
            "(collect a lazy frame), a dict of arrays, or arrays: score(values, u, references)"
        ) from error
    odd = next((name for name in table.columns if not isinstance(name, str)), None)
    if odd is not None:
        raise FrameError(
            f"the column name {odd!r} is not a text: rename it, such as by "
            "df.columns = [*map(str, df.columns)]"
        )
    return table


def _stated(named: PairColumns) -> dict[str, Any]:
    """Return the names of columns that are given."""
    return {part: each for part, each in named._asdict().items() if each is not None}


def _reshaped(
    table: Any,  # noqa: ANN401
    named: PairColumns,
    layout: FileLayout,
    mistakes: Mistakes,
) -> tuple[Any, PairColumns, list[str]]:
    """Return a frame with one pair in each row, and the names of its columns."""
    fields = {"by": "sensor"}
    given = {
        fields.get(part, part): each
        for part, each in _stated(named).items()
        if isinstance(each, str) and each != PairColumns._field_defaults[part]
    }
    made = {part for part, each in _stated(named).items() if "*" in str(each)}
    made |= {"value", "by" if "sensor" not in given else "quantity"} if layout.wide else set()
    made |= {part for part, each in _stated(named).items() if "+" in str(each)}
    reshaped, notes = shaped_frame(table, given, layout, mistakes)
    names = {part: fields.get(part, part) for part in made}
    names |= {part: str(given[part]).split("+")[-1] for part in made if "+" in given.get(part, "")}
    return reshaped, named._replace(**names), notes


def _chosen(table: Any, named: PairColumns, *, has_value: bool) -> dict[str, str]:  # noqa: ANN401
    """Return the column of each part, empty where there is none; raises FrameError."""
    chosen = {}
    for part, given in named._asdict().items():
        if part == "by" and given is not None and not isinstance(given, str):
            for each in given:
                _must_be_there(table, part, each)
            chosen[part] = ""
        elif given is None:
            usual = (name for name in USUAL[part] if name in table.columns)
            chosen[part] = next(usual, "")
        elif part == "value" and (has_value or _is_of_intervals(table, named)):
            chosen[part] = given if given in table.columns else ""
        else:
            chosen[part] = _must_be_there(table, part, given)
    return chosen


def _is_of_intervals(table: Any, named: PairColumns) -> bool:  # noqa: ANN401
    """Return whether intervals stand for the values, as no column has the usual name of those."""
    is_unnamed = named.value == "value" and "value" not in table.columns
    return is_unnamed and {named.lower or "lower", named.upper or "upper"} <= {*table.columns}


def _must_be_there(table: Any, part: str, name: str) -> str:  # noqa: ANN401
    if name in table.columns:
        return name
    near = get_close_matches(str(name), table.columns, 1)
    hint = f" (is it {near[0]!r}?)" if near else ""
    if name in _in_index(table):
        hint = "; its index has: pass df.reset_index()"
    raise FrameError(
        f"the frame has no column {name!r}{hint}; name the right one with {part}=...; there are "
        f"{', '.join(table.columns) or 'none'}{_as_argument(shape_hint(table.columns) or ' ')}"
    )


def _refuse_without_claim(table: Any, chosen: dict[str, str]) -> None:  # noqa: ANN401
    if bool(chosen["lower"]) != bool(chosen["upper"]):
        raise FrameError("lower and upper are the two ends of an interval: name both of them")
    if not chosen["u"] and not chosen["lower"]:
        if EXPANDED in table.columns:
            raise FrameError(
                f"{EXPANDED} {pair_fields.NOT_STANDARD}, or pass u={EXPANDED!r} if it is a "
                "standard uncertainty"
            )
        raise FrameError(
            "no uncertainty is stated: name a column with u=..., or two with lower=... and "
            f"upper=...; there are {', '.join(table.columns)}"
        )


def _numbers(table: Any, name: str, mistakes: Mistakes) -> Float:  # noqa: ANN401
    """Return a column as numbers, NaN where there is none."""
    if not name:
        return np.full(len(table), NAN)
    column = table[name]
    if column.null_count() == len(table):
        return np.full(len(table), NAN)
    if column.dtype == nw.Boolean or not column.dtype.is_numeric():
        first = next(iter(column.to_list()), None)
        raise FrameError(
            f"column {name!r} holds {column.dtype}, not numbers (such as {first!r} in the first "
            "row): convert it before"
        )
    values = column.cast(nw.Float64).to_numpy().astype(np.float64)
    for at in np.flatnonzero(np.abs(values) > VALUE_MAX).tolist():
        mistakes.add(at, name, f"{values[at]:g} is not finite, or larger than {VALUE_MAX:g}")
    return values


def _is_text(column: Any) -> bool:  # noqa: ANN401
    return column.dtype in (nw.String, nw.Categorical, nw.Enum)


def _categories(table: Any, name: str) -> tuple[str, ...]:  # noqa: ANN401
    """Return the different texts of a column; raises FrameError where they are too many."""
    texts = tuple(sorted(set(_texts(table, name)) - {""}))
    if len(texts) > CATEGORIES_MOST:
        raise FrameError(f"column {name!r} {too_many_categories()}")
    return texts


def _placed(table: Any, name: str, texts: tuple[str, ...]) -> Float:  # noqa: ANN401
    """Return the place of each row's text, NaN where there is none."""
    place = {text: float(at) for at, text in enumerate(texts)}
    return np.array([place.get(text, NAN) for text in _texts(table, name)])


def _add_faults(
    numbers: dict[str, Float], chosen: dict[str, str], claims: Claims, mistakes: Mistakes
) -> None:
    for wrong, field, fault in row_faults(numbers):
        column = chosen[field] or claims.column_of(field)
        for at in np.flatnonzero(wrong).tolist():
            mistakes.add(at, column, f"{numbers[field][at]:g} {fault}")


def _times(table: Any, name: str, whole: Int, mistakes: Mistakes) -> Float:  # noqa: ANN401
    """Return the times of some rows as s UTC, NaN where there is none."""
    column = table[name]
    there = ~np.array(column.is_null().to_list(), dtype=np.bool_)
    for at in whole[~there[whole]].tolist():
        mistakes.add(at, name, "a time is missing")
    stated = whole[there[whole]]
    times = np.full(len(table), NAN)
    rows = np.isin(np.arange(len(table)), stated)
    times[stated] = _seconds(column.filter(rows.tolist()), name, stated, mistakes)
    return times[whole]


def _seconds(column: Any, name: str, rows: Int, mistakes: Mistakes) -> Float:  # noqa: ANN401
    if isinstance(column.dtype, nw.Datetime):
        if column.dtype.time_zone is None:
            raise FrameError(
                f"column {name!r} has times without a zone: say which, such as "
                f"df[{name!r}].dt.tz_localize('UTC') or .dt.replace_time_zone('UTC')"
            )
        return np.asarray(column.dt.timestamp("us").to_numpy() / 1e6, dtype=np.float64)
    if column.dtype.is_numeric():
        numbers = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        times = numbers / divisors(numbers, "auto")
        for at in np.flatnonzero(~((times >= TIME_MIN) & (times < TIME_END))).tolist():
            fault = f"{times[at]:g} is not finite, or its year is not 1 to 9999"
            mistakes.add(int(rows[at]), name, fault)
        return times
    texts = [each.isoformat() if isinstance(each, date) else str(each) for each in column.to_list()]
    try:
        return np.array(all_seconds(texts))
    except ValueError:
        return np.array(
            [_one_time(*each, name, mistakes) for each in zip(texts, rows.tolist(), strict=True)]
        )


def _one_time(text: str, row: int, name: str, mistakes: Mistakes) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        forms = "times are datetimes with a zone, seconds since 1970, or text"
        mistakes.add(row, name, f"{error}; {forms}")
        return NAN


def _named(table: Any, name: str) -> NameNumbers:  # noqa: ANN401
    """Return the number of each row's name, 0 where it has none."""
    if not name:
        return np.zeros(len(table), dtype=np.uint64)
    return numbered(_texts(table, name))


def _texts(table: Any, name: str) -> list[str]:  # noqa: ANN401
    """Return a column as texts, empty where a row has none."""
    gone = table[name].is_null().to_list()
    return [
        "" if none else str(each) for each, none in zip(table[name].to_list(), gone, strict=True)
    ]


def _series(
    table: Any,  # noqa: ANN401
    by: Sequence[str],
    quantity: str,
    whole: Int,
) -> tuple[Int, tuple[tuple[str, str], ...]]:
    """Return the series of each kept row, and the names (sensor, quantity) of all."""
    columns = [_texts(table, name) for name in by]
    sensors = list(map("/".join, zip(*columns, strict=True))) if by else ["data"] * len(table)
    quantities = _texts(table, quantity) if quantity else ["value"] * len(table)
    known: dict[tuple[str, str], int] = {}
    rows = ((sensors[at], quantities[at]) for at in whole.tolist())
    series = [known.setdefault(row, len(known)) for row in rows]
    return np.array(series, dtype=np.int64), tuple(known)


def _add_nameless(table: Any, name: str, whole: Int, mistakes: Mistakes) -> None:  # noqa: ANN401
    texts = _texts(table, name)
    for at in whole.tolist():
        if not texts[at].strip():
            mistakes.add(at, name, "a name is missing; fill it in")


def _units(table: Any, unit: str, series: Int, whole: Int) -> tuple[str, ...]:  # noqa: ANN401
    """Return the unit of each series: the given one, else that of the column with this name."""
    units = dict.fromkeys(range(int(series.max()) + 1), unit)
    if unit or _UNIT not in table.columns or table[_UNIT].dtype.is_numeric():
        return tuple(units.values())
    texts = _texts(table, _UNIT)
    for at, row in zip(whole.tolist(), series.tolist(), strict=True):
        stated = texts[at].strip()
        if not is_same_unit(stated, units[row]):
            raise FrameError(
                f"column {_UNIT!r}, row {at}: is {stated!r}, was {units[row]!r} for the same "
                "sensor; convert one of them"
            )
        units[row] = units[row] or stated
    return tuple(units.values())
