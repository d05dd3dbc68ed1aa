"""Which column of a table of pairs holds what: the given names, else the usual ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NoReturn

from monitor.decode.units import is_same_unit
from monitor.errors import USAGE, MonitorError
from monitor.files.input_file import (
    EXPANDED,
    EXPANDED_REFERENCE,
    FileError,
    column_name,
    is_expanded,
    listing,
    refuse_doubled,
)

# Usual names of columns, taken without being given.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "value": ("value",),
    "reference": ("reference",),
    "u": ("u", "sigma"),
    "lower": ("lower",),
    "upper": ("upper",),
    "p": ("p",),
    "alpha": ("alpha",),
    "u_reference": ("u_reference", "reference_sigma"),
    "time": ("time",),
    "sensor": ("sensor",),
    "quantity": ("quantity",),
    "unit": ("unit",),
    "reference_id": ("reference_id",),
    "reference_event": ("reference_event",),
}
# Likely names of columns, about which the user should be asked.
_OTHERWISE: Final[Mapping[str, tuple[str, ...]]] = {
    "time": ("timestamp", "datetime", "date_time", "date", "ts"),
    "sensor": ("sensor_id", "device", "device_id", "node", "station"),
    "u_reference": ("u_ref", "reference_u", "sigma_reference", *USUAL["u_reference"]),
}
# Names that others give these, for a proposal to the user.
_LIKELY: Final[Mapping[str, tuple[str, ...]]] = {
    "value": (
        *("reading", "measurement", "measured", "prediction", "predicted", "pred", "y_pred"),
        *("y_hat", "yhat", "forecast", "estimate", "mean", "mu"),
    ),
    "reference": (
        *("ref", "truth", "true", "y_true", "actual", "target", "observed", "observation", "obs"),
        *("ground_truth", "y"),
    ),
    "u": (
        *("uncertainty", "standard_uncertainty", "unc", "std", "stddev", "std_dev", "stdev", "sd"),
        *("y_std", "se"),
    ),
    **_OTHERWISE,
}
KNOWN_NAMES: Final = frozenset(
    name for names in (*USUAL.values(), *_LIKELY.values()) for name in names
)
_KINDS: Final = ("variable", "parameter", "metric", "measure", "output_type_id", "quantile", "name")
_NO_COLUMNS: Final[Mapping[str, str]] = {}
_LISTED: Final = re.compile(r'(?:[^,"]|"[^"]*"|")+')
_UNIT: Final = re.compile(r"(.*\S)\s*[\[(]([^\[\]()]*)[\])]")
_K: Final = re.compile(
    r"\s*[\[(]\s*(?:k\s*=\s*(\d+(?:[.,]\d+)?)|expanded\b)[^\])]*[\])]", re.IGNORECASE
)
_PER_CENT: Final = re.compile(r"(%|per\s?cent|pct).*", re.IGNORECASE)
# Fields of distributions: several columns, a level each in per cent or as a share.
_ABSOLUTE: Final = ("value", "reference", "lower", "upper")
_IN_UNIT: Final = (*_ABSOLUTE, "u", EXPANDED, "u_reference")
MEMBERS: Final = "members"
QUANTILES: Final = "quantiles"
_LEVEL: Final = re.compile(r"q?_?(0?\.\d+)")
_QUANTILE_STEMS: Final = ("q*", "q_*", "p*", "quantile_*")
NOT_STANDARD: Final = "is an expanded uncertainty; divide it by its k"
COLUMNS_HELP: Final = "which column holds what, such as value=y_pred,u=y_std,reference=y_true"


class ColumnsError(MonitorError):
    """``--columns`` cannot be read."""

    exit_code = USAGE


def parse_columns(text: str, fields: Iterable[str] = USUAL) -> dict[str, str]:
    """Return field to column of ``value=y_pred,u=y_std``; raises ColumnsError."""
    given: dict[str, str] = {}
    for each in listed_parts(text):
        field, _, column = (part.strip() for part in each.partition("="))
        column = unquoted(column)
        is_spread = fields is USUAL and (field in (MEMBERS, QUANTILES) or level_in(field))
        if not (field in fields or is_spread) or not column:
            known = ", ".join(fields)
            how = f"; of an expanded uncertainty u={column}/2, or another k" * (field == EXPANDED)
            raise ColumnsError(
                f"--columns {each}: write FIELD=COLUMN, where FIELD is one of {known}{how}"
            )
        given[field] = column
    return given


def listed_parts(text: str) -> list[str]:
    """Return the parts of a list with commas; one between double quotes separates nothing."""
    return [each.strip() for each in _LISTED.findall(text) if each.strip()]


def unquoted(name: str) -> str:
    """Return a name without the quotes around it."""
    return name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else name


def fields_of(
    path: Path,
    names: Sequence[str],
    given: Mapping[str, str],
    usual_names: Mapping[str, tuple[str, ...]] = USUAL,
) -> dict[str, str]:
    """Return the column of each field that a table has; raises FileError.

    ``names`` are those of its columns (:func:`column_name`); ``given`` names the columns of some
    fields, ``usual_names`` those that need no name.
    """
    named = {
        field: known_column(path, names, name)
        for field, name in given.items()
        if field in usual_names
    }
    plain = {plain_name(name): name for name in names} | {name: name for name in names}
    chosen = {
        field: plain[name]
        for field, usual in usual_names.items()
        if field not in named
        for name in usual[::-1]
        if name in plain and plain[name] not in named.values()
    }
    return chosen | named


def plain_name(name: str) -> str:
    """Return the name of a column without the unit and the k in brackets after it."""
    match = _UNIT.fullmatch(_K.sub("", name))
    return match[1] if match else _K.sub("", name)


def unit_in(name: str) -> str:
    """Return the unit in brackets after the name of a column, empty if there is none."""
    match = _UNIT.fullmatch(_K.sub("", name))
    return match[2].strip() if match else ""


def k_in(name: str) -> str:
    """Return the k in brackets after the name of a column such as ``U (k=2)``, by default 2."""
    match = _K.search(name)
    return (match[1] if match and match[1] else "2").replace(",", ".")


def level_in(name: str) -> float:
    """Return the level of a column of quantiles such as q0.05 or 0.05; 0 if it is none."""
    match = _LEVEL.fullmatch(name)
    return float(match[1]) if match else 0.0


def common_unit(path: Path, columns: Mapping[str, str]) -> str:
    """Return the unit that the names of columns state, by field; raises FileError for two units.

    An uncertainty in per cent of what states no unit is in another.
    """
    stated = {field: unit_in(columns[field]) for field in _IN_UNIT if field in columns}
    units = {field: unit for field, unit in stated.items() if unit}
    first = next(iter(units), "")
    for field, unit in units.items():
        if not is_same_unit(unit, units[first]):
            raise FileError(
                f"{path}:1:{columns[field]}: is in {unit!r}, {columns[first]} in {units[first]!r}; "
                "convert one of them"
            )
    bare = next((columns[field] for field in _ABSOLUTE if field in columns), "")
    if bare and first not in ("", *_ABSOLUTE) and _PER_CENT.fullmatch(units[first]):
        raise FileError(
            f"{path}:1:{columns[first]}: is in {units[first]!r} and {bare} states no unit; convert "
            f"it to the unit of {bare}, or write that as {bare} [%] if both are in %"
        )
    return units.get(first, "")


def matching(pattern: str, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names that a pattern such as ``sensor_*`` fits, and what ``*`` stands for."""
    parts = map(re.escape, column_name(pattern).split("*"))
    form = re.compile("(.*)".join(parts))
    matches = ((name, form.fullmatch(plain_name(name)) or form.fullmatch(name)) for name in names)
    return [(name, "".join(match.groups()[:1])) for name, match in matches if match and name]


