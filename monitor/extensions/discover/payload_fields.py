"""The meaning of a payload's fields: value, uncertainty, unit, time, interval, with reasons.

Rules of this file: a field is judged by its name, its neighbours and its content; a guess carries
the sentence that explains it. A field that is not understood is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from monitor.decode.paths import steps
from monitor.decode.units import converts
from monitor.extensions.discover.births import Fact, Facts
from monitor.extensions.discover.families import TopicFamily
from monitor.extensions.discover.heard import above, name_at, number_of, unit_of
from monitor.extensions.discover.vocabulary import (
    AROUND,
    ERROR_VALUES,
    ERROR_VALUES_OF,
    ERRORS,
    EXPANDED,
    FACTORS,
    LEVELS,
    LOWER,
    QUANTITY_FIELDS,
    STANDARD,
    UNITS,
    UNKNOWN,
    UPPER,
    USUAL_LEVELS,
    VALUES,
    Known,
    is_any_uncertainty,
    is_housekeeping,
    is_one_of,
    normal,
    quantity_in,
    quantity_of,
    unit_named_in,
    without_unit,
)

Paths = Mapping[str, Sequence[object]]
_DIGITS_MAX: Final = 10_000.0  # few sensors resolve more of their range
_PASCALS_MIN: Final = 20_000.0  # Pa, below any aircraft's air pressure; no weather has as many hPa
# Where Tasmota states the unit of all values of a quantity, and its letters for some units.
_UNITS_OF_ALL: Final = {"temperature": "TempUnit", "pressure": "PressureUnit"}
_LETTERS: Final = {"C": "degC", "F": "degF"}
_FORMS: Final = {
    "u": STANDARD,
    "U": EXPANDED,
    "lower": LOWER,
    "upper": UPPER,
    "plus_minus": AROUND,
}
_INTERVALS: Final = frozenset(("lower", "plus_minus"))
# What a factor or a level is of; u alone needs neither.
_OF_WHOLE: Final = {"k": {"U"}, "p": {"U", *_INTERVALS}}
_ASSUMED_P: Final = 0.9
_STATED: Final = {
    "u": "is its standard uncertainty",
    "U": "is its expanded uncertainty",
    "lower": "the lower limit",
    "upper": "the upper limit",
    "plus_minus": "is taken as half the width of its interval",
    "k": "the coverage factor",
    "p": "the coverage probability",
}


class Series(NamedTuple):
    """One quantity of a family: keys of the settings' ``series`` entry, and why."""

    quantity: str
    keys: dict[str, str | float | list[float]]
    why: list[str]
    known: Known = UNKNOWN


class Fields(NamedTuple):
    """The payloads of a family by path, and which of them are used."""

    family: TopicFamily
    paths: Paths
    facts: Facts
    used: set[str]

    def below_root(self) -> Iterator[str]:
        """Yield the unused paths below the family's root."""
        root = self.family.root
        for path in self.paths:
            if path not in self.used and (not root or path.startswith((f"{root}.", f"{root}["))):
                yield path

    def own(self, path: str) -> str:
        """Return a path relative to the family's root."""
        root = self.family.root
        if root and path.startswith((f"{root}.", f"{root}[")):
            return path.removeprefix(root).removeprefix(".")
        return path

    def fact(self, path: str) -> Fact | None:
        """Return the announced fact about a path on any of the topics."""
        facts = (self.facts.get((topic, path)) for topic in self.family.topics)
        return next(filter(None, facts), None)


def by_path(family: TopicFamily) -> dict[str, list[object]]:
    """Return the values at each path of a family's payloads."""
    paths: dict[str, list[object]] = defaultdict(list)
    for each in family.said:
        for path, value in each.leaves.items():
            paths[path].append(value)
    return paths


def guessed_series(fields: Fields) -> list[Series]:
    """Return the quantities in the payloads of a family; marks the paths used."""
    numeric = [path for path in fields.below_root() if _is_numeric(fields.paths[path])]
    companions = {path: _companions(fields, path) for path in numeric}
    companion_paths = {beside for paths in companions.values() for beside in paths.values()}
    named = [path for path in numeric if path not in companion_paths]
    values = [path for path in named if _known(fields, path, companions[path]) is not None]
    if not values:
        plain = [path for path in named if companions[path] or _is_measured(fields, path)]
        values = plain if len(plain) == 1 else []
    guesses: list[Series] = []
    bare = [path for path in values if not companions[path]]
    for path in values:
        stated = companions[path] or _alone(fields, path, bare)
        if path in fields.used:
            continue
        series = _series(fields, path, stated)
        fields.used.update({path, *stated.values()})
        doubles = [
            each
            for each in guesses
            if each.quantity == series.quantity and _is_beside(fields, path, each)
        ]
        if any(_is_in_other_unit(path, str(each.keys["value"])) for each in doubles):
            continue
        guesses.append(_renamed(fields, path, series) if doubles else series)
    return guesses


