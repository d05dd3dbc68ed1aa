"""``monitor what-if``: a daemon's journal replayed with other settings, beside what was."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from monitor.commands.options import config_option, json_option
from monitor.config import Settings, load
from monitor.core.formatting import grouped_count, instant, significant
from monitor.errors import UsageError
from monitor.extensions.what_if.other_settings import (
    changed_settings,
    settings_of_note,
    settings_to_try,
)
from monitor.files.whole_file import write_page
from monitor.report.progress import step

if TYPE_CHECKING:
    from monitor.extensions.what_if.replay import OtherReadings

_VERSION: Final = 1
_MOST: Final = 1e15


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser, "settings to try; journal.path says where the journal is")
    parser.add_argument(
        "--was",
        metavar="FILE",
        help="settings to compare with (default: those that a daemon last ran with on the journal)",
    )
    parser.add_argument(
        "--settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="further keys to try, such as windows.pairs=200",
    )
    parser.add_argument(
        "--multiply-u",
        type=float,
        default=1.0,
        metavar="F",
        help="as if the sensors had stated F times their uncertainty",
    )
    parser.add_argument(
        "--subtract",
        type=float,
        default=0.0,
        metavar="X",
        help="as if the sensors had sent X less",
    )
    parser.add_argument(
        "--sensor", default="*", metavar="PATTERN", help="which sensors that is for (default: all)"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="also write it as a page (HTML)")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print what would have been beside what was; the journal is only read."""
    from monitor.extensions.what_if.comparison import (  # noqa: PLC0415 - numpy
        comparison_lines,
        comparison_page,
    )
    from monitor.extensions.what_if.replay import OtherReadings  # noqa: PLC0415

    if not 0.0 < options.multiply_u <= _MOST:
        raise UsageError(f"--multiply-u {options.multiply_u}: must be above 0, at most {_MOST:g}")
    if not abs(options.subtract) <= _MOST:
        raise UsageError(f"--subtract {options.subtract}: must be a number, at most {_MOST:g}")
    readings = OtherReadings(options.multiply_u, options.subtract, options.sensor)
    then = settings_to_try(options.config, options.settings)
    document = _compared(options, then, readings)
    if options.out is not None:
        write_page(options.out, comparison_page(document, instant(time.time(), "seconds")))
    lines = [json.dumps(document, allow_nan=False)] if options.json else comparison_lines(document)
    print("\n".join(lines))
    return 0


def _compared(
    options: argparse.Namespace, then: Settings, readings: OtherReadings
) -> dict[str, Any]:
    from monitor.extensions.what_if.comparison import replays_compared  # noqa: PLC0415 - numpy
    from monitor.extensions.what_if.replay import AS_SENT, reach_of, replay_journal  # noqa: PLC0415
    from monitor.journal.copying import backup  # noqa: PLC0415

    path = Path(then.journal.path)
    with TemporaryDirectory(prefix="monitor-what-if-") as folder, step(f"replaying {path}"):
        copy = Path(folder, "journal.sqlite")
        backup(path, copy)
        reach = reach_of(copy, path)
        was = _settings_before(options, reach.settings)
        began = time.perf_counter()
        # The first one notes in the copy which settings made its pairs.
        replays = [replay_journal(copy, was, AS_SENT), replay_journal(copy, then, readings)]
        seconds = time.perf_counter() - began
    pairs = sum(each.pairs for each in replays)
    sys.stderr.write(
        f"{grouped_count(pairs, 'pair')} replayed in {significant(seconds)} s: "
        f"{significant(pairs / seconds)} a second\n"
    )
    return {
        "version": _VERSION,
        "journal": str(path),
        **reach.document(),
        "changes": [*changed_settings(was, then), *readings.sentences()],
        "limits": list(replays[1].limits),
        "series": replays_compared(*replays),
    }


def _settings_before(options: argparse.Namespace, note: bytes) -> Settings:
    """Return the settings to compare with; raises SettingsError, UsageError."""
    if options.was is not None:
        return load(options.was)
    if not note:
        raise UsageError(
            "the journal does not say with which settings its daemon ran, since none of this "
            "version has; name them: --was FILE"
        )
    return settings_of_note(note, f"{options.config}, of the journal")
