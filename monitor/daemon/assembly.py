"""Settings become parts: the one place that knows which part wants which setting."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from monitor.config import (
    Credentials,
    Settings,
    Source,
    for_series,
)
from monitor.config import threshold_settings as config
from monitor.config.concerns import concerns_of
from monitor.config.sections import Series
from monitor.core.detector.thresholds import Threshold
from monitor.core.fleet.call_out import FleetRules
from monitor.core.pairing.pairing_rules import PairUncertainty, Rules
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import Plan
from monitor.core.state.network import Network
from monitor.daemon.intake import BIRTHS, Intake, recover
from monitor.decode import Maintenance, Route, Router
from monitor.decode.maintenance import Work
from monitor.decode.mapping import Mapped
from monitor.decode.sparkplug_births import Births
from monitor.journal import Journal
from monitor.mqtt.publish import BrokerPublisher
from monitor.mqtt.source import (
    MqttSettings,
    Subscription,
    Tls,
    tls_context,
)
from monitor.mqtt.topic_templates import Template
from monitor.simulate.playback import Topics

SUBSCRIPTIONS: Final = "subscriptions"  # name of the journal's note
_LEFT_MAX: Final = 100
_SECONDS_A_DAY = 86_400.0
_SPARE_MIN: Final = 100


class Parts(NamedTuple):
    """What the data passes through."""

    settings: Settings
    network: Network
    journal: Journal
    intake: Intake


def rules_of(settings: Settings, sensor: str, quantity: str) -> SeriesRules:
    """Return the settings of one series as the core wants them."""
    own = for_series(settings, sensor, quantity)
    days = own.window_days
    return SeriesRules(
        group=own.group,
        unit=own.unit,
        density=own.density,
        level=own.level,
        profile=own.profile,
        window_pairs=own.window_pairs,
        window_seconds=float("inf") if days is None else days * _SECONDS_A_DAY,
        patience=own.patience,
        stale_after_seconds=own.stale_after_seconds,
        reference_stale_seconds=own.reference_stale_hours * 3600.0,
        rejected_share=own.rejected_share,
        pairing=Rules(
            mode=own.pairing_mode,
            tolerance_seconds=own.tolerance_seconds,
            lag_seconds=own.lag_seconds,
            reading_seconds=own.reading_seconds,
            completeness=own.completeness,
            correlation=own.correlation,
            uncertainty=PairUncertainty(**own.uncertainty.model_dump()),
        ),
    )


def plan_of(settings: Settings) -> Plan:
    """Return the network's plan; raises SettingsError where the places' file is wrong."""
    parts = (*settings.groups, *settings.overrides)
    sizes = [
        settings.windows.pairs,
        *(part.windows.pairs for part in parts if part.windows and part.windows.pairs),
    ]
    return Plan(
        rules_of=lambda sensor, quantity: rules_of(settings, sensor, quantity),
        concerns_of=concerns_of(settings),
        match_on=frozenset(settings.pairing.match_on),
        limits=Limits(
            settings.series.max, settings.series.max_new_per_minute, tuple(settings.series.allow)
        ),
        window_pairs_max=max(sizes),
        window_precision=settings.windows.precision,
        replay_pairs=settings.windows.replay_pairs,
        rows_spare=_rows_spare(settings.series),
        max_wait_seconds=settings.pairing.max_wait_hours * 3600.0,
        max_pending=settings.pairing.max_pending,
        fleet=FleetRules(settings.fleet.q, settings.fleet.horizon, settings.fleet.fdr),
        thresholds=tuple(_threshold(each) for each in settings.thresholds),
    )


def _rows_spare(series: Series) -> int:
    """Return how many series more than there may be may come while others are let go of."""
    return 0 if series.forget_after_days is None else max(_SPARE_MIN, series.max // 10)


def _threshold(limit: config.Threshold) -> Threshold:
    return Threshold(
        name=limit.name,
        statistic=limit.statistic,
        against=limit.against,
        above=math.inf if limit.above is None else limit.above,
        below=-math.inf if limit.below is None else limit.below,
        for_seconds=limit.for_hours * 3600.0,
        hysteresis=limit.hysteresis,
        pairs_min=limit.pairs_min,
        baseline_pairs=limit.baseline_pairs,
        sensors=limit.sensors,
        quantities=limit.quantities,
    )


def router_of(settings: Settings, births: Births | None = None) -> Router:
    """Return what finds a message's decoder; ``births`` are those that Sparkplug sent before."""
    births = births if births is not None else Births()
    routes = [_route(source, births) for source in settings.sources]
    works = [
        Work(work.sensor, _seconds(work.start), _seconds(work.end)) for work in settings.maintenance
    ]
    maintenance = Maintenance(works) if works else None
    return Router(routes, settings.mqtt.max_packet_bytes, maintenance)


