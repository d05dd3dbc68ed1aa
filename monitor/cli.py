"""The commands: one file each in ``monitor.commands``, one line each in ``COMMANDS``.

A command's file has ``arguments(parser)`` and ``run(options) -> exit code``; it is imported only
when it is asked for, so that no command pays for another's libraries.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Final

from monitor.errors import USAGE, MonitorError

COMMANDS: Final = {
    "demo": "a simulated fleet with known faults, broker and daemon, all in one place",
    "init": "write a settings file to start from",
    "run": "the daemon: read from a broker until told to stop",
    "bridge": "from the broker to the log of a cluster",
    "cluster": "the same on a distributed engine: read the log, write results",
    "journal": "check, back up, restore or repair what was accepted",
    "check-config": "say every mistake in a settings file",
    "explain": "what becomes of one message: fields, units, uncertainty, pair or refusal",
    "doctor": "say why there are no pairs",
    "score": "statistics of a file of pairs or of a stream",
    "compare": "two sensors on their common events, or one before and after",
    "report": "write a page on a file of pairs, of a stream, or on what a daemon has",
    "export": "write the pairs of a daemon to a file: CSV, JSON lines, Parquet",
    "replay": "publish a recorded stream to the broker, as if it were live",
    "event": "tell the daemon that a sensor was adjusted, moved or replaced",
    "simulate": "write or publish what a simulated fleet sends",
    "completion": "print what makes bash, zsh or fish complete commands with Tab",
    "version": "print the version",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if "_ARGCOMPLETE" in os.environ:
        _complete(os.environ.get("COMP_LINE", "").split())
    # Before numpy is loaded: products of a few columns cost more where threads share them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        _parser("").print_help(sys.stderr)
        return USAGE
    parser = _parser(given[0])
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        meant = get_close_matches(given[0], COMMANDS, n=1) or ["--help"]
        parser.error(f"there is no command {given[0]!r}; did you mean `monitor {meant[0]}`?")
    options = parser.parse_args(given)
    command = import_module(_module(options.command))
    try:
        return int(command.run(options))
    except MonitorError as error:
        print(f"monitor: {error}", file=sys.stderr)  # noqa: T201 - the program's last word
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone: nothing is left to say
        return 0


def _complete(line: list[str]) -> None:
    """Tell the shell that asks what may follow ``line``, and end."""
    from argcomplete import autocomplete  # noqa: PLC0415 - only for a shell that asks

    autocomplete(_parser(line[1] if len(line) > 1 else ""))


def _parser(wanted: str) -> argparse.ArgumentParser:
    """Return the parser of all commands; only the wanted one's arguments are known."""
    top = argparse.ArgumentParser(
        prog="monitor",
        description="Tells, live, whether sensors that state their own uncertainty are right.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, summary in COMMANDS.items():
        parser = commands.add_parser(name, help=summary, description=f"{summary}.")
        if name == wanted:
            import_module(_module(name)).arguments(parser)
    return top


def _module(command: str) -> str:
    return f"monitor.commands.{command.replace('-', '_')}"