def unused_numbers(fields: Fields) -> list[str]:
    """Return the paths of numbers, not of texts, that nothing uses."""
    return [
        path
        for path in fields.below_root()
        if all(isinstance(each, int | float) for each in fields.paths[path])
        and _is_numeric(fields.paths[path])
    ]


def _is_beside(fields: Fields, path: str, other: Series) -> bool:
    """Return whether a payload has both; kinds of devices may name one quantity differently."""
    return any(
        path in each.leaves and other.keys["value"] in each.leaves for each in fields.family.said
    )


def _is_in_other_unit(path: str, other: str) -> bool:
    """Return whether two names beside each other, tempc and tempf, differ in their unit alone."""
    units = [unit_named_in(name_at(each)) for each in (path, other)]
    return all(units) and units[0] != units[1] and above(path) == above(other)


def _alone(fields: Fields, path: str, values: Sequence[str]) -> dict[str, str]:
    """Return the fields named u, lo, hi, p beside the only value."""
    bare = common_companions(fields, path)
    others = [each for each in values if each != path and each not in bare.values()]
    return {} if others else bare


def _is_numeric(values: Sequence[object]) -> bool:
    numbers = sum(number_of(each) is not None for each in values)
    return numbers > 0.5 * len(values)


def is_of_device(fields: Fields, path: str) -> bool:
    """Return whether a path is about the device itself."""
    return any(map(is_housekeeping, map(str, steps(fields.own(path))))) or _is_of_relay(
        fields, path
    )


def _is_of_relay(fields: Fields, path: str) -> bool:
    """Return whether a path is the own temperature of a Shelly that switches or meters power."""
    beside = above(above(path))
    return name_at(above(path)) == "temperature" and (
        f"{beside}.apower".removeprefix(".") in fields.paths
    )


def _is_measured(fields: Fields, path: str) -> bool:
    """Return whether an unknown path may be a measurement: a number that is not a count."""
    numbers = [each for each in fields.paths[path] if isinstance(each, float)]
    return bool(numbers) and path != "$" and not is_of_device(fields, path)


def _known(fields: Fields, path: str, companions: Mapping[str, str]) -> Known | None:
    """Return the quantity at a path: as announced, as named, or one with an uncertainty."""
    fact, name = fields.fact(path), name_at(path)
    is_value = path == "$" or is_one_of(name, VALUES)
    if fields.family.quantity and is_value:
        return _by_name(fields.family.quantity)
    if fact is not None and (fact.is_diagnostic or fact.quantity):
        return None if fact.is_diagnostic else _by_name(fact.quantity)
    if is_of_device(fields, path):
        return None
    if is_value:
        over = name_at(above(path)) if above(path) != fields.family.root else ""
        return _by_name(over) if over else _of_topic(fields)
    if "/" in name:  # no quantity has such a name
        return (quantity_in(name) or (None, ""))[0]
    return quantity_of(name) or (UNKNOWN._replace(name=name) if companions else None)


def _by_name(name: str) -> Known:
    return quantity_of(name) or UNKNOWN._replace(name=name)


def _of_topic(fields: Fields) -> Known | None:
    """Return the quantity of a value that its topic, or another field of the payload, names."""
    levels = fields.family.template.split("/")
    if "{quantity}" in levels:
        at = levels.index("{quantity}")
        words = {topic.split("/")[at] for topic in fields.family.topics}
        known = quantity_of(next(iter(words))) if len(words) == 1 else None
        return (known or UNKNOWN)._replace(name="{quantity}")
    if quantity_path(fields) is not None:
        return UNKNOWN._replace(name="{quantity}")
    matches = [named for level in levels if (named := quantity_in(level)) and "{" not in level]
    return matches[-1][0] if matches else None


def quantity_path(fields: Fields) -> str | None:
    """Return the path of the text that names the quantity of a record."""
    for path, values in fields.paths.items():
        if is_one_of(name_at(path), QUANTITY_FIELDS) and all(isinstance(x, str) for x in values):
            return path
    return None


