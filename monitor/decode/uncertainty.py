"""The forms in which uncertainty is stated, converted to a standard uncertainty or an interval.

Rules of this file: everything is in the unit of the payload; one form for u and one for the
interval may be combined; numbers are only derived here, and :mod:`monitor.decode.checks` refuses
them later, except those that a division or a root needs.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from simpleeval import SimpleEval

from monitor.core.model import NAN
from monitor.core.scores.ensembles import mean_and_u
from monitor.decode.checks import (
    NOT_CENTRAL,
    Rejected,
    central,
    check_number,
    check_p,
    check_u,
    expanded_to_standard,
)
from monitor.decode.paths import (
    MISSING,
    Fetchers,
    Number,
    Place,
    shown,
    to_number,
)
from monitor.decode.spec import MapError, SeriesSpec

_U_FORMS: Final = ("u", "U", "percent", "samples")
_INTERVAL_FORMS: Final = ("lower", "plus_minus", "quantiles")
# What a coverage factor and a probability are of; without it they mean nothing.
_WHOLES: Final = {"k": ("U", "percent"), "p": ("U", "percent", "lower", "plus_minus")}
_SAMPLES_MAX: Final = 100_000
_FORMULA_CHARACTERS_MAX: Final = 200
_SHOWN: Final = 40
_TRIED: Final = (1.0, 2.0)  # one of them may be the only value that a formula cannot be made of


class Claim(NamedTuple):
    """A distribution: ascending quantiles at ascending ``levels``; members if ``levels`` is empty.

    ``places`` are the quantiles or members, in the unit of the payload.
    """

    places: tuple[float, ...]
    levels: tuple[float, ...] = ()

    def converted(self, scale: float, offset: float) -> Claim:
        """Return the claim in another unit, in which x becomes ``scale`` x + ``offset``."""
        places = tuple(scale * place + offset for place in self.places)
        if scale > 0.0:
            return Claim(places, self.levels)
        return Claim(places[::-1], tuple(1.0 - level for level in reversed(self.levels)))


class Stated(NamedTuple):
    """A record's statement of one quantity; not stated is NaN, or None for the distribution."""

    value: float
    u: float = NAN
    lower: float = NAN
    upper: float = NAN
    p: float = NAN
    claim: Claim | None = None


Form = Callable[[object, object, Stated], Stated]


