"""The commands: one file each in ``monitor.commands``, one line each in ``COMMANDS``.

A command's file has ``arguments(parser)`` and ``run(options) -> exit code``. It is imported only
when it is used, so that no command pays for another's libraries.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from monitor import __version__
from monitor.errors import USAGE, MonitorError

COMMANDS: Final = {
    "demo": "run a simulated fleet with known faults, a broker and the daemon together",
    "discover": "listen to a broker and propose settings that read what it carries",
    "init": "write a settings file to start from",
    "run": "run the daemon: read from a broker, publish metrics, pages and alerts",
    "bridge": "forward messages from the broker to a cluster's log",
    "cluster": "run the cluster's job on Spark: read the log, write results",
    "journal": "check, back up, restore or repair the journal",
    "check-config": "report every mistake in a settings file",
    "explain": "show how one message is decoded, converted, paired or rejected",
    "doctor": "find out why there are no pairs",
    "score": "compute the statistics of recorded pairs or of a recorded stream",
    "compare": "compare two sensors on common events, or one sensor before and after",
    "budget": "split the variance of differences among sensors and reference",
    "due": "list which sensors need a reference next, and where one is worth most",
    "correct": "correct recorded readings as a daemon would have done, with valid intervals",
    "report": "write an HTML report on recorded data, or on a daemon's pairs",
    "reproduce": "reproduce the tables and figures of the three papers beside the printed ones",
    "export": "write a daemon's pairs to CSV, JSON lines or Parquet",
    "replay": "publish a recorded stream to the broker as if it were live",
    "reference": "publish references: one measured by hand, or a table",
    "certificate": "read a digital calibration certificate (DCC): value, u, k, validity",
    "certify": "write or check a sensor's signed as-found / as-left record",
    "event": "record that a sensor was adjusted, moved or replaced",
    "simulate": "write or publish the messages of a simulated fleet",
    "docs": "print a page of the documentation, or write all of them as a site",
    "completion": "print the completion script for bash, zsh or fish",
    "version": "print the version",
}

# Negative numbers that argparse takes for options, unless a blank stands before them.
_NEGATIVE: Final = re.compile(r"-(?=.*[,eE])[\d.,]*\d([eE][-+]?\d+)?", re.ASCII)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", "").split())
    # Set before numpy is loaded: small matrix products cost more when threads share them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        _parser("").print_help(sys.stderr)
        return USAGE
    parser = _parser(given[0])
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        meant = get_close_matches(given[0], COMMANDS, n=1)
        hint = f"did you mean `monitor {meant[0]}`?" if meant else "see `monitor --help`"
        parser.error(f"unknown command {given[0]!r}; {hint}")
    given = [f" {each}" if _NEGATIVE.fullmatch(each) else each for each in given]
    options = parser.parse_args(given)
    command = import_module(_module(options.command))
    try:
        return int(command.run(options))
    except MonitorError as error:
        print(f"monitor: {error}", file=sys.stderr)  # noqa: T201 - a command's error
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone
        return 0


def _complete(line: list[str]) -> None:
    """Print the completions of ``line`` for the shell, and exit."""
    from argcomplete import autocomplete  # noqa: PLC0415 - only for a shell that asks

    autocomplete(_parser(line[1] if len(line) > 1 else ""))


def _parser(wanted: str) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the arguments of the wanted one only."""
    top = argparse.ArgumentParser(
        prog="monitor",
        description="Live calibration monitoring for sensors that state their own uncertainty.",
    )
    top.add_argument("--version", action="version", version=f"monitor {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, summary in COMMANDS.items():
        parser = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        if name == wanted:
            import_module(_module(name)).arguments(parser)
    return top


def _module(command: str) -> str:
    return f"monitor.commands.{command.replace('-', '_')}"
