"""Which source reads a topic; of those that do not, where each fails and which comes nearest."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from monitor.config import Source
from monitor.explain.document import Tried
from monitor.mqtt.topic_templates import Template


class _Miss(NamedTuple):
    """How well a template fits, and the first level that does not."""

    score: float
    why: str


def tried(sources: Sequence[Source], topic: str) -> list[Tried]:
    """Return every source's template with its verdict on ``topic``, in the order of the settings.

    Only the first that fits reads the message. Where none does, the nearest is marked.
    """
    found: list[Tried] = []
    misses: list[_Miss] = []
    for at, source in enumerate(sources):
        fits = Template.parse(source.topic).match(topic) is not None
        miss = _Miss(0.0, "") if fits else _miss(source.topic, topic)
        why = miss.why
        if fits and any(each.fits for each in found):
            why = "fits too, but the first that fits reads the message"
        found.append(Tried(f"sources[{at}]", source.topic, fits, why))
        misses.append(miss)
    if not any(each.fits for each in found):
        nearest = max(range(len(found)), key=lambda at: misses[at].score)
        near = found[nearest]
        found[nearest] = Tried(near.source, near.template, fits=False, why=near.why, nearest=True)
    return found


def _miss(template: str, topic: str) -> _Miss:
    if topic.startswith("$") and template[0] in "{+#":
        return _Miss(0.0, "a first wildcard or field does not take topics that begin with $")
    wanted, given = template.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted = wanted[:-1]
        given = given[: len(wanted)]
    levels = [_level(*each) for each in enumerate(zip_longest(wanted, given), 1)]
    score = sum(alike for alike, _ in levels) / len(levels)
    failing = [at for at, (_, why) in enumerate(levels, 1) if why]
    if not failing:
        return _Miss(score, "")
    rest = ", ".join(map(str, failing[1:]))
    more = f"; {rest} {'do' if len(failing) > 2 else 'does'} not fit either" if rest else ""
    return _Miss(score, levels[failing[0] - 1][1] + more)


def _level(at: int, pair: tuple[str | None, str | None]) -> tuple[float, str]:
    """Return how alike one level is, from 0 to 1, and why it does not fit."""
    want, got = pair
    if want is None:
        return 0.0, f"level {at} is {got!r}, where the template has ended"
    if got is None:
        return 0.0, f"level {at} is missing, the template has {want!r}"
    if want == "+" or want[0] == "{":
        return 0.5, ""
    if want == got:
        return 1.0, ""
    alike = SequenceMatcher(None, want.lower(), got.lower()[:1000]).ratio()
    return 0.9 * alike, f"level {at} is {got!r}, the template has {want!r}"
