"""``monitor check-config``: every mistake in a settings file, a line each."""

from __future__ import annotations

import argparse

from monitor.config import check
from monitor.errors import USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take the settings file."""
    parser.add_argument("config", metavar="FILE", help="settings, in YAML")


def run(options: argparse.Namespace) -> int:
    """Print a line a mistake; exit 0 if there is none, else 2."""
    mistakes = check(options.config)
    for line in mistakes:
        print(line)
    if not mistakes:
        print(f"{options.config}: no mistakes")
    return USAGE if mistakes else 0
