"""What neighbours say of a sensor, in words that follow its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from monitor.core.formatting import amount, count_of, date_time, duration, significant
from monitor.extensions.neighbours.weak_references import (
    LEARNT_MIN,
    NEIGHBOURS_MIN,
    Opinion,
    State,
)

ADVICE: Final = "compare it with a reference next"
_DAY: Final = 86_400.0
_SAY_NOTHING: Final = "its neighbours say nothing"
_SENTENCES: Final[Mapping[State, str]] = {
    "agrees": "agrees with {some}: they say {shift}, no more than sensors of its fleet differ",
    "common": "its neighbours say {shift}, but {apart} of {judged} sensors left theirs at once: a "
    "common cause, or neighbours that are wrong, so nothing is claimed of one",
    "compared": "is compared with references often; its neighbours add nothing",
    "learning": f"{_SAY_NOTHING} yet: they are learnt on {LEARNT_MIN} days or more near its "
    "references, and the fleet on the days after",
    "no_pair": f"{_SAY_NOTHING}: without a reference since its last event nobody knows how it "
    "reads beside them when it is right",
    "suspect": f"{_SAY_NOTHING}: its own references call it wrong",
    "few": f"{_SAY_NOTHING}: {{some}} can be trusted and have met a reference; it takes "
    f"{NEIGHBOURS_MIN}",
}


def apart_clause(opinion: Opinion, unit: str, quiet: float, since: float) -> str:
    """Return what a verdict's sentence ends with.

    The series sent for ``quiet`` s since its last reference, and differs ``since`` a time, s UTC.
    """
    silence = f"quiet for {duration(quiet, 1)} since its last reference; " if quiet >= _DAY else ""
    shift = _shift(opinion, unit)
    return f"{silence}its neighbours say {shift} since {date_time(since, '%Y-%m-%d')}"


def neighbours_sentence(opinion: Opinion, unit: str, quiet: float, since: float) -> str:
    """Return what is known of one series by its neighbours, or why nothing is."""
    if opinion.state == "apart":
        return f"{apart_clause(opinion, unit, quiet, since)}: {ADVICE}"
    if opinion.neighbours < NEIGHBOURS_MIN:
        some = count_of(opinion.neighbours, "neighbour")
        return f"{_SAY_NOTHING}: it has {some}; it takes {NEIGHBOURS_MIN}"
    return _SENTENCES[opinion.state].format(
        some=f"{opinion.speaking} of its {count_of(opinion.neighbours, 'neighbour')}",
        shift=_shift(opinion, unit),
        apart=opinion.apart,
        judged=opinion.judged,
    )


def _shift(opinion: Opinion, unit: str) -> str:
    sign = "+" if opinion.shift > 0.0 else ""
    ends = f"{significant(opinion.lower)} to {significant(opinion.upper)}"
    return f"{sign}{amount(opinion.shift, unit)} ({ends})"
