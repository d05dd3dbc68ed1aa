"""``monitor version``: print the version."""

from __future__ import annotations

import argparse

from monitor import __version__


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    del parser


def run(options: argparse.Namespace) -> int:
    """Print the version."""
    del options
    print(f"monitor {__version__}")
    return 0