def forms(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> list[Form]:
    """Return the functions that add to a value its stated uncertainty; raises MapError."""
    if spec.stated:
        return [_as_stated(spec, fetchers, place)]
    _check_whole(spec, place)
    if isinstance(spec.p, float):
        try:
            check_p(spec.p)
        except Rejected as error:
            raise MapError((*place, "p"), error.detail) from error
    stated: list[Form] = []
    for names in (_U_FORMS, _INTERVAL_FORMS):
        given = [name for name in names if _is_given(getattr(spec, name))]
        if len(given) > 1:
            raise MapError((*place, given[1]), f"conflicts with {given[0]}; give one of the two")
        stated += [_FORMS[name](spec, fetchers, place) for name in given]
    return stated


def _check_whole(spec: SeriesSpec, place: Place) -> None:
    """Raise MapError for a limit without the other, and for a factor or probability of nothing."""
    if bool(spec.lower) != bool(spec.upper):
        lone = "lower" if spec.lower else "upper"
        raise MapError((*place, lone), "needs the other limit; give lower and upper")
    for name, wholes in _WHOLES.items():
        if _is_given(getattr(spec, name)) and not any(_is_given(getattr(spec, x)) for x in wholes):
            raise MapError((*place, name), f"has no effect without {' or '.join(wholes)}")


def _is_given(setting: object) -> bool:
    return not (isinstance(setting, str) and not setting) and setting != {}


def _optional(setting: float | str, fetchers: Fetchers, place: Place) -> Number | None:
    return fetchers.number(setting, place) if _is_given(setting) else None


def _as_stated(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    """Take what a record states of u, U with k or p, and an interval with p."""
    u, expanded, factor, p, lower, upper = (
        fetchers.number_if_stated(getattr(spec, name), (*place, name))
        for name in ("u", "U", "k", "p", "lower", "upper")
    )

    def form(root: object, record: object, stated: Stated) -> Stated:
        own_u, own_p = u(root, record), p(root, record)
        low, high = lower(root, record), upper(root, record)
        if math.isnan(own_u):
            whole = expanded(root, record)
            if not math.isnan(whole):
                given = (None if math.isnan(x) else x for x in (factor(root, record), own_p))
                own_u = expanded_to_standard(whole, *given)
        value = low + (high - low) / 2.0 if math.isnan(stated.value) else stated.value
        return Stated(value, own_u, low, high, own_p)

    return form


def _standard(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    number = fetchers.number(spec.u, (*place, "u"))
    return lambda root, record, stated: stated._replace(u=number(root, record))


def _expanded(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    expanded = fetchers.number(spec.U, (*place, "U"))
    return _by_factor(spec, fetchers, place, lambda root, record, _: expanded(root, record))


def _percent(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    percent = fetchers.number(spec.percent, (*place, "percent"))
    return _by_factor(
        spec, fetchers, place, lambda root, record, x: percent(root, record) / 100.0 * abs(x)
    )


def _by_factor(
    spec: SeriesSpec,
    fetchers: Fetchers,
    place: Place,
    expanded: Callable[[object, object, float], float],
) -> Form:
    factor = _optional(spec.k, fetchers, (*place, "k"))
    p = None if factor else _optional(spec.p, fetchers, (*place, "p"))

    def form(root: object, record: object, stated: Stated) -> Stated:
        u = expanded_to_standard(
            expanded(root, record, stated.value),
            factor(root, record) if factor else None,
            p(root, record) if p else None,
        )
        return stated._replace(u=u)

    return form


def _samples(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    """Mean of an ensemble, the value if none is mapped, and the u of one more member."""
    fetch, name = fetchers.fetch(spec.samples, (*place, "samples")), shown(spec.samples)

    def form(root: object, record: object, stated: Stated) -> Stated:
        samples = fetch(root, record)
        if samples is MISSING:
            raise Rejected("missing_field", f"samples are missing at `{name}`", name)
        if not isinstance(samples, list | tuple) or not 2 <= len(samples) <= _SAMPLES_MAX:
            detail = f"samples at `{name}` must be a list of 2 or more numbers"
            raise Rejected("bad_field", detail, name)
        try:
            numbers = [
                fetchers.scale
                * check_number("a sample", to_number(f"samples at `{name}`", each, texts=False))
                + fetchers.offset
                for each in samples
            ]
        except Rejected as error:
            raise error.at(name) from None
        mean, u = mean_and_u(numbers)
        value = mean if math.isnan(stated.value) else stated.value
        return stated._replace(value=value, u=u, claim=Claim(tuple(numbers)))

    return form


def _limits(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    lower = fetchers.number(spec.lower, (*place, "lower"))
    upper = fetchers.number(spec.upper, (*place, "upper"))
    p = _optional(spec.p, fetchers, (*place, "p"))

    def form(root: object, record: object, stated: Stated) -> Stated:
        low, high = lower(root, record), upper(root, record)
        level = p(root, record) if p else NAN
        value = low + (high - low) / 2.0 if math.isnan(stated.value) else stated.value
        return stated._replace(value=value, lower=low, upper=high, p=level)

    return form


def _plus_minus(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    half = fetchers.number(spec.plus_minus, (*place, "plus_minus"))
    p = _optional(spec.p, fetchers, (*place, "p"))
    if not spec.value:
        raise MapError((*place, "plus_minus"), "needs a value at its centre; give value")

    def form(root: object, record: object, stated: Stated) -> Stated:
        width = check_u("plus_minus", half(root, record))
        return stated._replace(
            lower=stated.value - width,
            upper=stated.value + width,
            p=p(root, record) if p else NAN,
        )

    return form


def _quantiles(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Form:
    """Make a form of quantiles, all of which are kept.

    The outermost with as much beyond either are the interval, the median the value if none is
    mapped.
    """
    place = (*place, "quantiles")
    levels = sorted((_level(text, place), path) for text, path in spec.quantiles.items())
    at = tuple(level for level, _ in levels)
    if len(set(at)) < len(at):
        raise MapError(place, "has a level twice; keep one")
    ends = central(at)
    if ends is None:
        raise MapError(place, NOT_CENTRAL)
    low, high = ends
    numbers = [fetchers.number(path, (*place, str(level))) for level, path in levels]
    places = [shown(path) for _, path in levels]
    median = at.index(0.5) if 0.5 in at else None
    p = round(at[high] - at[low], 12)

    def form(root: object, record: object, stated: Stated) -> Stated:
        quantiles = tuple(number(root, record) for number in numbers)
        if quantiles[low] < quantiles[high]:  # else the interval is refused
            _check_ascent(quantiles, at, places)
        value = stated.value
        if math.isnan(value) and median is not None:
            value = quantiles[median]
        return Stated(value, stated.u, quantiles[low], quantiles[high], p, Claim(quantiles, at))

    return form


def _check_ascent(
    quantiles: tuple[float, ...], levels: tuple[float, ...], places: Sequence[str]
) -> None:
    """Refuse a quantile that is below the one before it."""
    for at in range(1, len(quantiles)):
        if not quantiles[at - 1] <= quantiles[at]:
            raise Rejected(
                "bad_uncertainty",
                f"the quantile {levels[at]:g} ({quantiles[at]:g}) is below the quantile "
                f"{levels[at - 1]:g} ({quantiles[at - 1]:g})",
                places[at],
            )


def _level(text: str, place: Place) -> float:
    try:
        return check_p(float(text))
    except (ValueError, Rejected) as error:
        raise MapError(place, f"{text[:20]!r} is not a level; write for example '0.05'") from error


_FORMS: Final[Mapping[str, Callable[[SeriesSpec, Fetchers, Place], Form]]] = {
    "u": _standard,
    "U": _expanded,
    "percent": _percent,
    "samples": _samples,
    "lower": _limits,
    "plus_minus": _plus_minus,
    "quantiles": _quantiles,
}


def _float_of(node: ast.Constant) -> float:
    if isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    raise ValueError(f"{str(node.value)[:_SHOWN]!r} is not a number")


# Of floats alone, whose operations are over at once: whole numbers and texts may grow without end.
_OPERATORS: Final[Mapping[type[ast.AST], Callable[..., object]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: lambda base, exponent: float(base) ** float(exponent),
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Gt: operator.gt, ast.Lt: operator.lt, ast.GtE: operator.ge, ast.LtE: operator.le,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_NODES: Final = (
    ast.Name, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
)  # fmt: skip


def formula(text: str, place: Place) -> Callable[[float], float]:
    """Return u as a function of value; raises MapError if ``text`` is not such a formula."""
    if len(text) > _FORMULA_CHARACTERS_MAX:
        raise MapError(place, f"is longer than {_FORMULA_CHARACTERS_MAX} characters")
    names: dict[str, float] = {}
    known = {"abs": abs, "sqrt": math.sqrt, "max": max, "min": min}
    evaluator = SimpleEval(operators=_OPERATORS, functions=known, names=names)
    evaluator.nodes = {kind: evaluator.nodes[kind] for kind in _NODES}
    evaluator.nodes[ast.Constant] = _float_of
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
        _check_result(lambda: evaluator.eval(text, previously_parsed=parsed), names)
    except Exception as error:
        detail = "is not a formula of value with abs, sqrt, max and min"
        raise MapError(place, f"{detail}: {error}") from error

    def evaluate(value: float) -> float:
        names["value"] = value
        try:
            u = evaluator.eval(text, previously_parsed=parsed)
        except Exception as error:  # simpleeval raises many kinds of errors
            detail = f"{text!r} of {value:g} fails: {error}"
            raise Rejected("bad_uncertainty", detail, field="assumed u") from error
        try:
            return check_u("assumed u", to_number(f"{text!r} of {value:g}", u, texts=False))
        except Rejected as error:
            error.field = "assumed u"
            raise

    return evaluate


def _check_result(result: Callable[[], object], names: dict[str, float]) -> None:
    """Raise TypeError if a formula is no number, ValueError if it fails whatever the value."""
    for names["value"] in _TRIED:
        with suppress(ArithmeticError):
            if not isinstance(u := result(), int | float | complex):
                raise TypeError(f"it is {type(u).__name__}, not a number")
            return
    raise ValueError("it is too large, or divides by zero, whatever the value")
