"""``monitor simulate``: the messages of a fleet with known faults, to a file or to a broker."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import numpy as np

from monitor.commands.options import connection_arguments
from monitor.core.model import Observation
from monitor.errors import CannotWriteError, UsageError
from monitor.files.exporting import write_stream
from monitor.files.input_file import seconds
from monitor.files.messages import write_messages
from monitor.simulate.carts import CARTS, CONTROLS, HILL_DAYS, RACE, UNIT, CartFleet, hill_yard
from monitor.simulate.playback import native_message
from monitor.simulate.trades import TRADES

if TYPE_CHECKING:
    from monitor.mqtt.publish import BrokerPublisher

_START: Final = "2026-03-01T06:00:00Z"
# The options that a trade does not have, with their defaults.
_OF_FLEET: Final[dict[str, object]] = {
    "format": "csv", "seconds": None, "interval": 0.5, "start": _START,
    "controls": False, "race": False, "hill": False,
}  # fmt: skip
_STEP_SECONDS: Final = 60.0
_LIVE_STEP_SECONDS: Final = 0.1
_HILL_SECONDS: Final = HILL_DAYS * 86_400.0
_HILL_PACE: Final = 4.0 * 86_400.0  # four days a second


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--out", default="-", metavar="FILE", help="stream file to write, - for stdout")
    to.add_argument(
        "--broker", metavar="BROKER", help="publish live instead: HOST or HOST:PORT, as discover's"
    )
    parser.add_argument(
        "--trade",
        choices=tuple(TRADES),
        help="messages of one of three trades instead, for configs/TRADE.yaml; `monitor replay` "
        "reads the file",
    )
    parser.add_argument(
        "--format", choices=("csv", "jsonl"), default="csv", help="format of the file"
    )
    parser.add_argument("--seconds", type=float, help="duration (default when live: until Ctrl-C)")
    parser.add_argument("--interval", type=float, default=0.5, help="seconds between animals")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument("--start", default=_START, help="time of a file's first animal")
    parser.add_argument(
        "--controls", action="store_true", help="add sensors with perfect, random and constant u"
    )
    parser.add_argument(
        "--race", action="store_true", help="let the same animals cross most of the carts"
    )
    parser.add_argument(
        "--hill",
        action="store_true",
        help=f"{HILL_DAYS} days of a yard whose scale was taken away, for `monitor neighbours`",
    )
    parser.add_argument("--truth", action="store_true", help="print the fleet's faults on stderr")
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Write or publish, and return the exit code."""
    if options.seed < 0:
        raise UsageError(f"--seed {options.seed}: must be 0 or above")
    if options.trade:
        return _trade(options)
    if options.interval <= 0.0 or (options.seconds is not None and options.seconds <= 0.0):
        raise UsageError("--interval and --seconds must be above 0")
    past = _HILL_SECONDS * options.hill
    start = time.time() - past if options.broker else _start(options.start)
    fleet = _fleet(options, np.random.default_rng(options.seed), start)
    if options.truth:
        for fault in fleet.faults.values():
            sys.stderr.write(f"{fault.sentence}\n")
    if options.broker:
        _publish(options, fleet, start)
    else:
        _write(options, fleet, start)
    return 0


def _fleet(options: argparse.Namespace, chance: np.random.Generator, start: float) -> CartFleet:
    if options.hill:
        return hill_yard(chance, start)
    carts = (*(RACE if options.race else CARTS), *(CONTROLS if options.controls else ()))
    return CartFleet(chance, start, options.interval, carts, race=options.race)


def _trade(options: argparse.Namespace) -> int:
    """Write the messages of a trade, or publish them at once."""
    given = [name for name, usual in _OF_FLEET.items() if getattr(options, name) != usual]
    if given:
        raise UsageError(f"--{given[0]} is for the fleet; leave it out with --trade")
    recording = TRADES[options.trade](np.random.default_rng(options.seed))
    if options.truth:
        for sensor, fault in recording.faults.items():
            sys.stderr.write(f"{sensor} {fault}\n")
    if options.broker:
        with _publisher(options) as publisher:
            for message in recording.messages:
                publisher.publish(message.topic, message.payload)
    else:
        _written(options, lambda out: write_messages(out, recording.messages))
    return 0


def _start(text: str) -> float:
    try:
        return seconds(text)
    except ValueError as error:
        raise UsageError(f"--start: {error}") from error


def _write(options: argparse.Namespace, fleet: CartFleet, start: float) -> None:
    span = options.seconds or (_HILL_SECONDS if options.hill else 300.0)
    steps = _steps(fleet, start, span)
    _written(options, lambda out: write_stream(out, steps, fleet.units, options.format))


def _written(options: argparse.Namespace, write: Callable[[TextIO], object]) -> None:
    try:
        with _opened(options.out) as out:
            write(out)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"--out {options.out}: cannot be written: {error.strerror}"
        raise CannotWriteError(reason) from error


def _opened(name: str) -> nullcontext[TextIO] | TextIO:
    if name == "-":
        return nullcontext(sys.stdout)
    return Path(name).open("w", encoding="utf-8", newline="")


def _steps(fleet: CartFleet, start: float, span: float) -> Iterator[Observation]:
    passed = 0.0
    while passed < span:
        passed = min(span, passed + _STEP_SECONDS)
        yield from fleet.step(start + passed)


def _publish(options: argparse.Namespace, fleet: CartFleet, start: float) -> None:
    begun, pace = time.time(), _HILL_PACE if options.hill else 1.0
    until = begun + (np.inf if options.seconds is None else options.seconds)
    with _publisher(options) as publisher:
        while (now := time.time()) < until:
            for observation in fleet.step(min(now, start + pace * (now - begun))):
                publisher.publish(*native_message(observation, unit=UNIT))
            publisher.sleep(_LIVE_STEP_SECONDS)


def _publisher(options: argparse.Namespace) -> BrokerPublisher:
    from monitor.commands.broker_address import settings_at  # noqa: PLC0415 - files need no MQTT
    from monitor.config import resolve_secret  # noqa: PLC0415
    from monitor.daemon.connecting import publisher_of  # noqa: PLC0415

    # Every broker speaks this version; that of the demonstration, no other.
    settings = settings_at(options.broker, options, protocol="3.1.1")
    return publisher_of(settings, resolve_secret(settings))
