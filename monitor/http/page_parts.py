"""What the templates of pages are filled with, beside the documents of the interface."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from markupsafe import Markup

from monitor.core.formatting import finite
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Occasion
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http import documents, models, plots
from monitor.http.figures import Figure, score_figures, zeta_figure
from monitor.http.lines import href
from monitor.http.metrics import METRICS
from monitor.http.published import Page, Published

PAIRS_SHOWN: Final = 50
HISTORY_SHOWN: Final = 100


def after_name(sentence: str) -> str:
    """Return a sentence that may follow a sensor's name."""
    return f"is {sentence}" if sentence.startswith("as right") else sentence


def statistics(now: Snapshot, row: int) -> list[tuple[str, str, str]]:
    """Return the metrics of one series: name, number, meaning."""
    found = []
    for metric, (name, meaning) in METRICS.items():
        value = finite(now.statistics[name][row]) if name in now.statistics else None
        found.append((metric, "absent" if value is None else f"{value:.5g}", meaning))
    return found


def dead_letters(shared: Published, sensor: str) -> list[dict[str, Any]]:
    """Return the newest dead letters, of one sensor or (empty) of all."""
    page = shared.page()
    letters = () if page is None else page.dead_letters
    found = [each for each in letters if documents.concerns(each, sensor)]
    return [{**documents.dead_letter(letter)} for letter in found[:PAIRS_SHOWN]]


def history(page: Page, sensor: str = "", quantity: str = "") -> list[dict[str, Any]]:
    """Return the last changes of alerts, each with the address of its series if it is of one."""
    return [
        {
            **each,
            "href": series_href(each)
            if SeriesKey(each["sensor"], each["quantity"]) in page.rows
            else "",
            "when": each["time"][:19].replace("T", " "),
        }
        for each in documents.history(page.history, HISTORY_SHOWN, sensor, quantity)
    ]


def series_href(of: models.NamedPair | models.Alert | models.Transition) -> str:
    """Return the address of the series that something is about."""
    return href(of["sensor"], of["quantity"])


def drawings(found: Occasion) -> list[tuple[str, Markup]]:
    """Return one drawing a quantity, the best CRPS on top."""
    drawings, crps = [], [each["crps"] or 0.0 for each in documents.scored(found)]
    for quantity in sorted({name.quantity for name in found.names}):
        rows = [at for at, name in enumerate(found.names) if name.quantity == quantity]
        rows.sort(key=lambda at: crps[at])
        if found.pairs is not None:
            names = [found.names[at].sensor for at in rows]
            part = found.pairs.take(np.array(rows))
            drawn = plots.occasion(part, names, found.names[rows[0]].unit)
            drawings.append((quantity, Markup(drawn)))  # noqa: S704 - it escapes its words
    return drawings


def scatters(table: dict[str, Any]) -> list[Figure]:
    """Return scores against each other and the map of zeta, nothing for two sensors."""
    listed = table["series"]
    if len(listed) < 3:
        return []
    names = [each["sensor"] for each in listed]
    means = {
        score: np.array([each["scores"][score]["mean"] for each in listed], dtype=np.float64)
        for score in listed[0]["scores"]
    }
    zms, rce = (
        np.array([each[name] for each in listed], dtype=np.float64)
        for name in ("zeta_zms", "zeta_rce")
    )
    return [*score_figures(means, table["density"], names), zeta_figure(zms, rce, names)]


def without_time(text: str) -> str:
    """Return a page without the line that says when it was made."""
    return text.partition('<main id="main"')[2]
