"""``monitor cluster``: run the job on Spark, or a bridge from the broker to its log."""

from __future__ import annotations

import argparse
from typing import Final

from monitor.extensions.cluster import bridge_command, run_command

_ACTIONS: Final = {
    "run": ("run the cluster's job on Spark: read the log, write results", run_command),
    "bridge": ("forward messages from the broker to the cluster's log", bridge_command),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, (summary, module) in _ACTIONS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        module.arguments(actions.add_parser(name, help=summary, description=description))


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    _, module = _ACTIONS[options.action]
    return module.run(options)
