"""``monitor discover``: listen to a broker, and propose settings that read what it carries."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from monitor.commands.broker_address import BROKER_ADDRESS, settings_at
from monitor.commands.options import connected, connection_arguments
from monitor.config import Settings, load, resolve_secret
from monitor.daemon.connecting import mqtt_settings
from monitor.errors import CONNECTION, UNAVAILABLE, CannotWriteError, MonitorError, UsageError
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.proposal import propose
from monitor.extensions.discover.settings_text import Broker
from monitor.mqtt.connection import Subscription
from monitor.mqtt.source import MqttSource
from monitor.mqtt.topic_templates import Template, TemplateError

_SECONDS: Final = 60.0
_STEP_SECONDS: Final = 1.0
_SAY_SECONDS: Final = 5.0
_OF_TOPIC_MAX: Final = 200
_TOPICS_MAX: Final = 20_000
# Of more messages than these a topic's first few are taken, so that the end is not long in coming.
_MESSAGES_MAX: Final = 100_000
_FEW: Final = 3
_CONNECT_SECONDS: Final = 10.0
_KEYS: Final = (
    *("host", "port", "protocol", "username", "username_env", "password_file", "password_env"),
    *("tls", "websocket_path"),
)
_NEXT: Final = """\
{out}: proposed settings; comments mark what was guessed

then   monitor check-config {out}            reports every mistake
       monitor run --config {out}            page: http://127.0.0.1:9108/
       monitor doctor --config {out}         why there are no pairs
"""


class SilentBrokerError(MonitorError):
    """The broker does not answer; the message says what to do."""

    exit_code = UNAVAILABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    broker = parser.add_mutually_exclusive_group()
    broker.add_argument(
        "broker",
        nargs="?",
        metavar="BROKER",
        help=f"{BROKER_ADDRESS} (default: 127.0.0.1:1883)",
    )
    broker.add_argument(
        "-c", "--config", metavar="FILE", help="settings whose section mqtt says how to connect"
    )
    parser.add_argument(
        "--seconds", type=float, default=_SECONDS, help="how long to listen (default: 60)"
    )
    parser.add_argument(
        "--topic",
        action="append",
        metavar="FILTER",
        help="topic filter to listen to, may be repeated (default: #)",
    )
    parser.add_argument(
        "--out",
        default="-",
        metavar="FILE",
        help="file to write (default: standard output); an existing file is kept",
    )
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Listen, and print the proposal; exit 1 if nothing was heard."""
    if not options.seconds > 0.0:
        raise UsageError("--seconds must be above 0")
    if options.out != "-" and Path(options.out).exists():
        raise CannotWriteError(f"{options.out}: already exists and was not changed; give another")
    if options.out != "-" and not Path(options.out).absolute().parent.is_dir():
        raise CannotWriteError(f"{options.out}: cannot be written: there is no such folder")
    listener = _Listener(options)
    heard = listener.listen(options.seconds)
    _say(f"looking for what pairs in {len(heard)} messages ...")
    proposal = propose(heard, time.time(), Broker(listener.keys))
    _write(options.out, proposal.text)
    for sentence in proposal.findings:
        _say(sentence)
    for sentence in proposal.missing:
        _say(f"missing: {sentence}")
    if options.out != "-":
        print(_NEXT.format(out=options.out), end="")
    return 0 if heard else 1


def _write(out: str, text: str) -> None:
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        with Path(out).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise CannotWriteError(f"{out}: cannot be written: {error.strerror}") from error


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def _settings(options: argparse.Namespace) -> Settings:
    """Return settings that say how to connect."""
    if options.config:
        return connected(load(options.config), options)
    return settings_at(options.broker or "127.0.0.1", options)


def _keys(settings: Settings) -> dict[str, Any]:
    """Return the keys of the section mqtt that the proposal takes over."""
    mqtt = settings.mqtt
    given = mqtt.model_dump(mode="json", include=set(_KEYS), exclude_defaults=True)
    return {"host": mqtt.host, "port": mqtt.port, **given}


class _Listener:
    """A connection of its own, whose session ends with it."""

    def __init__(self, options: argparse.Namespace) -> None:
        settings = _settings(options)
        self.keys: Final = _keys(settings)
        reader = mqtt_settings(settings, resolve_secret(settings, options.config or ""))
        filters = options.topic or ["#"]
        for each in filters:
            try:
                Template.parse(each)
            except TemplateError as error:
                raise UsageError(f"--topic {each}: {error}") from error
        self._source: Final = MqttSource(
            replace(
                reader,
                client_id=f"monitor-discover-{secrets.token_hex(4)}",
                subscriptions=tuple(Subscription(each, 0) for each in filters),
                session_expiry_seconds=0,
                connect_timeout_seconds=min(options.seconds, reader.connect_timeout_seconds),
            )
        )

    def listen(self, seconds: float) -> list[Heard]:
        """Return the messages within ``seconds`` of the connection, or until Ctrl-C."""
        address = f"{self.keys['host']}:{self.keys['port']}"
        _say(f"listening to {address} for {seconds:g} s; Ctrl-C ends it earlier")
        heard: list[Heard] = []
        of_topic: Counter[str] = Counter()
        started = shown = time.monotonic()
        began: float | None = None
        try:
            while began is None or time.monotonic() - began < seconds:
                messages, arrival = self._source.receive(min(_STEP_SECONDS, seconds)), time.time()
                for each in messages:
                    of_topic[each.topic] += 1
                    most = _OF_TOPIC_MAX if len(heard) < _MESSAGES_MAX else _FEW
                    if of_topic[each.topic] <= most and len(of_topic) <= _TOPICS_MAX:
                        heard.append(Heard(each.topic, each.payload, arrival, each.retain))
                now = time.monotonic()
                if began is None:
                    began = self._beginning(now - started, min(seconds, _CONNECT_SECONDS))
                elif now - shown >= _SAY_SECONDS:
                    shown = now
                    count = f"{sum(of_topic.values())} messages on {len(of_topic)} topics"
                    _say(f"{now - began:.0f} s of {seconds:g} s: {count}")
        except KeyboardInterrupt:
            _say("stopped; the proposal is made from what was heard")
        finally:
            self._source.close()
        return heard

    def _beginning(self, waited: float, patience: float) -> float | None:
        """Return when the connection began, None before; raises SilentBrokerError in the end."""
        if self._source.connected:
            return time.monotonic()
        if waited < patience:
            return None
        raise SilentBrokerError(
            f"{self._source.status}; tried for {patience:g} s. Start the broker, or give the "
            "address of one that runs, such as monitor discover HOST:PORT, with --username, "
            f"--password-file and --ca where it needs them; see {CONNECTION}"
        )
