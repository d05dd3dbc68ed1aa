"""Opinions on all series of a table, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from typing_extensions import TypedDict

from monitor.core.formatting import finite, instant
from monitor.core.model import NAN, Bool
from monitor.core.setting import About, Number
from monitor.extensions.neighbours.day_blocks import DAY, DayTable
from monitor.extensions.neighbours.neighbourhoods import Neighbourhood
from monitor.extensions.neighbours.weak_references import Days, Opinion, State, opinions
from monitor.extensions.neighbours.words import neighbours_sentence


class FleetOpinions(NamedTuple):
    """Opinions by row; ``first`` is the day of the table's first row since 1970."""

    of: Mapping[int, Opinion]
    first: int
    common: tuple[str, ...] = ()

    def since(self, row: int) -> float:
        """Return the time (s UTC) from which on a series differs, NaN if it does not."""
        opinion = self.of[row]
        return NAN if opinion.since < 0 else float((self.first + opinion.since) * DAY)


NO_OPINIONS: Final = FleetOpinions({}, 0)


def opinions_in(table: DayTable, fleets: Sequence[Neighbourhood], trusted: Bool) -> FleetOpinions:
    """Return what is found of all series; only those of ``trusted`` rows count as neighbours."""
    of: dict[int, Opinion] = {}
    common: list[str] = []
    for fleet in fleets:
        rows = fleet.rows
        days = Days(table.values[:, rows], table.pairs[:, rows], table.since[rows], fleet.nearby)
        own = opinions(days, trusted[rows])
        of.update(zip(rows.tolist(), own, strict=True))
        common += _common(fleet, own)
    return FleetOpinions(of, table.first, tuple(common))


def _common(fleet: Neighbourhood, own: Sequence[Opinion]) -> Iterator[str]:
    one = next((each for each in own if each.state == "common"), None)
    if one is not None:
        yield (
            f"{fleet.title}: {one.apart} of {one.judged} sensors left their neighbours at once, "
            "for a common cause or since the neighbours themselves are wrong; compare some of them"
        )


class OpinionDocument(TypedDict):
    """What the neighbours of a series say of it since its last reference."""

    state: State
    sentence: Annotated[str, About("The opinion in words.")]
    shift: Annotated[Number, About("How far it left them, in the unit of the quantity.")]
    lower: Annotated[Number, About("Of its 95 % interval.")]
    upper: Number
    since: Annotated[str | None, About("The day from which on it differs, RFC 3339.")]
    neighbours: Annotated[int, About("How many it has.")]
    speaking: Annotated[int, About("How many of them can be asked.")]


class NeighbourMembers(TypedDict, total=False):
    """The member; there with `neighbours.watch`."""

    neighbours: Annotated[OpinionDocument | None, About("Null until they were asked.")]


def opinion_document(opinions: FleetOpinions, row: int, unit: str, quiet: float) -> OpinionDocument:
    """Return what the neighbours of a series say, for JSON; ``quiet`` s without a reference."""
    opinion, since = opinions.of[row], opinions.since(row)
    return OpinionDocument(
        state=opinion.state,
        sentence=neighbours_sentence(opinion, unit, quiet, since),
        shift=finite(opinion.shift),
        lower=finite(opinion.lower),
        upper=finite(opinion.upper),
        since=instant(since) or None,
        neighbours=opinion.neighbours,
        speaking=opinion.speaking,
    )
