"""``monitor doctor``: why there are no pairs, from the running daemon or its journal."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from monitor.client.client import DaemonClient, client_arguments, client_of
from monitor.commands.options import config_option, json_option
from monitor.config import Settings, load
from monitor.daemon.assembly import assemble
from monitor.daemon.examination import examined
from monitor.explain.doctor import doctor_report
from monitor.journal import JournalBusyError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser)
    json_option(parser, "the report")
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Print the findings; exit 0 if there are pairs of every quantity, else 1."""
    settings = load(options.config)
    client = client_of(settings, options)
    document = client.get("doctor") or _of_journal(settings, client)
    words = document.pop("text")
    print(json.dumps(document, indent=2, ensure_ascii=False) if options.json else words)
    causes = [each["cause"] for each in document["quantities"]]
    return 0 if causes and set(causes) == {"paired"} else 1


def _of_journal(settings: Settings, client: DaemonClient) -> dict[str, Any]:
    client.require_journal(settings.journal.path)
    try:
        now = time.time()
        parts = assemble(settings, now)
    except JournalBusyError as error:
        raise client.unreachable(settings.journal.path) from error
    try:
        return doctor_report(examined(parts, now), None).document()
    finally:
        parts.journal.close()
