"""The commands: one file each in ``monitor.commands``, one line each in ``_OF_HOUSE``.

Extensions have theirs in their own folders (:mod:`monitor.extensions`).

A command's file has ``arguments(parser)`` and ``run(options) -> exit code``. It is imported only
when it is used, so that no command pays for another's libraries.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import chain
from typing import Final

from monitor import __version__, extensions
from monitor.errors import TRY_AGAIN, USAGE, MonitorError
from monitor.extensions import Command

# The groups of ``monitor --help``, in their order.
FIRST, DAILY, FILES, MORE = GROUPS = ("first minutes", "every day", "files", "more")
_OF_HOUSE: Final = {
    "demo": ("run a simulated fleet with known faults, a broker and the daemon together", FIRST),
    "init": ("write a settings file to start from", FIRST),
    "check-config": ("report every mistake in a settings file", FIRST),
    "explain": ("show how one message is decoded, converted, paired or rejected", FIRST),
    "run": ("run the daemon: read from a broker, publish metrics, pages and alerts", DAILY),
    "doctor": ("find out why there are no pairs", DAILY),
    "reference": ("publish references: one measured by hand, or a table", DAILY),
    "event": ("record that a sensor was adjusted, moved or replaced", DAILY),
    "docs": ("print a page of the documentation, or write all of them as a site", DAILY),
    "score": ("compute the statistics of recorded pairs or of a recorded stream", FILES),
    "compare": ("compare two sensors on common events, or one sensor before and after", FILES),
    "report": ("write an HTML report on recorded data, or on a daemon's pairs", FILES),
    "export": ("write a daemon's pairs to CSV, JSON lines or Parquet", FILES),
    "journal": ("check, back up, restore or repair the journal", MORE),
    "replay": ("publish a recorded stream to the broker as if it were live", MORE),
    "simulate": ("write or publish the messages of a simulated fleet", MORE),
}
COMMANDS: Final = {
    name: Command(summary, f"monitor.commands.{name.replace('-', '_')}", group)
    for name, (summary, group) in _OF_HOUSE.items()
}

# What to say of former names.
_MOVED: Final = {
    "bridge": "bridge is now `monitor cluster bridge`",
    "certify": "certify is now `monitor certificate write` and `monitor certificate verify`",
    "completion": "completion is now `monitor docs --completion bash` (or zsh, fish)",
    "version": "version is now `monitor --version`",
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
    if not given[0].startswith("-") and _command(given[0]) is None:
        meant = get_close_matches(given[0], all_commands(), n=1)
        hint = f"did you mean `monitor {meant[0]}`?" if meant else "see `monitor --help`"
        parser.error(_MOVED.get(given[0], f"unknown command {given[0]!r}; {hint}"))
    given = [f" {each}" if _NEGATIVE.fullmatch(each) else each for each in given]
    options = parser.parse_args(given)
    command = import_module(options.module)
    try:
        return int(command.run(options))
    except MonitorError as error:
        print(f"monitor: {error}", file=sys.stderr)  # noqa: T201 - a command's error
        return error.exit_code
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        sys.stderr.write(f"monitor: out of memory{why}; give it less at once, or more memory\n")
        return TRY_AGAIN
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output is gone
        return 0


def _complete(line: list[str]) -> None:
    """Print the completions of ``line`` for the shell, and exit."""
    from argcomplete import autocomplete  # noqa: PLC0415 - only for a shell that asks

    autocomplete(_parser(line[1] if len(line) > 1 else ""))


def all_commands() -> dict[str, Command]:
    """Return every command, those of extensions included."""
    of_extensions = (extension.commands for extension in extensions.all_extensions())
    return dict(chain(COMMANDS.items(), *(commands.items() for commands in of_extensions)))


def _command(name: str) -> Command | None:
    """Return a command by its name; of the extensions, only its own is imported."""
    if name in COMMANDS:
        return COMMANDS[name]
    extension = extensions.of_command(name)
    return None if extension is None else extension.commands[name]


def _parser(wanted: str) -> argparse.ArgumentParser:
    """Return the parser of the wanted command, or that of all, which lists them by group."""
    top = argparse.ArgumentParser(
        prog="monitor",
        description="Live calibration monitoring for sensors that state their own uncertainty.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"monitor {__version__}")
    subparsers = top.add_subparsers(required=True, metavar="COMMAND", dest="command")
    only = _command(wanted)
    listed = all_commands() if only is None else {wanted: only}
    for name, command in listed.items():
        summary = f"{command.summary[0].upper()}{command.summary[1:]}."
        parser = subparsers.add_parser(name, description=summary)
        parser.set_defaults(module=command.module)
        if command is only:
            import_module(command.module).arguments(parser)
    top.epilog = _listing(listed)
    return top


def _listing(commands: Mapping[str, Command]) -> str:
    """Return the commands with their summaries, by group."""
    width = max(map(len, commands))
    lines: list[str] = []
    for group in GROUPS:
        lines += [f"{group}:"] if lines == [] else ["", f"{group}:"]
        lines += [
            f"  {name:{width}}  {each.summary}"
            for name, each in commands.items()
            if each.group == group
        ]
    return "\n".join(lines)
