"""The sentences about single sensors and subjects that do not pair while others do.

Rules of this file: the first few are described one by one, the rest with the same cause by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import isnan
from typing import Final

from monitor.core.formatting import duration
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.unpaired import Unpaired, half_hours
from monitor.core.pairing.unpaired_members import Member
from monitor.errors import NO_PAIRS
from monitor.mqtt.topic_templates import Template

_ONE_BY_ONE: Final = 3
_NAMED: Final = 10
# A statement about a whole quantity is not repeated for each of its sensors.
_SAID_OF_ALL: Final = {
    "no_references": {"subject", "no_sensor"},
    "subject": {"subject", "no_sensor"},
}


def standing_out(members: Iterable[Member], quantities: Iterable[Unpaired]) -> list[Member]:
    """Return the members whose cause differs from that of their whole quantity."""
    causes = {
        each.quantity: _SAID_OF_ALL.get(each.cause, {each.cause})
        for each in quantities
        if each.cause != "paired"
    }
    return [each for each in members if each.cause not in causes.get(each.quantity, ())]


def member_findings(members: Sequence[Member]) -> Iterable[str]:
    """Yield a sentence for each of the first members with a cause, and one for the others."""
    for _, group in groupby(members, key=lambda each: (each.quantity, each.cause)):
        alike = list(group)
        telling = sorted(alike, key=lambda each: each.nearest is None)
        yield from map(_sentence, telling[:_ONE_BY_ONE])
        rest = telling[_ONE_BY_ONE:]
        if rest:
            names = _some([each.name for each in rest])
            yield f"{alike[0].quantity}: the same of {len(rest)} more: {names}"


def shared_findings(
    shared: Mapping[tuple[str, str], Sequence[str]], templates: Sequence[str]
) -> Iterable[str]:
    """Yield a sentence for each of the first sensors that several topics name, one for the others.

    ``shared`` has the topics of such series, ``templates`` are those of the sources.
    """
    sensors = {sensor: (quantity, shared[sensor, quantity]) for sensor, quantity in shared}
    for sensor in [*sensors][:_ONE_BY_ONE]:
        quantity, topics = sensors[sensor]
        yield (
            f"{quantity}: {sensor!r} is read on {len(topics)} topics, such as {topics[0]!r} and "
            f"{topics[1]!r}. If these are two sensors, give them two names: in the map's sensor, "
            f'such as "{_telling(topics, templates)}.{{sensor}}"'
        )
    if rest := [*sensors][_ONE_BY_ONE:]:
        yield f"several topics also carry {_some(rest)}"


def _telling(topics: Sequence[str], templates: Sequence[str]) -> str:
    """Return the field in which topics of one source differ, else words that differ."""
    for template in map(Template.parse, templates):
        one, other = map(template.match, topics[:2])
        if one is not None and other is not None:
            return next((f"{{{name}}}" for name in one if one[name] != other[name]), "upstairs")
    return "upstairs"


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")


def _sentence(member: Member) -> str:
    if member.cause == "no_sensor":
        return (
            f"{member.quantity}: the references about {member.name!r} ({member.references} held) "
            f"concern no sensor that sends readings{nearly(member)}; see {NO_PAIRS}"
        )
    if member.cause == "clock":
        return f"{member.quantity}: {_of_clock(member)}"
    return (
        f"{member.quantity}: {member.name!r} has no pair ({member.readings} of its readings wait): "
        f"{_why(member)}; see {NO_PAIRS}"
    )


def _of_clock(member: Member) -> str:
    off = member.late_seconds - member.usual_seconds
    if off > 0:
        shift = f"at least {duration(off)} longer"
        question = f"is its clock {duration(off)} slow, or does it send late?"
    else:
        shift = f"{duration(-off)} shorter"
        question = f"is its clock {duration(-off)} fast?"
    zone = half_hours(off)
    hint = f" That is {abs(zone):g} h: is a time zone wrong?" if zone else ""
    pairs = "" if member.paired else " It has no pair."
    delay = f"readings of {member.name!r} arrive with a delay after their stated times that is"
    return f"{delay} {shift} than for the other sensors: {question}{hint}{pairs}"


def _why(member: Member) -> str:
    match member.cause:
        case "subject":
            return f"no reference is about it{nearly(member)}"
        case "key":
            return (
                f"none of its keys is one of the {member.references} references about it"
                f"{nearly(member)}"
            )
        case "tolerance":
            return f"its nearest reading is {apart(member)}: is its clock right?"
        case "collocation":
            return "no reference is of a time when its subject stood beside it"
        case _:
            return unmet(member)


def apart(case: Member | Unpaired) -> str:
    """Return how far the nearest reading is from its reference, and how far it may be."""
    return (
        f"{duration(abs(case.gap_seconds))} {case.gap_side} its reference (median), "
        f"the tolerance is {duration(case.tolerance_seconds)}"
    )


def unmet(case: Member | Unpaired) -> str:
    """Return what the pairing rule lacks."""
    seconds = case.tolerance_seconds  # NaN for a rule without one, whose sentence names none
    tolerance = "" if isnan(seconds) else duration(seconds)
    return PAIRING_RULES[case.mode].unmet.format(tolerance=tolerance)


def nearly(case: Member | Unpaired) -> str:
    """Return the two names of both sides that nearly agree, in brackets."""
    if case.nearest is None:
        return ""
    one, other = case.nearest
    return f" ({one!r} and {other!r} nearly agree)"