def overlooked(names: Sequence[str], chosen: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (field, column) where a field has no column and another's name sounds like it."""
    plain = {plain_name(name).lower(): name for name in names if name not in chosen.values()}
    missed = []
    for field, others in _OTHERWISE.items():
        column = next((plain[each] for each in others if each in plain), "")
        if column and not chosen.get(field):
            missed.append((field, column))
    return missed


def known_column(path: Path, names: Sequence[str], name: str) -> str:
    """Return the name of an existing column, as the table has it; raises FileError."""
    name = column_name(name)
    if name not in names:
        name = next((each for each in names if plain_name(each) == name), name)
    refuse_doubled(path, names, [name])
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f" (is it {near[0]}?)" if near else ""
        raise FileError(
            f"{path}:1:{name}: there is no such column{hint}; there are {listing(names)}"
        )
    return name


def check_fields(
    path: Path,
    names: Sequence[str],
    chosen: Mapping[str, str],
    written: Callable[[str], str],
    *,
    stated: bool,
    centred: bool,
) -> None:
    """Raise FileError unless the fields make pairs.

    ``written`` returns the name of a column as the file has it; ``stated``: there are
    distributions, ``centred``: with a value.
    """
    remedy = f"say which is meant, such as {proposed_columns(names)}{shape_hint(names)}"
    bare = {"lower", "upper"} <= chosen.keys()
    for field in ("value", "reference"):
        if field not in chosen and not (field == "value" and (bare or centred)):
            raise FileError(
                f"{path}:1:{field}: this column is missing; there are {listing(names)}; {remedy}"
            )
    if ("lower" in chosen) != ("upper" in chosen):
        raise FileError(f"{path}:1: lower and upper must be given together")
    needs_u = not bare and not stated
    for field in ("u",) * needs_u + ("u_reference",):
        expanded = EXPANDED if field == "u" else EXPANDED_REFERENCE
        name = next((each for each in names if plain_name(each) == expanded), "")
        if name and field not in chosen:
            is_u = plain_name(written(name)).lower() == field
            k = "k" if field == "u" and "k" in names else k_in(name)
            refuse_expanded(path, written(name), field, expanded if is_u else written(name), k)
    if "u" not in chosen and needs_u:
        raise FileError(
            f"{path}:1: no uncertainty is stated: add a column u, or lower and upper (and p or "
            f"alpha), or give --assume-u 5%; there are {listing(names)}; or {remedy}"
        )


def refuse_expanded(path: Path, written: str, field: str, column: str, k: str) -> NoReturn:
    """Raise FileError for an expanded uncertainty in place of the standard one of a field.

    ``column`` is how to name it in an option, ``written`` its name in the file.
    """
    raise FileError(
        f"{path}:1:{written}: {column} {NOT_STANDARD}: {columns_option(field, f'{column}/{k}')}, "
        f"or say {columns_option(field, column)} if it is a standard uncertainty"
    )


def columns_option(field: str, column: str) -> str:
    """Return the option that names the column of a field, as a shell reads it."""
    given = f"{field}={column}"
    return f"--columns '{given}'" if {*given} & {*" ()[]*"} else f"--columns {given}"


def standard_of(name: str) -> str:
    """Return how to name a column as a standard uncertainty: divided by its k if it states U."""
    return f"{name}/{k_in(name)}" if is_expanded(name) else name


def proposed_columns(names: Sequence[str]) -> str:
    """Return the ``--columns`` that the names of a table suggest, else an example."""
    plain = {plain_name(name).lower(): name for name in names if not set(',"') & set(name)}
    likely = {
        field: next((standard_of(plain[each]) for each in others if each in plain), "")
        for field, others in _LIKELY.items()
        if plain.keys().isdisjoint(USUAL[field])
    }
    named = [f"{field}={name}" for field, name in likely.items() if name]
    if not named or not likely.get("reference", "reference"):
        named = ["value=y_pred", "u=y_std", "reference=y_true"]
    return "--columns " + ",".join(named)


def shape_hint(names: Sequence[str]) -> str:
    """Return how to read a table whose names look as if it had not one pair in a row."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.sub(r"\d+", "*", name, count=1), []).append(name)
    many = max(stems.items(), key=lambda each: len(each[1]), default=("", []))
    if many[0] in _QUANTILE_STEMS and len(many[1]) > 1:
        return f". {', '.join(many[1][:2])} ... may be quantiles (--columns quantiles='{many[0]}')"
    if "*" in many[0] and len(many[1]) > 1:
        return (
            f". {', '.join(many[1][:2])} ... may be a sensor each (--wide '{many[0]}') or members "
            f"of an ensemble (--columns members='{many[0]}')"
        )
    kind = next((name for name in names if name in _KINDS), "")
    return f". If {kind} says what a row holds: --long {kind}=value" if kind else ""
