"""Settings converted for the core and the decoders: the rules of a series, a plan, a router."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from monitor import __version__
from monitor.config.concerns import concerns_of, places_by_sensor
from monitor.config.document import placed_mistake
from monitor.config.kinds import Section
from monitor.config.mistakes import SettingsError, listed
from monitor.config.parts import Group, Overridable
from monitor.config.sections import Alerts, Pairing, Scoring, Series, rule_of
from monitor.config.settings import Settings
from monitor.config.sources import Place, Source, named_sources
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.mapping import Mapped
from monitor.decode.route import Maintenance, Route, Work
from monitor.decode.router import DECODERS, Router
from monitor.decode.supplement import Supplement
from monitor.decode.units import Units, converts
from monitor.extensions import hooks
from monitor.mqtt.topic_templates import Template

if TYPE_CHECKING:
    from monitor.core.state.core_settings import CoreSettings

# A topic that names no quantity gives its readings this one.
UNNAMED_QUANTITY: Final = "value"
TOLERANCE_SECONDS: Final = 60.0
_SECONDS_A_DAY: Final = 86_400.0
_SPARE_MIN: Final = 100

S = TypeVar("S", bound=Section)
RulesOf = Callable[[str, str], SeriesRules]


def rules_of(settings: Settings, sensor: str, quantity: str) -> SeriesRules:
    """Return the rules of a series from the first matching group, then from overrides in order."""
    group = next((each for each in settings.groups if _belongs(each, sensor, quantity)), None)
    layers: list[Overridable] = [] if group is None else [group]
    layers += [
        each
        for each in settings.overrides
        if fnmatchcase(sensor, each.sensor) and fnmatchcase(quantity, each.quantity)
    ]
    windows = _merged(settings.windows, layers)
    scoring = _merged(settings.scoring, layers)
    alerts = _merged(settings.alerts, layers)
    return SeriesRules(
        group="" if group is None else group.name,
        unit=_unit(settings, quantity),
        density=scoring.density,
        level=scoring.level,
        profile=scoring.profile,
        window_pairs=windows.pairs,
        window_seconds=math.inf if windows.days is None else windows.days * _SECONDS_A_DAY,
        patience=alerts.patience,
        stale_after_seconds=_merged(settings.series, layers).stale_after_seconds,
        reference_stale_seconds=alerts.reference_stale_hours * 3600.0,
        rejected_share=alerts.rejected_share,
        tolerance=alerts.tolerance,
        severity="" if alerts.severity == "warning" else alerts.severity,
        asks=_asked_of((Alerts, alerts), (Scoring, scoring)),
        systematic=scoring.u_systematic,
        pairing=_pairing_rules(_merged(settings.pairing, layers), scoring.level),
    )


def _asked_of(*sections: tuple[type[Section], Section]) -> tuple[tuple[str, Any], ...]:
    """Return the keys of extensions that are on in sections, each beside the house's own type."""
    asked = (
        (key, getattr(section, key))
        for of_house, section in sections
        if type(section) is not of_house
        for key in sorted(type(section).model_fields.keys() - of_house.model_fields)
    )
    return tuple(each for each in asked if each[1] is not None and each[1] is not False)


def _merged(section: S, layers: Sequence[Overridable]) -> S:
    """Return a section with the keys that ``layers`` set, later ones over earlier ones."""
    if not layers:
        return section
    parts = (getattr(layer, type(section).__name__.lower()) for layer in layers)
    given = {
        key: getattr(part, key)
        for part in parts
        if part is not None
        for key in part.model_fields_set
    }
    return section.model_copy(update=given) if given else section


def _pairing_rules(pairing: Pairing, level: float) -> Rules:
    """Return how a series is paired; in modes nearest and key the candidates name the rule."""
    named = {key: getattr(pairing, key) for key in Rules._fields if key != "level"}
    named |= {"mode": rule_of(pairing), "level": level}
    if pairing.tolerance_seconds is None:
        longest = pairing.max_wait_hours * 3600.0
        named["tolerance_seconds"] = longest if pairing.mode == "key" else TOLERANCE_SECONDS
    return Rules(**named)


def _belongs(group: Group, sensor: str, quantity: str) -> bool:
    return any(fnmatchcase(sensor, pattern) for pattern in group.sensors) and any(
        fnmatchcase(quantity, pattern) for pattern in group.quantities
    )


def _unit(settings: Settings, quantity: str) -> str:
    """Return the unit of the sources that may carry readings of ``quantity``, if they agree."""
    units = units_of_readings(settings, quantity)
    return units.pop() if len(units) == 1 else ""


def units_of_readings(settings: Settings, quantity: str) -> set[str]:
    """Return the units of the sources that may carry readings of ``quantity``.

    "" stands for what their messages state.
    """
    return {
        unit
        for source in settings.sources
        if source.kind == "reading"
        for unit in _units(source, quantity)
    }


def _units(source: Source, quantity: str) -> Iterator[str]:
    if source.map is None:
        if may_carry(source, "", quantity):
            yield source.unit
        return
    for each in source.map.series:
        if may_carry(source, each.quantity, quantity):
            yield each.to_unit or source.unit or each.unit


def may_carry(source: Source, named: str, quantity: str) -> bool:
    """Return whether values that a source gives the name ``named`` may be of ``quantity``."""
    in_topic = "quantity" in Template.parse(source.topic).names
    own = named or ("{quantity}" if in_topic else UNNAMED_QUANTITY)
    return "{" in own or own == quantity


