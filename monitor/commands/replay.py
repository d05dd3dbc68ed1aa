"""``monitor replay``: a recorded stream, to the broker or straight into the daemon's own code."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from monitor.config import Settings, load, resolve_secret
from monitor.daemon.assembly import assemble, native_topics, publisher_of
from monitor.errors import USAGE, MonitorError
from monitor.files import detect, read_messages, read_stream
from monitor.files.layout import AS_USUAL, layout_of, notation_arguments
from monitor.simulate.playback import RawMessage, replay, worded

_BATCH = 4096
_LINES = 20  # series listed one by one; of more, only those that fire


class ReplayCommandError(MonitorError):
    """The file cannot be replayed with these settings."""

    exit_code = USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a stream (CSV, JSON lines) or raw messages (JSON lines), also gzipped",
    )
    parser.add_argument("--config", required=True, metavar="SETTINGS", help="settings file (YAML)")
    parser.add_argument(
        "--speed", type=float, metavar="X", help="X times real time (default: as fast as possible)"
    )
    parser.add_argument(
        "--direct",
        action="store_true",
        help="write to the settings' journal directly, without a broker",
    )
    notation_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Replay the file and print the result."""
    if options.speed is not None and options.speed <= 0.0:
        raise ReplayCommandError(f"--speed {options.speed}: must be above 0")
    path, layout = Path(options.file), layout_of(options)
    kind = detect(path)
    if kind == "pairs":
        raise ReplayCommandError(f"{path}: contains pairs, not a stream; use `monitor score`")
    if kind == "messages" and layout != AS_USUAL:
        raise ReplayCommandError(
            f"{path}: contains raw messages, whose times and numbers the sources in the settings "
            "read; --time-zone, --time-format and --decimal-comma are for a stream"
        )
    settings = load(options.config)
    if kind == "messages":
        messages: Iterable[RawMessage] = read_messages(path)
    else:
        stream = read_stream(path, layout)
        messages = worded(stream, native_topics(settings), stream.units)
    if options.direct:
        _direct(settings, _watched(messages))
    else:
        _publish(settings, options, _watched(messages))
    return 0


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
    print(f"{count} messages published, all acknowledged by the broker")


def _direct(settings: Settings, messages: Iterable[RawMessage]) -> None:
    parts = assemble(settings, time.time())
    try:
        for batch in _batches(messages):
            parts.intake.commit(parts.intake.prepare(batch, time.time()))
        snapshot = parts.network.evaluate(time.time())
    finally:
        parts.journal.close()
    counts = parts.intake.counts
    print(
        f"{counts.committed} messages in the journal {settings.journal.path}, "
        f"{counts.duplicate} had come before, {sum(counts.rejected.values())} rejected"
    )
    lines = [
        f"{name.sensor} {name.quantity}: {pairs} pairs in the window, {sentence}"
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


def _batches(messages: Iterable[RawMessage]) -> Iterator[list[RawMessage]]:
    iterator = iter(messages)
    while batch := list(itertools.islice(iterator, _BATCH)):
        yield batch


def _watched(messages: Iterable[RawMessage]) -> Iterable[RawMessage]:
    """Show a progress bar on a terminal."""
    if not sys.stderr.isatty():
        return messages
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    bar: Iterable[RawMessage] = tqdm(messages, unit=" messages", leave=False)
    return bar