# -- what stands beside a value --------------------------------------------------------------------


def _companions(fields: Fields, path: str) -> dict[str, str]:
    """Return the paths of a value's uncertainty by its name: x_u, u_x, or v with u.

    Several values may share the factor or the level of theirs.
    """
    name = name_at(path)
    if is_one_of(name, VALUES):
        return common_companions(fields, path)
    own = _named(fields, path, lambda beside, words: _joins(beside, name, words))
    shared = _named(fields, path, is_one_of).items()
    return _whole(own | {key: each for key, each in shared if key in _OF_WHOLE and key not in own})


def _siblings(fields: Fields, path: str) -> Iterator[str]:
    base = above(path)
    for beside in fields.paths:
        values = fields.paths[beside]
        is_near = beside != path and above(beside) == base
        if is_near and _is_numeric(values) and not any(map(unit_of, values)):
            yield beside


def _joins(name: str, value: str, words: tuple[str, ...]) -> bool:
    """Return whether a name is the value's with one of some words before or after it."""
    stems = {normal(value), without_unit(value)}
    for word in words:
        mark = normal(word)
        joined = any(normal(name) in (stem + mark, mark + stem) for stem in stems)
        if joined and (words is not EXPANDED or word in name) and not _expanded(name, words):
            return True
    return False


def _expanded(name: str, words: tuple[str, ...]) -> bool:
    return words is STANDARD and name.rstrip("0123456789").endswith("U") and not name.isupper()


def claim_of(path: str) -> str:
    """Return the key of a stated uncertainty that a field's name alone suggests, "" for none."""
    name = name_at(path)
    keys = (key for key, words in (*_FORMS.items(), ("u", ERRORS)) if is_one_of(name, words))
    return next(keys, "")


def common_companions(fields: Fields, path: str) -> dict[str, str]:
    """Return the paths beside a value that are named u, lo, hi and so on."""
    return _whole(_named(fields, path, is_one_of))


def _named(
    fields: Fields, path: str, is_name: Callable[[str, tuple[str, ...]], bool]
) -> dict[str, str]:
    """Return the first path beside a value for each key that its name may state."""
    paths: dict[str, str] = {}
    for beside in _siblings(fields, path):
        for key, words in (*_FORMS.items(), ("p", LEVELS), ("k", FACTORS)):
            is_named = key not in paths and is_name(name_at(beside), words)
            if is_named and (key != "p" or _are_levels(name_at(beside), fields.paths[beside])):
                paths[key] = beside
    return paths


def _are_levels(name: str, values: Sequence[object]) -> bool:
    """Return whether numbers are coverage probabilities: shares, or one level in percent.

    What may be a quantity by its name, such as the level of a tank, has to be a usual one.
    """
    levels = {number_of(each) or 0.0 for each in values}
    are_shares = all(0.0 < each < 1.0 for each in levels)
    if not are_shares and not (len(levels) == 1 and 50.0 <= min(levels) < 100.0):
        return False
    percents = {round(100.0 * each if are_shares else each, 2) for each in levels}
    return quantity_of(name) is None or percents <= USUAL_LEVELS


def _whole(paths: dict[str, str]) -> dict[str, str]:
    """Return what can be combined: both limits or none, one form for u, one for the interval.

    An uncertainty beside a coverage factor or level of its own is an expanded one, unless its name
    says that it is a standard uncertainty.
    """
    if ("lower" in paths) != ("upper" in paths):
        paths = {key: path for key, path in paths.items() if key not in ("lower", "upper")}
    if quantity_of(name_at(paths.get("p", ""))) and not paths.keys() & {"lower", "U"}:
        paths = {key: path for key, path in paths.items() if key != "p"}
    is_covered = "k" in paths or ("p" in paths and not paths.keys() & _INTERVALS)
    if is_covered and "U" not in paths and is_any_uncertainty(name_at(paths.get("u", ""))):
        paths = {"U" if key == "u" else key: path for key, path in paths.items()}
    if "u" in paths:
        paths.pop("U", None)
    if "lower" in paths:
        paths.pop("plus_minus", None)
    return paths if paths.keys() & _FORMS.keys() else {}


# -- one entry ------------------------------------------------------------------------------------


