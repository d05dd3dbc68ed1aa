"""Which blocks a message concerns, so that readings and their references meet.

Rules of this file: a sensor's block is a function of its name alone. A reference goes to the block
of its subject and is copied to the blocks of all sensors that the settings say it concerns; where
these cannot be named beforehand (patterns, collocations, references that are matched only by key)
it is copied to every block. So are Sparkplug's births, and data by aliases that this process does
not know, since the blocks may. A copy that no sensor of a block needs does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from monitor.config.concerns import concerns_of, read_places
from monitor.config.core_plan import router_of, supplements_of
from monitor.config.settings import Settings
from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing.identities import digest
from monitor.core.pairing.reference_revisions import names_nobody
from monitor.decode.route import Maintenance, Route
from monitor.decode.router import DECODERS, Decoded, Router
from monitor.decode.supplement import RecordReader, Supplement
from monitor.extensions.cluster.settings import cluster_of
from monitor.mqtt.topic_templates import Template

EVERY: Final[tuple[int, ...]] = ()
_WILD: Final = frozenset("*?[")
_BY_TOPIC: Final = "{sensor}"
_SENSORS_KNOWN_MAX: Final = 1_000_000


def block_of(sensor: str, blocks: int) -> int:
    """Return the block of a sensor, the same in every process."""
    return digest(sensor) % blocks


def default_u_only(settings: Settings) -> list[Supplement]:
    """Return what a cluster reads of the extensions: no topics, and no numbers beside readings."""
    return [Supplement(default_u=each.default_u) for each in supplements_of(settings)]


class Placing:
    """Knows the blocks of each message; ``EVERY`` means all of them."""

    def __init__(self, settings: Settings) -> None:
        self.blocks: Final = cluster_of(settings).blocks
        self.partitions: Final = cluster_of(settings).log.partitions
        self.wait_seconds: Final = settings.pairing.max_wait_hours * 3600.0
        self.router: Final = router_of(settings, supplements=default_u_only(settings))
        self._block_of: Final[Callable[[str], tuple[int, ...]]] = lru_cache(_SENSORS_KNOWN_MAX)(
            lambda sensor: (block_of(sensor, self.blocks),)
        )
        by_subject = "subject" in settings.pairing.match_on
        collocated = any(source.kind == "collocation" for source in settings.sources)
        self._everywhere: Final[tuple[str, ...]] = (
            ("*",)
            if not by_subject
            else tuple(cluster_of(settings).collocated_subjects)
            if collocated
            else ()
        )
        self._of_areas: Final = _blocks_of_areas(settings)
        self._births: Final = [
            Template.parse(source.topic)
            for source in settings.sources
            if DECODERS[source.decoder].has_births
        ]

    def places(self, topics: Sequence[str], decoded: Decoded) -> list[tuple[int, ...]]:
        """Return the blocks of each message, in ascending order; EVERY for all."""
        places: list[set[int] | None] = [set() for _ in topics]
        of = self._block_of
        plain, others = decoded.observations.plain, decoded.observations.others
        names = (plain.names[which] for which in plain.which.tolist())
        for (sensor, _), at in zip(names, decoded.sources, strict=False):
            known = places[at]
            if known is not None:
                known.update(of(sensor))
        for observation, at in zip(others, decoded.sources[len(plain) :], strict=True):
            known = places[at]
            if known is not None:
                if isinstance(observation, Reading):
                    more = of(observation.sensor)
                else:
                    more = self._of(observation)
                if more:
                    known.update(more)
                else:
                    places[at] = None
        for at in self._unknown(topics, decoded):
            places[at] = None
        return [self._settled(blocks, topic) for blocks, topic in zip(places, topics, strict=True)]

    def partitioned(self, blocks: Sequence[int]) -> dict[int, list[int]]:
        """Return the partitions to write to with the blocks named in each; no names mean all."""
        if not blocks:
            return {partition: [] for partition in range(self.partitions)}
        groups: dict[int, list[int]] = {}
        for block in blocks:
            groups.setdefault(block % self.partitions, []).append(block)
        return groups

    # -- inside -----------------------------------------------------------------------------

    def _settled(self, blocks: set[int] | None, topic: str) -> tuple[int, ...]:
        if blocks is None or len(blocks) > max(1, self.blocks // 2) or self._is_birth(topic):
            return EVERY if self.blocks > 1 else (0,)
        if blocks:
            return tuple(sorted(blocks))
        return self._block_of(self.router.sensor_of(topic) or topic)

    def _unknown(self, topics: Sequence[str], decoded: Decoded) -> Iterator[int]:
        """Yield the messages of which nothing says here whose readings they have."""
        for at, refused in decoded.refused:
            if refused.reason == "unknown_alias" and not self._is_named(topics[at]):
                yield at

    def _is_named(self, topic: str) -> bool:
        """Whether a topic alone names the sensor of its readings, whatever the payload says."""
        route = self.router.route_of(topic)
        is_plain = route is None or route.mapped is None or route.mapped.spec.sensor == _BY_TOPIC
        return is_plain and bool(self.router.sensor_of(topic))

    def _is_birth(self, topic: str) -> bool:
        """Whether a message defines Sparkplug's aliases, which every block may need."""
        for template in self._births:
            fields = template.match(topic)
            if fields is not None:
                return fields.get("message", "").endswith("BIRTH")
        return False

    def _of(self, observation: Observation) -> tuple[int, ...]:
        if not isinstance(observation, Reference):
            return self._block_of(observation.sensor)
        subject = observation.subject
        if names_nobody(observation):
            return EVERY
        if any(fnmatchcase(subject, pattern) for pattern in self._everywhere):
            return EVERY
        of_areas = self._of_areas.get(subject, frozenset())
        if of_areas is None:
            return EVERY
        return (*self._block_of(subject), *of_areas)


