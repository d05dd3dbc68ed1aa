"""The pairs in force: from the running daemon over HTTP, or from its journal once it is stopped.

Rules of this file: it only reads; the daemon serves the pairs in its windows, the journal has all
that have not expired.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.client.client import ClientError, DaemonClient
from monitor.config.core_plan import RulesOf, rules_of, with_units
from monitor.config.settings import Settings
from monitor.core.formatting import series_path
from monitor.core.model import (
    NAN,
    PAIR,
    in_event_order,
    pair_records,
)
from monitor.core.pairing.identities import digest
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import PAIRS_MAX
from monitor.journal.failures import JournalBusyError
from monitor.journal.journal import Journal
from monitor.report.recorded import Recorded, replayed

# What the daemon derived, by what the sensor stated.
_DERIVED: Final = {"u": ("lower", "upper", "p"), "interval": ("u",), "both": ()}
WINDOWS_ONLY: Final = (
    "read from the running daemon, which has the pairs in its windows; its journal, which can be "
    "read once the daemon is stopped, has all of them"
)


def current_pairs(settings: Settings, client: DaemonClient | None = None) -> Recorded:
    """Return the pairs of all series in event order; raises ClientError, JournalError.

    ``client`` is by default that of the settings.
    """
    client = client or DaemonClient.of(settings)
    live = _of_daemon(settings, client)
    return _of_journal(settings, client) if live is None else live


def _rules(settings: Settings, units: dict[SeriesKey, str]) -> RulesOf:
    return with_units(
        partial(rules_of, settings),
        lambda sensor, quantity: units.get(SeriesKey(sensor, quantity), ""),
    )


def _of_daemon(settings: Settings, client: DaemonClient) -> Recorded | None:
    series = _series(client)
    if series is None:
        return None
    if not series:
        return Recorded((), np.zeros(0, dtype=PAIR), [], (), ())
    units: dict[SeriesKey, str] = {}
    made: list[tuple[Any, ...]] = []
    cut = 0
    for each in series:
        key = SeriesKey(each["sensor"], each["quantity"])
        path = f"{series_path(key.sensor, key.quantity)[1:]}/pairs"
        page = _asked(client, path)
        cut += page["total"] > len(page["pairs"])
        made += (
            _pair(len(units), len(made) + at, pair)
            for at, pair in enumerate(reversed(page["pairs"]))
        )
        units[key] = each["unit"]
    notes = (WINDOWS_ONLY, _cut_note(cut)) if cut else (WINDOWS_ONLY,)
    return replayed(list(units), pair_records(made), _rules(settings, units), (), notes)


def _cut_note(cut: int) -> str:
    of = "of 1 series that has" if cut == 1 else f"of {cut} series that have"
    return f"{of} more than {PAIRS_MAX} pairs in the window, only the last {PAIRS_MAX} are here"


def _series(client: DaemonClient) -> list[dict[str, Any]] | None:
    """Return the entries of all series, None if no daemon answers."""
    first = client.get("series?page=1")
    if first is None:
        return None
    series = [*first["series"]]
    for page in range(2, first["pages"] + 1):
        series += _asked(client, f"series?page={page}")["series"]
    return series


def _asked(client: DaemonClient, path: str) -> dict[str, Any]:
    """Return a document of a daemon that has answered before; raises ClientError."""
    answer = client.get(path)
    if answer is None:
        raise ClientError(f"{client.url} no longer answers; try again")
    return answer


def _pair(series: int, number: int, pair: dict[str, Any]) -> tuple[Any, ...]:
    """Return one pair of the daemon's answer as a row of ``PAIR``, without what was derived."""
    names = ("time", "value", "u", "lower", "upper", "p", "reference", "u_ref")
    derived = _DERIVED[pair["stated_by"]]
    numbers = {name: NAN if pair[name] is None or name in derived else pair[name] for name in names}
    known = (pair["subject"], pair["identity"], pair["key"], repr(pair["reference_time"]))
    alone = (repr(pair["time"]), repr(pair["reference"]))
    event = digest(*(known if any(known[:3]) else alone))
    crps = NAN if pair["crps_stated"] is None else pair["crps_stated"]
    return (series, number, *numbers.values(), 0.0, event, crps, False)


def _of_journal(settings: Settings, client: DaemonClient) -> Recorded:
    path = Path(settings.journal.path)
    client.require_journal(path)
    try:
        journal = Journal(path)
    except JournalBusyError as error:
        raise client.unreachable(path) from error
    try:
        known = journal.series()
        pairs = in_event_order(journal.pairs())
        events = journal.events()
    finally:
        journal.close()
    names = [SeriesKey(each.sensor, each.quantity) for each in known]
    units = dict(zip(names, (each.unit for each in known), strict=True))
    return replayed(names, pairs, _rules(settings, units), events)