def _series(fields: Fields, path: str, stated: Mapping[str, str]) -> Series:
    known = _known(fields, path, stated) or _named_after(fields, path)
    keys: dict[str, str | float | list[float]] = {"quantity": known.name, "value": path}
    at = "the payload" if path == "$" else path
    why = [f"{known.name.strip('{}')} is {at}{_reason(fields, path)}"]
    errors, values = _errors_and_values(known, fields.paths[path])
    if errors:
        keys["error_values"] = errors
        why.append(f"{', '.join(f'{each:g}' for each in errors)} say that there is no value")
    why += _unit(fields, path, known, keys)
    why += _statement(fields, stated, keys)
    is_bare = bool(stated.keys() & _INTERVALS) and not stated.keys() & {"p", "U"}
    if is_bare and not fields.family.is_reference:
        keys["p"] = _ASSUMED_P
        why.append(f"ASSUMED p = {_ASSUMED_P}, because no level is stated: put yours here")
    is_stated = bool(stated.keys() & _FORMS.keys())
    assumed = assumed_u(known, values)
    if is_stated and not fields.family.is_reference and _is_missing(fields, path, stated):
        keys["assumed"] = assumed
        why.append(f"ASSUMED u = {assumed} where a message states none: put yours here")
    if not is_stated and not fields.family.is_reference:
        keys["assumed"] = assumed
        why.append(
            f"ASSUMED u = {assumed}, {_basis(known)}, because none is stated: put yours here"
        )
    if not is_stated and fields.family.is_reference:
        why.append("no uncertainty is stated: it is taken as negligible beside the sensors'")
    return Series(known.name, keys, why, known)


def _statement(
    fields: Fields, stated: Mapping[str, str], keys: dict[str, str | float | list[float]]
) -> Iterator[str]:
    """Set what is stated about a value's uncertainty, and yield the reasons."""
    for key, beside in stated.items():
        level = (number_of(fields.paths[beside][0]) or 0.0) if key == "p" else 0.0
        if key in _OF_WHOLE and not stated.keys() & _OF_WHOLE[key]:
            yield f"{beside} is left out: it would belong to an expanded uncertainty"
        elif level > 1.0:
            keys[key] = round(level / 100.0, 6)
            yield f"{beside} says {level:g} %"
        else:
            keys[key] = beside
            yield f"{beside} {_STATED[key]}"
    if "95" in name_at(stated.get("U", "")) and not stated.keys() & {"k", "p"}:
        keys["p"] = 0.95
        yield "of 95 %, as it is called"


def _errors_and_values(
    known: Known, stated: Sequence[object]
) -> tuple[list[float], Sequence[object]]:
    """Return the usual codes of errors that are far from all other values, and those others."""
    codes = ERROR_VALUES | ERROR_VALUES_OF.get(known.name, frozenset())
    others = [each for each in stated if number_of(each) not in codes]
    numbers = [number for each in others if (number := number_of(each)) is not None]
    if not numbers:
        return [], stated
    least, largest = min(numbers), max(numbers)
    room = max(largest - least, 0.5 * max(abs(least), abs(largest)))
    errors = {
        number
        for each in stated
        if (number := number_of(each)) in codes and not least - room <= number <= largest + room
    }
    return sorted(errors), others if errors else stated


def _basis(known: Known) -> str:
    """Return in words what an assumed u rests on."""
    if known.assumed == UNKNOWN.assumed:
        return "2 % of the value and the last digit heard"
    return "as common data sheets say"


def assumed_u(known: Known, sent: Iterable[object]) -> str:
    """Return the formula of the u that is assumed for values as ``sent``.

    Its least part is the last digit heard; of numbers with more than four digits, the fourth.
    """
    values = [(each, number) for each in sent if (number := number_of(each)) is not None]
    digit = min((_last_digit(each, number) for each, number in values), default=1.0)
    largest = max((abs(number) for _, number in values), default=0.0)
    return known.assumed.format(least=f"{max(digit, largest / _DIGITS_MAX):.0g}")


def _last_digit(stated: object, number: float) -> float:
    """Return the size of the last digit of a number as it was sent, 1 for whole numbers."""
    if isinstance(stated, int):
        return 1.0
    exponent = Decimal(repr(number)).as_tuple().exponent
    return 10.0 ** min(int(exponent), 0)


def _is_missing(fields: Fields, path: str, stated: Mapping[str, str]) -> bool:
    """Return whether some message has the value without its uncertainty."""
    forms = [beside for key, beside in stated.items() if key in _FORMS]
    return any(
        path in each.leaves and not all(beside in each.leaves for beside in forms)
        for each in fields.family.said
    )


