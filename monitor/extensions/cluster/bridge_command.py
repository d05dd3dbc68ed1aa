"""``monitor cluster bridge``: from the broker to the cluster's log."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

from monitor.commands.options import config_option
from monitor.config import Settings, load, resolve_secret
from monitor.daemon.connecting import mqtt_settings
from monitor.daemon.runtime import Signals, configure
from monitor.extensions.cluster.bridge import Bridge
from monitor.extensions.cluster.kafka_log import Appender, properties
from monitor.extensions.cluster.placing import Placing
from monitor.extensions.cluster.settings import cluster_of
from monitor.http.process_metrics import serve_metrics
from monitor.http.text_format import Family, counter, gauge
from monitor.mqtt.connection import MqttSettings
from monitor.mqtt.source import MqttSource

_log: Final = logging.getLogger("monitor.bridge")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser)
    parser.add_argument(
        "--name",
        default="1",
        metavar="NAME",
        help="name of this bridge among several; part of its client identifier at the broker",
    )


def run(options: argparse.Namespace) -> int:
    """Run the bridge until SIGTERM or SIGINT; raises MonitorError if it cannot continue."""
    settings = load(options.config)
    configure(settings.log.level, settings.log.format)
    placing = Placing(settings)
    source = MqttSource(_session(settings, options))
    with closing(Appender(settings, properties(settings))) as log:
        signals = Signals("forwarding what has been received, then stopping")
        signals.install()
        bridge = Bridge(source, log, placing, signals=signals)
        port, host = cluster_of(settings).bridge.metrics_port, cluster_of(settings).metrics_host
        with serve_metrics(port, lambda: _families(bridge, source), host=host) as url:
            if url:
                _log.info("metrics on %s", url)
            bridge.run()
    count = bridge.passed.messages
    _log.info("stopped: everything acknowledged is in the cluster log: %d messages", count)
    return 0


def _session(settings: Settings, options: argparse.Namespace) -> MqttSettings:
    """Return the bridge's own session with the broker, separate from a daemon's."""
    mqtt = mqtt_settings(settings, resolve_secret(settings, options.config))
    share = cluster_of(settings).bridge.share
    subscriptions = mqtt.subscriptions
    if share is not None:
        subscriptions = tuple(
            replace(each, filter=f"$share/{share}/{each.filter}") for each in subscriptions
        )
    name = f"{mqtt.client_id}-bridge-{options.name}"
    return replace(mqtt, client_id=name, subscriptions=subscriptions)


def _families(bridge: Bridge, source: MqttSource) -> Iterator[Family]:
    passed = bridge.passed
    yield counter(
        "bridge_messages",
        "Messages that are in the cluster log and acknowledged to the broker.",
        passed.messages,
    )
    yield counter(
        "bridge_redelivered",
        "Messages that the broker sent again although the log already had them.",
        passed.redelivered,
    )
    yield counter(
        "bridge_records", "Records written; a message may concern several blocks.", passed.records
    )
    yield counter(
        "bridge_oversize", "Records lost because the log takes none of their size.", passed.oversize
    )
    yield counter("bridge_log_retries", "Times the log did not accept a batch.", passed.retries)
    yield counter("bridge_log_seconds", "Time the log took to acknowledge.", passed.log_seconds)
    yield gauge(
        "bridge_last_message_timestamp_seconds", "When the last message came.", passed.last_message
    )
    yield gauge(
        "clock_trusted",
        "0 while this machine's clock is in doubt: the blocks expire nothing by it.",
        float(not bridge.guard.doubt),
    )
    yield counter(
        "clock_doubts", "Times this machine's clock came into doubt.", bridge.guard.doubts
    )
    yield counter("session_lost", "Times the broker lost the session.", source.sessions_lost)
    yield counter(
        "mqtt_reconnects", "Times the connection to the broker was restored.", source.reconnects
    )
    yield gauge("mqtt_connected", "1 while connected and subscribed.", float(source.connected))
