"""Covariates in messages: numbers in the records of readings, and in topics of their own.

Rules of this file: a number that is missing or unusable costs that number and never the reading
beside it; it is reported as a ``BadNumber``. A message of a covariate's own topic is read like a
reference of its name, so that it has a time, and is refused like any message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from monitor.core.model import Reading, Reference, Sample
from monitor.decode.checks import Rejected
from monitor.decode.fields import ARRIVAL
from monitor.decode.mapping import Mapped
from monitor.decode.paths import Fetchers, Number, quoted, shown
from monitor.decode.records import BadNumber, Seen
from monitor.decode.route import Route
from monitor.decode.spec import MapSpec, SeriesSpec

EVERYONE: Final = "everyone"  # the subject of a topic without {sensor}, before it is a sample
_FIELD: Final = ("covariates", "field")
_NUMBERS_ALONE: Final[Mapping[str, Sequence[str]]] = {}


def covariate_route(name: str, template: str, field: str, time: str) -> Route:
    """Return how the messages of a covariate's own topic are read; raises MapError.

    ``field`` is the path of the number, empty for a payload that is a number; ``time`` the path of
    its time, empty for the time of arrival.
    """
    names = ["sensor"] if "{sensor}" in template else []
    spec = MapSpec(
        series=(SeriesSpec(quantity=name, value=field or "$"),),
        time=time or ARRIVAL,
        subject="{sensor}" if names else EVERYONE,
    )
    mapped = Mapped(spec, "reference", names)
    return Route("reference", "json", template=template, mapped=mapped, covariate=name)


class CovariateReader:
    """Finds covariates: ``fields`` has the paths of those beside a reading, by name.

    ``categories`` are the texts of those that are no numbers; their places are the samples.
    """

    def __init__(
        self, fields: Mapping[str, str], categories: Mapping[str, Sequence[str]] = _NUMBERS_ALONE
    ) -> None:
        """Raises MapError where a path cannot be used."""
        self.of_readings: Final = bool(fields)
        self.paths: Final = frozenset(map(shown, fields.values()))
        self._numbers: Final[dict[bool, list[tuple[str, Number]]]] = {
            texts: [
                (
                    name,
                    _place(path, categories[name])
                    if name in categories
                    else Fetchers({}, number_texts=texts).number(path, _FIELD),
                )
                for name, path in fields.items()
            ]
            for texts in (False, True)
        }

    def with_samples(self, route: Route, parsed: Seen) -> Seen:
        """Return a record with the covariates that it states."""
        if route.covariate:
            samples = [_sample(each, route) for each in parsed.found if isinstance(each, Reference)]
            refused = [each for each in parsed.found if isinstance(each, Rejected)]
            return Seen(parsed.root, parsed.record, [*refused], samples)
        if route.kind != "reading" or not self.of_readings:
            return parsed
        return parsed._replace(samples=[*self._beside(route, parsed)])

    def _beside(self, route: Route, parsed: Seen) -> Iterator[Sample | BadNumber]:
        readings = [each for each in parsed.found if isinstance(each, Reading)]
        if not readings:
            return
        texts = route.mapped is not None and route.mapped.spec.number_texts
        for name, number in self._numbers[texts]:
            try:
                value = number(parsed.root, parsed.record)
            except Rejected as error:
                yield BadNumber(name, error.reason, error.detail)
                continue
            for each in readings:
                yield Sample(name, each.sensor, each.quantity, each.time, value)


def _place(path: str, categories: Sequence[str]) -> Number:
    """Return the function that finds a text, and returns its place among ``categories``."""
    find = Fetchers({}, number_texts=False).text(path, _FIELD)
    places = {text: float(at) for at, text in enumerate(categories)}

    def place(root: object, record: object) -> float:
        text = find(root, record)
        if text not in places:
            detail = f"field at `{shown(path)}` is {quoted(text)}, which is no category"
            raise Rejected("bad_field", detail, shown(path))
        return places[text]

    return place


def _sample(reference: Reference, route: Route) -> Sample:
    sensor = reference.subject if "{sensor}" in route.template else ""
    return Sample(route.covariate, sensor, "", reference.time, reference.value)