def _named_after(fields: Fields, path: str) -> Known:
    name = name_at(path)
    topic = _of_topic(fields) if is_one_of(name, VALUES) or path == "$" else None
    return topic or UNKNOWN._replace(name="value" if path == "$" else name)


def _reason(fields: Fields, path: str) -> str:
    fact = fields.fact(path)
    if fact is not None and fact.quantity:
        return ", as Home Assistant's discovery announces"
    return ""


def _unit(
    fields: Fields, path: str, known: Known, keys: dict[str, str | float | list[float]]
) -> Iterator[str]:
    """Set the unit of a series, and yield the reason."""
    unit_path = _unit_path(fields, path) or _differing(fields, known)
    if unit_path is not None:
        keys["unit_path"] = unit_path
        fields.used.add(unit_path)
        stated = {str(each) for each in fields.paths[unit_path]}
        if known.unit and all(convertible(unit, known.unit) for unit in stated):
            keys["to_unit"] = known.unit
        yield f"{unit_path} states its unit"
        return
    announced, reason = _announced(fields, path, known)
    yield from [reason] if reason else []
    if announced and convertible(announced, known.unit or announced):
        keys["unit"] = announced
        if known.unit and known.unit != announced:
            keys["to_unit"] = known.unit
    elif known.name == "pressure" and _are_pascals(fields.paths[path]):
        keys["unit"], keys["to_unit"] = "Pa", known.unit
        yield "assumed to be in Pa because of its size"
    elif known.unit:
        keys["unit"] = known.unit
        yield f"assumed to be in {known.unit}"
    else:
        yield "no unit is stated: if it has one, write it here as unit"


def _differing(fields: Fields, known: Known) -> str | None:
    """Return the path where payloads state different units of all values of a quantity."""
    path = _UNITS_OF_ALL.get(known.name, "")
    stated = {str(each) for each in fields.paths.get(path, ())}
    is_path = len(stated) > 1 and all(convertible(unit, known.unit) for unit in stated)
    return path if is_path else None


def _announced(fields: Fields, path: str, known: Known) -> tuple[str, str]:
    """Return the unit of a path that is stated elsewhere, "" for none, and the reason."""
    fact = fields.fact(path)
    unit = fields.family.unit or ("" if fact is None else fact.unit)
    if unit:
        return unit, f"{unit} is announced"
    if unit := unit_named_in(name_at(path)):
        return unit, f"{unit} by its name"
    if in_texts := {unit_of(each) for each in fields.paths[path]} - {""}:
        return known.unit or min(in_texts), f"its texts name {', '.join(sorted(in_texts))}"
    beside = _UNITS_OF_ALL.get(known.name, "")
    stated = sorted({str(each) for each in fields.paths.get(beside, ())})
    fields.used.update({beside} & fields.paths.keys())
    if len(stated) > 1:
        return "", f"{beside} differs ({', '.join(stated)}): write a source for each of them"
    unit = "".join(_LETTERS.get(each, each) for each in stated)
    return unit, f"{beside} says {unit}" if unit else ""


def _are_pascals(values: Sequence[object]) -> bool:
    """Return whether air pressures are too large for hPa."""
    return all((number := number_of(each)) is not None and number > _PASCALS_MIN for each in values)


def convertible(unit: str, wanted: str) -> bool:
    """Return whether values of one unit can be kept in another."""
    if unit == wanted:
        return unit.isprintable() and len(unit) <= 32
    return len(unit) <= 32 and converts(unit, wanted)


def _unit_path(fields: Fields, path: str) -> str | None:
    base = above(path)
    for beside, values in fields.paths.items():
        name = name_at(beside)
        is_unit = is_one_of(name, UNITS) or _joins(name, name_at(path), UNITS)
        if above(beside) == base and is_unit and all(isinstance(each, str) for each in values):
            return beside
    return None


def _renamed(fields: Fields, path: str, series: Series) -> Series:
    """Return a quantity that occurs twice in a payload, under a name of its own."""
    name = "_".join(map(str, steps(fields.own(path))))
    why = [*series.why, f"kept apart as {name}: {series.quantity} appears in the payload twice"]
    return series._replace(quantity=name, keys={**series.keys, "quantity": name}, why=why)


def plain_texts(values: Iterable[object]) -> set[str]:
    """Return the texts and whole numbers among values, as texts."""
    return {str(x) for x in values if isinstance(x, str | int) and not isinstance(x, bool)}