def _blocks_of_areas(settings: Settings) -> Mapping[str, frozenset[int] | None]:
    """Return the blocks of the sensors that references of a subject concern, None for all."""
    areas: dict[str, set[int] | None] = {}
    named = {place.sensor for place in settings.places}
    if settings.places_file is not None:
        named.update(place.sensor for place in read_places(Path(settings.places_file)))
    for area in settings.areas:
        placed = area.site is not None or area.radius_km is not None
        patterns = ("*",) if area.sensors is None else area.sensors
        if not placed and any(_WILD.intersection(pattern) for pattern in patterns):
            areas[area.subject] = None
        named.update(pattern for pattern in patterns if not _WILD.intersection(pattern))
    concerns = concerns_of(settings)
    for sensor in named if settings.areas else ():
        for concern in concerns(sensor):
            known = areas.setdefault(concern.subject, set())
            if known is not None:
                known.add(block_of(sensor, cluster_of(settings).blocks))
    return {
        subject: None if blocks is None else frozenset(blocks) for subject, blocks in areas.items()
    }


class OwnRouter(Router):
    """A router that leaves out observations for sensors of other blocks.

    ``is_own`` says whose are kept; the rest is what :class:`Router` takes.
    """

    def __init__(
        self,
        is_own: Callable[[str], bool],
        routes: Sequence[Route],
        payload_bytes_max: int,
        maintenance: Maintenance | None = None,
        readers: Sequence[RecordReader] = (),
    ) -> None:
        super().__init__(routes, payload_bytes_max, maintenance, readers)
        self._is_own: Final = is_own

    def decode_all(
        self,
        topics: Sequence[str],
        payloads: Sequence[bytes],
        received: float,
        clock: float | None = None,
        retained: Collection[int] = (),
    ) -> Decoded:
        """Return what messages say about sensors of this block, and all references."""
        decoded = super().decode_all(topics, payloads, received, clock, retained)
        plain, others = decoded.observations.plain, decoded.observations.others
        owners = [plain.names[which][0] for which in plain.which.tolist()]
        own = [at for at, sensor in enumerate(owners) if self._is_own(sensor)]
        own += [
            at
            for at, each in enumerate(others, len(plain))
            if isinstance(each, Reference) or self._is_own(each.sensor)
        ]
        if len(own) == len(decoded.observations):
            return decoded
        return decoded._replace(
            observations=decoded.observations.part(own),
            sources=[decoded.sources[at] for at in own],
        )
