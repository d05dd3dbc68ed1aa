"""``monitor explain``: what would happen to one message, and which reference it would pair with.

Rules of this file: exit 0 if the message would be used, 1 if it is rejected, 2 if settings or
arguments cannot be used; there is no connection, and the journal is neither read nor written.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import json
import os
import sys
import time
from pathlib import Path

import msgspec

from monitor.commands.options import config_option, instant_of, json_option
from monitor.config import load
from monitor.errors import UsageError
from monitor.explain import SHOWN_MAX, Explanation, Message, explain
from monitor.explain.explanation import plain
from monitor.explain.text import explanation_lines

_REJECTED = 1
_PAYLOAD = "the payload: text, - for standard input, @FILE, hex:... or base64:..."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("topic", metavar="TOPIC", help="topic of the message")
    parser.add_argument("payload", metavar="PAYLOAD", help=_PAYLOAD)
    config_option(parser)
    parser.add_argument(
        "--with",
        dest="earlier",
        nargs=2,
        action="append",
        default=[],
        metavar=("TOPIC", "PAYLOAD"),
        help="an earlier message, such as a reference; may be repeated",
    )
    parser.add_argument(
        "--now", metavar="TIME", help="time of arrival, ISO 8601 with a time zone (default: now)"
    )
    parser.add_argument("--all", action="store_true", help="show every observation of a long batch")
    json_option(parser, "the explanation")


def run(options: argparse.Namespace) -> int:
    """Print what happens to the message."""
    settings = load(options.config)
    now = time.time() if options.now is None else instant_of(options.now, "--now")
    given = [*options.earlier, (options.topic, options.payload)]
    if [payload for _, payload in given].count("-") > 1:
        raise UsageError("only one payload can come from standard input; put the others into files")
    *earlier, message = [Message(_topic(topic), _bytes(payload)) for topic, payload in given]
    most = sys.maxsize if options.all else SHOWN_MAX
    explanation = explain(settings, message, now, earlier, most)
    if options.json:
        print(_document(explanation))
    else:
        for line in explanation_lines(explanation, everything=options.all):
            print(line)
    return _REJECTED if explanation.outcome == "rejected" else 0


def _document(explanation: Explanation) -> str:
    """Return the document, with nothing in it that a terminal would interpret."""
    document = msgspec.json.decode(msgspec.json.encode(explanation))
    return json.dumps(document, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f")


def _topic(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"topic {text!r} is not UTF-8, which MQTT requires") from error
    if not text or "\0" in text or "+" in text or "#" in text:
        raise UsageError(f"topic {text!r}: give the topic of one message, without + and #")
    return text


def _bytes(text: str) -> bytes:
    """Return the payload that an argument gives."""
    kind, _, rest = text.partition(":")
    try:
        if text == "-":
            return sys.stdin.buffer.read()
        if text.startswith("@"):
            return Path(text[1:]).read_bytes()
        if kind == "hex":
            return bytes.fromhex(rest)
        if kind == "base64":
            return base64.b64decode(rest, validate=True)
    except OSError as error:
        raise UsageError(
            f"{plain(text[1:]) or text}: cannot be read: {error.strerror or error}"
        ) from error
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"payload {text[:60]!r} is not {kind}: {error}") from error
    return os.fsencode(text)
