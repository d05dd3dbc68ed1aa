"""``monitor replay``: a recorded stream, to the broker or straight into the daemon's own code."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from monitor.commands.options import config_option, connected, connection_arguments
from monitor.commands.publishing import native_topics
from monitor.config import Settings, load, resolve_secret
from monitor.config.core_plan import router_of
from monitor.core.formatting import count_of, instant
from monitor.core.model import Observation, time_of
from monitor.daemon.assembly import assemble, note_settings
from monitor.daemon.connecting import publisher_of
from monitor.decode import Router
from monitor.decode.checks import PAST_END
from monitor.errors import UsageError
from monitor.files import detect, read_messages, read_stream
from monitor.files.layout import AS_USUAL, layout_of, notation_arguments
from monitor.files.time_layouts import with_found_times
from monitor.simulate.playback import RawMessage, moved, replay, worded

_BATCH = 4096
_DAY = 86_400.0
_LINES = 20  # series listed one by one; of more, only those that fire


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a stream (CSV, JSON lines) or raw messages (JSON lines), also gzipped",
    )
    config_option(parser)
    parser.add_argument(
        "--speed", type=float, metavar="X", help="X times real time (default: as fast as possible)"
    )
    parser.add_argument(
        "--direct",
        action="store_true",
        help="write to the settings' journal directly, without a broker",
    )
    notation_arguments(parser)
    connection_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Replay the file and print the result."""
    if options.speed is not None and options.speed <= 0.0:
        raise UsageError(f"--speed {options.speed}: must be above 0")
    if options.speed is not None and options.direct:
        raise UsageError("--speed is for a broker; --direct takes no time between messages")
    path, layout = Path(options.file), layout_of(options)
    kind = detect(path, layout)
    if kind == "pairs":
        raise UsageError(f"{path}: contains pairs, not a stream; use `monitor score`")
    if kind == "messages" and layout != AS_USUAL:
        raise UsageError(
            f"{path}: contains raw messages, whose times and numbers the sources in the settings "
            "read; --time-zone, --time-format, --time-start and --decimal-comma are for a stream"
        )
    settings = connected(load(options.config), options)
    if kind == "messages":
        messages: Iterable[RawMessage] = read_messages(path)
    else:
        stream = read_stream(path, with_found_times(path, layout))
        observations = _since_2000(stream)
        messages = _noted(worded(observations, native_topics(settings), stream.units), stream.notes)
    router = router_of(settings)
    if options.direct:
        _direct(settings, router, _watched(messages))
    else:
        if kind == "messages" and router.any_needs_packet:
            sys.stderr.write(
                "the settings have sources whose messages may state no time: at the broker these "
                "arrive now; --direct takes them at the times in the file\n"
            )
        _publish(settings, options, _watched(messages))
    return 0


def _since_2000(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Yield the observations, whole days later if they begin before 2000, which no daemon takes."""
    rest = iter(observations)
    for first in rest:
        began = time_of(first)
        shift = PAST_END - began // _DAY * _DAY if began < PAST_END else 0.0
        if shift:
            sys.stderr.write(
                f"its times begin at {instant(began)}, and a daemon takes none before 2000: they "
                f"are replayed as from {instant(began + shift)}\n"
            )
        yield moved(first, shift)
        yield from (moved(each, shift) for each in rest) if shift else rest


def _noted(messages: Iterable[RawMessage], notes: Sequence[str]) -> Iterator[RawMessage]:
    """Yield the messages, then print what was not used."""
    yield from messages
    for note in notes:
        sys.stderr.write(f"{note}\n")


def _publish(
    settings: Settings, options: argparse.Namespace, messages: Iterable[RawMessage]
) -> None:
    with publisher_of(settings, resolve_secret(settings, options.config)) as publisher:
        count = replay(
            messages,
            publisher.publish,
            speed=options.speed,
            clock=time.monotonic,
            sleep=publisher.sleep,
        )
        publisher.flush()
    print(f"{count_of(count, 'message')} published, all acknowledged by the broker")


def _direct(settings: Settings, router: Router, messages: Iterable[RawMessage]) -> None:
    parts = assemble(settings, time.time())
    note_settings(parts)
    intake = parts.intake
    try:
        for batch, arrived in _batches(messages, router):
            now = time.time()
            given = (
                intake.prepare(batch, now)
                if arrived is None
                else intake.prepare(batch, arrived, latest=now)
            )
            intake.commit(given)
        snapshot = parts.network.evaluate(time.time())
    finally:
        parts.journal.close()
    counts = intake.counts
    print(
        f"{count_of(counts.committed, 'message')} in the journal {settings.journal.path}, "
        f"{counts.duplicate} had come before, {sum(counts.rejected.values())} rejected"
    )
    lines = [
        f"{name.sensor} {name.quantity}: {count_of(pairs, 'pair')} in the window, {sentence}"
        for name, pairs, sentence in zip(
            snapshot.names, snapshot.window_pairs, snapshot.sentences, strict=True
        )
    ]
    if len(lines) <= _LINES:
        print("\n".join(lines))
        return
    firing = [line for line, state in zip(lines, snapshot.states, strict=True) if state == "firing"]
    print(f"{len(lines)} series: " + ", ".join(_counted(snapshot.states)))
    print("\n".join(firing[:_LINES]))
    if len(firing) > _LINES:
        print(f"and {len(firing) - _LINES} more; `monitor run` shows all of them on its page")


def _counted(states: Iterable[str]) -> list[str]:
    return [f"{count} {state}" for state, count in sorted(Counter(states).items())]


def _batches(
    messages: Iterable[RawMessage], router: Router
) -> Iterator[tuple[list[RawMessage], float | None]]:
    """Yield messages to be read together, with the time at which they arrived if that may count.

    A message that may state no time is alone, at its time in the file; without one it arrives now.
    """
    together: list[RawMessage] = []
    for message in messages:
        if not math.isnan(message.time) and router.needs_packet(message.topic):
            if together:
                yield together, None
                together = []
            yield [message], message.time
            continue
        together.append(message)
        if len(together) == _BATCH:
            yield together, None
            together = []
    if together:
        yield together, None


def _watched(messages: Iterable[RawMessage]) -> Iterable[RawMessage]:
    """Show a progress bar on a terminal."""
    if not sys.stderr.isatty():
        return messages
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    bar: Iterable[RawMessage] = tqdm(messages, unit=" messages", leave=False)
    return bar