def check_units(settings: Settings, file: str) -> None:
    """Raise SettingsError for each source of readings whose unit no reference converts to.

    Sources without a unit take what messages state, so nothing is known of them.
    """
    references = [_stated(each) for each in named_sources(settings.sources, "reference")]
    units = set().union(*references)
    if not all(references) or "" in units:
        return
    mistakes = []
    for at, source in enumerate(settings.sources):
        if source.kind != "reading":
            continue
        for unit in sorted(_stated(source)):
            if unit and not any(converts(each, unit) for each in units):
                reason = f"readings in {unit} have no reference: those in {listed(sorted(units))} "
                reason += f"do not convert to {unit}"
                mistakes.append(placed_mistake(file, ("sources", at), reason))
    if mistakes:
        raise SettingsError(mistakes)


def _stated(source: Source) -> set[str]:
    if source.map is None:
        return {source.unit}
    return {each.to_unit or source.unit or each.unit for each in source.map.series}


def with_units(stated: RulesOf, unit_of: Callable[[str, str], str]) -> RulesOf:
    """Return the rules of series with the units that ``unit_of`` has where they have none."""

    def rules(sensor: str, quantity: str) -> SeriesRules:
        rules = stated(sensor, quantity)
        return rules if rules.unit else rules._replace(unit=unit_of(sensor, quantity))

    return rules


def _with_sites(stated: RulesOf, places: Mapping[str, Place]) -> RulesOf:
    """Return the rules of series with the sites of their sensors."""

    def rules(sensor: str, quantity: str) -> SeriesRules:
        place = places.get(sensor)
        return stated(sensor, quantity)._replace(site=(place and place.site) or "")

    return rules


def plan_of(
    settings: Settings, units: Units | None = None, places: Mapping[str, Place] | None = None
) -> CoreSettings:
    """Return the network's plan; raises SettingsError where the file of ``places`` is wrong.

    A series without a unit in the settings has the one in ``units``.
    """
    from monitor.core.state.core_settings import (  # noqa: PLC0415 - check-config makes no network
        CoreSettings,
    )

    places = places_by_sensor(settings) if places is None else places
    rules: RulesOf = partial(rules_of, settings)
    if any(place.site for place in places.values()):
        rules = _with_sites(rules, places)
    layers = (*settings.groups, *settings.overrides)
    sizes = [getattr(layer.windows, "pairs", None) or 0 for layer in layers]
    return CoreSettings(
        program=__version__,
        rules_of=rules if units is None else with_units(rules, units.unit_of),
        concerns_of=concerns_of(settings, places),
        match_on=frozenset(settings.pairing.match_on),
        limits=Limits(
            settings.series.max,
            settings.series.max_new_per_minute or settings.series.max,
            tuple(settings.series.allow),
        ),
        window_pairs_max=max(settings.windows.pairs, *sizes, 0),
        window_precision=settings.windows.precision,
        replay_pairs=settings.windows.replay_pairs,
        rows_spare=_rows_spare(settings.series),
        max_wait_seconds=settings.pairing.max_wait_hours * 3600.0,
        max_pending=settings.pairing.max_pending,
        fleet=settings.fleet,
        thresholds=settings.thresholds,
        additions=tuple(hooks(settings.extensions, "plan")),
    )


def _rows_spare(series: Series) -> int:
    """Return the number of spare rows for new series while silent ones are being evicted."""
    return 0 if series.forget_after_days is None else max(_SPARE_MIN, series.max // 10)


def units_of(settings: Settings) -> Units:
    """Return the units of series, some of which the settings name.

    Series of other names share a unit where a reference may concern them by key or area.
    """
    is_shared = "subject" not in settings.pairing.match_on or bool(settings.areas)
    declared = lru_cache(1024)(lambda quantity: _unit(settings, quantity))
    return Units(declared, is_shared=is_shared)


def router_of(
    settings: Settings,
    births: Births | None = None,
    units: Units | None = None,
    *,
    supplements: Sequence[Supplement] | None = None,
    make: Callable[..., Router] = Router,
) -> Router:
    """Return the router, which finds a message's decoder; ``births`` are Sparkplug's so far.

    ``units`` are those in which series are kept; without them each is kept as stated.
    ``supplements`` are what extensions add, None for what the settings ask for. ``make`` is given
    what :class:`Router` takes. Raises SettingsError where a file that an extension needs cannot be
    used.
    """
    births = births if births is not None else Births()
    if supplements is None:
        supplements = supplements_of(settings)
    default_u = {at: u for each in supplements for at, u in each.default_u.items()}
    routes = [
        _route(source, default_u.get(at, math.nan))._replace(births=births, units=units)
        for at, source in enumerate(settings.sources)
    ]
    works = [
        Work(work.sensor, _seconds(work.start), _seconds(work.end)) for work in settings.maintenance
    ]
    maintenance = Maintenance(works) if works else None
    routes += [topic.route for each in supplements for topic in each.topics]
    readers = [each.reader for each in supplements if each.reader is not None]
    return make(routes, settings.mqtt.max_packet_bytes, maintenance, readers)


def supplements_of(settings: Settings) -> list[Supplement]:
    """Return what extensions add to decoding; raises SettingsError as :func:`router_of`."""
    return [supply(settings) for supply in hooks(settings.extensions, "router")]


def _route(source: Source, default_u: float) -> Route:
    mapped, specification = None, source.specification
    own = DECODERS[source.decoder].mapping
    if not math.isnan(default_u) and specification is None and own is not None:
        specification = own(source.kind, source.unit, source.topic).spec
    if specification is not None:
        names = Template.parse(source.topic).names
        mapped = Mapped(specification, source.kind, names, source.unit, default_u=default_u)
    return Route(source.kind, source.decoder, source.unit, source.topic, mapped)


def _seconds(text: str | None) -> float:
    return math.inf if text is None else datetime.fromisoformat(text).timestamp()