def _route(source: Source, births: Births) -> Route:
    mapped = None
    if source.map is not None:
        names = Template.parse(source.topic).names
        specification = source.map.specification(source.decoder)
        mapped = Mapped(specification, source.kind, names, source.unit)
    return Route(
        source.kind,
        source.decoder,
        source.unit,
        source.topic,
        mapped,
        births if source.decoder == "sparkplug" else None,
    )


def _seconds(text: str | None) -> float:
    return math.inf if text is None else datetime.fromisoformat(text).timestamp()


def assemble(settings: Settings, now: float) -> Parts:
    """Open the journal and rebuild the network from it; raises JournalError."""
    journal = Journal(
        Path(settings.journal.path),
        dead_letters_kept=settings.journal.dead_letters,
        transitions_kept=settings.sinks.history,
    )
    plan = plan_of(settings)._replace(known_series=len(journal.series()))
    network = Network(plan, journal)
    recover(network, journal, now)
    births = Births()
    if noted := journal.note(BIRTHS):
        births.load(noted)
    intake = Intake(router_of(settings, births), network, journal, births)
    return Parts(settings, network, journal, intake)


def note_subscriptions(parts: Parts) -> list[str]:
    """Note what is subscribed to; return what was before and is not wanted any more.

    A broker keeps the subscriptions of a session until it is told to end them.
    """
    wanted = [Template.parse(source.topic).filter for source in parts.settings.sources]
    noted = parts.journal.note(SUBSCRIPTIONS)
    former = msgspec.json.decode(noted, type=list[str]) if noted else []
    left = [each for each in former if each not in wanted][-_LEFT_MAX:]
    if [*wanted, *left] != former:
        parts.journal.remember(SUBSCRIPTIONS, msgspec.json.encode([*wanted, *left]))
    return left


def native_topics(settings: Settings) -> Topics:
    """Return the topics of the first native source of each kind; empty where there is none."""
    native = [source for source in settings.sources if source.decoder == "native"]
    return Topics(
        **dict.fromkeys(Topics._fields, "")
        | {source.kind: source.topic for source in reversed(native)}
    )


def publisher_of(settings: Settings, credentials: Credentials) -> BrokerPublisher:
    """Return what publishes to the broker of the settings, under a name of its own."""
    reader = mqtt_settings(settings, credentials)
    return BrokerPublisher(
        reader.host,
        reader.port,
        protocol=settings.mqtt.protocol,
        username=reader.username,
        password=reader.password,
        tls=None if reader.tls is None else tls_context(reader.tls),
    )


def mqtt_settings(settings: Settings, credentials: Credentials) -> MqttSettings:
    """Return how to reach the broker, and what to subscribe to."""
    mqtt = settings.mqtt
    password = credentials.password
    return MqttSettings(
        host=mqtt.host,
        port=mqtt.port,
        client_id=mqtt.client_id,
        subscriptions=tuple(
            Subscription(Template.parse(source.topic).filter, source.qos)
            for source in settings.sources
        ),
        protocol=mqtt.protocol,
        username=credentials.username,
        password=None if password is None else password.get_secret_value(),
        keepalive_seconds=mqtt.keepalive_seconds,
        session_expiry_seconds=mqtt.session_expiry_seconds,
        receive_maximum=mqtt.receive_maximum,
        max_packet_bytes=mqtt.max_packet_bytes,
        connect_timeout_seconds=mqtt.connect_timeout_seconds,
        tls=None if mqtt.tls is None else Tls(**mqtt.tls.model_dump()),
    )
