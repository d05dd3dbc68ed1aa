"""The daemon's log on standard error: text, or one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys

from monitor.core.formatting import instant


def _instant(record: logging.LogRecord) -> str:
    return instant(record.created, "seconds")


class _Json(logging.Formatter):
    """One object per line, which no message can break out of."""

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
    """Time, level, message; control characters are replaced."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as logging names it
        del datefmt
        return _instant(record)

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in line)


def configure(level: str, layout: str) -> None:
    """Send the program's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    text = _Text("%(asctime)s %(levelname)-7s %(message)s")
    handler.setFormatter(_Json() if layout == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
