"""What the daemon says of itself, on standard error: for people, or one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
import time


def _instant(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))


class _Json(logging.Formatter):
    """One object a line; whatever a message holds cannot break out of it."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _instant(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class _Text(logging.Formatter):
    """Time, level, message; control characters are shown, not obeyed."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as logging names it
        del datefmt
        return _instant(record)

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in line)


def configure(level: str, layout: str) -> None:
    """Send the log of the whole program to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = _Text("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(_Json() if layout == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
