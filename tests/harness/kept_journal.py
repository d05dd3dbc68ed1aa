"""A short life of a daemon with something in most tables of its journal, always the same.

``python tests/harness/kept_journal.py`` keeps the journal of that life in tests/small/journals,
under the number of its form. Later versions must open it: never write one again whose form was
released.
"""

from __future__ import annotations

import gzip
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

PROJECT: Final = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(PROJECT), str(PROJECT / "tests")]

from monitor.config import parse  # noqa: E402 - it may be run as a program
from monitor.daemon.assembly import Parts, assemble  # noqa: E402
from monitor.daemon.checkpoints import save_all_evidence  # noqa: E402
from monitor.journal.schema import SCHEMA_VERSION  # noqa: E402
from monitor.mqtt.inbox import InboxMessage  # noqa: E402

KEPT: Final = PROJECT / "tests" / "small" / "journals"
NOW: Final = 1_780_000_000.0
_SETTINGS: Final = """
journal: {{path: "{path}"}}
pairing: {{mode: nearest, tolerance_seconds: 5}}
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference}}
  - {{topic: "monitor/{{sensor}}/event", kind: event}}
"""
_ROUNDS: Final = 540  # enough for evidence to be kept
_REVISABLE: Final = 120


def opened(path: Path) -> Parts:
    """Return a daemon's parts on a journal."""
    return assemble(parse(_SETTINGS.format(path=path).encode(), "settings.yaml"), NOW)


def live(parts: Parts) -> None:
    """Let it take the messages of that life."""
    said = [each for number in range(_ROUNDS) for each in _round(number)]
    said += [
        _message("monitor/a/x/reference", 60, identity="r60", rev=2, value=60.5),
        _message("monitor/a/event", 30, event="adjusted", note="cleaned"),
        InboxMessage("monitor/a/x/reading", b"no JSON", 0, b"", 0),
        *_round(5),
    ]
    for first in range(0, len(said), 100):
        parts.intake.commit(parts.intake.prepare(said[first : first + 100], NOW))
    parts.network.evaluate(NOW)
    parts.network.drain_transitions()
    save_all_evidence(parts.network, parts.journal)


def _round(number: int) -> list[InboxMessage]:
    error = (number * 37 % 101 - 50) / 50.0
    said = [
        _message("monitor/b/x/reading", number, value=8.0 + error, u=1.0),
        _message("monitor/b/x/reference", number, value=0.0),
    ]
    if number < _REVISABLE:
        said += [
            _message("monitor/a/x/reading", number, value=number + error, u=1.0),
            _message("monitor/a/x/reference", number, identity=f"r{number}", value=number),
        ]
    return said


def _message(topic: str, number: int, **members: Any) -> InboxMessage:
    time = datetime.fromtimestamp(NOW - 80_000.0 + 60.0 * number, UTC).isoformat()
    named = {"id" if name == "identity" else name: value for name, value in members.items()}
    return InboxMessage(topic, json.dumps({"time": time, **named}).encode(), 0, b"", 0)


def main() -> None:
    """Keep the journal of that life."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "journal.sqlite")
        parts = opened(path)
        live(parts)
        parts.journal.close()
        KEPT.mkdir(exist_ok=True)
        packed = gzip.compress(path.read_bytes(), mtime=0)
        (KEPT / f"form-{SCHEMA_VERSION}.journal.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
