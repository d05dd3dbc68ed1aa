"""``monitor check-config``: every mistake in a settings file, a line each."""

from __future__ import annotations

import argparse

from monitor.config import SettingsError, check, load
from monitor.config.cluster_settings import MEANINGS, SAME
from monitor.config.concerns import concerns_of
from monitor.decode import DECODERS
from monitor.errors import USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Take the settings file."""
    parser.add_argument("config", metavar="FILE", help="settings, in YAML")


def run(options: argparse.Namespace) -> int:
    """Print a line a mistake; exit 0 if there is none, else 2."""
    mistakes = check(options.config, decoders=DECODERS) or _beside(options.config)
    for line in mistakes:
        print(line)
    if not mistakes:
        print(f"{options.config}: no mistakes")
        _say_both(options.config)
    return USAGE if mistakes else 0


def _say_both(config: str) -> None:
    """Print what settings mean in a daemon and in a cluster, where there is a section for it."""
    if "cluster" in load(config, decoders=DECODERS).model_fields_set:
        for key, daemon, cluster in MEANINGS:
            if cluster != SAME:
                print(f"{key}: run: {daemon}; bridge and cluster: {cluster}")
        same = ", ".join(each.key for each in MEANINGS if each.cluster == SAME)
        print(f"the same in both, but for what is above: {same}")


def _beside(config: str) -> list[str]:
    """Return the mistakes in the files that right settings name."""
    try:
        concerns_of(load(config, decoders=DECODERS))
    except SettingsError as error:
        return error.lines()
    return []
