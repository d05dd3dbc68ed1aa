"""Pairs in words, the rules that make them, and why two observations are not one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import pair_columns
from monitor.core.formatting import duration
from monitor.core.model import Reading, Records, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import SeriesKey
from monitor.explain.explanation import Changed, Pair, Series, plain, seven_digits, utc

_SUSPECT_RATIO: Final = 1.0 / 3.0


def series_of(
    key: SeriesKey, rules: SeriesRules, match_on: Collection[str], concerns: Iterable[Concern]
) -> Series:
    """Return a series with its rules in a sentence."""
    return Series(
        sensor=key.sensor,
        quantity=key.quantity,
        group=rules.group,
        unit=rules.unit,
        mode=rules.pairing.mode,
        tolerance_seconds=rules.pairing.tolerance_seconds,
        window_pairs=rules.window_pairs,
        sentence=rules_sentence(rules, match_on),
        concerns=[_concern_in_words(concern) for concern in concerns],
    )


def _concern_in_words(concern: Concern) -> str:
    away = f" ({seven_digits(concern.distance_km)} km away)" if concern.distance_km else ""
    if math.isinf(concern.end):
        return f"{concern.subject}{away}"
    return f"{concern.subject}{away} from {utc(concern.start)} to {utc(concern.end)}"


def rules_sentence(rules: SeriesRules, match_on: Collection[str]) -> str:
    """Return in words how a series is paired and how far back its window reaches."""
    pairing = rules.pairing
    how = PAIRING_RULES[pairing.mode].sentence.format(
        tolerance=duration(pairing.tolerance_seconds),
        reading=duration(pairing.reading_seconds),
        completeness=pairing.completeness,
        most=pairing.max_pairs_per_reference,
    )
    lag = ""
    if pairing.lag_seconds:
        later = "later" if pairing.lag_seconds > 0 else "earlier"
        lag = f"; readings see a thing {duration(pairing.lag_seconds)} {later} than references"
    *most, last = ["quantity", *sorted(match_on, reverse=True)]
    agree = f"{', '.join(most)} and {last}" if most else last
    days = rules.window_seconds
    age = "" if math.isinf(days) else f" of at most {duration(days)}"
    same = "agree" if match_on else "agrees"
    return f"{how}{lag}, where {agree} {same}; window: the last {rules.window_pairs} pairs{age}"


def pair_of(row: Records, change: Changed, key: SeriesKey, rules: SeriesRules) -> Pair:
    """Return one row of ``PAIR`` in the form an explanation shows."""
    whole = pair_columns(row.reshape(1), np.zeros(1, dtype=np.int64), rules.level)
    z, u, u_ref = float(whole.z[0]), float(whole.u[0]), float(row["u_ref"])
    return Pair(
        change=change,
        sensor=key.sensor,
        quantity=key.quantity,
        unit=rules.unit,
        time=utc(float(row["time"])),
        value=float(row["value"]),
        reference=float(row["reference"]),
        error=float(whole.error[0]),
        u=u,
        u_stated=not math.isnan(row["u"]),
        u_ref=u_ref,
        u_pair=float(row["u_pair"]),
        u_eff=float(whole.u_eff[0]),
        z=z,
        inside=bool(whole.inside[0]),
        sentence=_z_sentence(z),
        warning=_warning(u, u_ref),
    )


def _z_sentence(z: float) -> str:
    if math.isnan(z):
        return "nothing here is uncertain, so there is no z"
    size = f"{abs(z):.1f}" if abs(z) < 99.95 else f"{abs(z):.3g}"
    return f"{size} u_eff {'above' if z >= 0 else 'below'} the reference"


def _warning(u: float, u_ref: float) -> str:
    if not u_ref > u * _SUSPECT_RATIO:
        return ""
    return f"u_ref is {u_ref / u:.0%} of u; above a third the reference is hardly one"


class Miss(NamedTuple):
    """Why a reading and a reference are not a pair; the one that got farthest says most."""

    stage: int
    seconds: float
    why: str


class JoinConditions(NamedTuple):
    """Conditions for a pair, and which references concern the sensor."""

    match_on: Collection[str]
    concerns: Collection[Concern]
    rules: Rules


def nearest_miss(misses: Iterable[Miss], nothing: str) -> str:
    """Return why the likeliest of several candidates is not a pair."""
    near = list(misses)
    if not near:
        return nothing
    return max(near, key=lambda miss: (miss.stage, -miss.seconds)).why


def miss(reading: Reading, reference: Reference, conditions: JoinConditions) -> Miss:
    """Return why ``reading`` and ``reference`` are not a pair, checked in the order of pairing."""
    rules = conditions.rules
    seconds = reading.time - rules.lag_seconds - reference.time
    apart = abs(seconds)
    if reading.quantity != reference.quantity:
        why = f"another quantity: {reference.quantity!r} beside the reading's {reading.quantity!r}"
        return Miss(0, apart, why)
    concerns = [each for each in conditions.concerns if each.subject == reference.subject]
    if "subject" in conditions.match_on and not concerns:
        about = f"another subject: the reference is about {reference.subject!r}, the reading is of "
        return Miss(1, apart, about + repr(reading.sensor))
    if "key" in conditions.match_on and reading.key != reference.key:
        alike = _alike(reading.key, reference.key)
        return Miss(2 + alike[0], apart, _key_sentence(reading, reference) + alike[1])
    if concerns and not any(each.start <= reference.time <= each.end for each in concerns):
        why = f"{reference.subject!r} did not stand beside {reading.sensor!r} at that time"
        return Miss(4, apart, why)
    return Miss(5, apart, _time_sentence(reading, reference, rules, seconds))


def _key_sentence(reading: Reading, reference: Reference) -> str:
    return (
        f"another key: the reading has {plain(reading.key)!r}, "
        f"the reference {plain(reference.key)!r}"
    )


def _alike(one: str, other: str) -> tuple[int, str]:
    """Return how likely two keys are two spellings of one, and what would correct it."""
    bare = ["".join(filter(str.isalnum, key)) for key in (one, other)]
    if bare[0] and bare[0] == bare[1]:
        return 1, "; they differ only in spaces or signs: key_remove in the mapping removes them"
    if bare[0] and bare[0].lower() == bare[1].lower():
        return 1, "; they differ only in case: key_case in the mapping makes them equal"
    return (1 if get_close_matches(one, [other]) else 0), ""


def _time_sentence(reading: Reading, reference: Reference, rules: Rules, seconds: float) -> str:
    rule = PAIRING_RULES[rules.mode]
    why = rule.why_unpaired(reading, reference, rules, duration)
    if why:
        return why
    over = abs(seconds) - rules.tolerance_seconds
    if rule.uses_tolerance and over > 0:
        return (
            f"{duration(over)} too far apart in time: reading and reference are "
            f"{duration(seconds)} apart, at most {duration(rules.tolerance_seconds)} is allowed"
        )
    return "another reading or reference is nearer in time"


def net_changes(
    rows: Records, standing: dict[tuple[int, int], Records]
) -> list[tuple[Changed, Records]]:
    """Return the net changes of pairs, and note in ``standing`` the pairs that stand now."""
    last = {(int(row["series"]), int(row["id"])): row for row in rows}
    changes: list[tuple[Changed, Records]] = []
    for name, row in last.items():
        before = standing.pop(name, None)
        if not row["removed"]:
            standing[name] = row
            changes.append(("made" if before is None else "changed", row))
        elif before is not None:
            changes.append(("taken back", before))
    return changes
