"""Templates, their values, and the fleet rendered once for all readers of the same part.

Templates escape everything except our own drawings and the links to pages of the documentation that
sentences name; only pages that there are become links, whoever wrote the sentence. Rendered parts
are kept as long as their page is shown. Besides the documents of the interface, a page shows what
changed since yesterday: the alerts that began and those that ended, from the history. An alert that
began and ended counts on both sides, once on each however often it did so; one that is only pending
does not count. An alert that took another name began once, under its last name, and has not ended.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import numpy as np
from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup, escape

from monitor import __version__
from monitor.alerts.transition import SHOWN, Transition
from monitor.core.analysis.ranking import WORDS
from monitor.core.formatting import date_time, instant, series_path
from monitor.core.registry import SeriesKey
from monitor.core.scores.proper_scores import Density
from monitor.core.snapshot.details import Detail, Occasion
from monitor.core.snapshot.series_stats import StatisticColumns
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import noun_of
from monitor.decode.checks import REASONS
from monitor.http import documents, models, plots
from monitor.http.figures import Figure, score_figures, zeta_figure
from monitor.http.lines import brief, lines, percent_or_dash, placed
from monitor.http.metrics import metrics_of
from monitor.http.page_files import STATIC, static_file, templates
from monitor.http.published import Page, Published
from monitor.http.rankings import RankedSeries, RankingTable
from monitor.http.selection import (
    ROWS,
    FaultTable,
    Selection,
    SeriesQuery,
    fault_table,
    select,
    state_word,
    statistic,
)

_NAMED: Final = re.compile(r"\bdocs/([a-z0-9/-]+)\.md(#[a-z0-9-]+)?")

_OURS: Final = re.compile(r'\b(href|src|action)="/')  # in what comes from outside, " is escaped
_TIME: Final = re.compile(r"\b(\d{4}-\d\d-\d\d) (\d\d:\d\d)( UTC)?\b")
_SAVING: Final = re.compile(
    r" \((?:on the safe side of \S+; )?mean (?:CRPS|interval score) [^)]*\)"
)


def _with_links(sentence: str) -> Markup:
    """Return a sentence in which ``docs/pairing.md#no-pairs`` is a link."""
    return Markup(_NAMED.sub(_link, str(escape(sentence))))  # noqa: S704 - it is escaped


def _link(named: re.Match[str]) -> str:
    name, section = named[1], named[2] or ""
    if name not in _names():
        return named[0]
    return f'<a href="/docs/{name}{section}">{named[0]}</a>'


def with_saving(advice: str) -> Markup:
    """Return an advice with what it saved where it was tried marked as a figure."""
    return Markup(_SAVING.sub(r"<small>\g<0></small>", str(escape(advice))))  # noqa: S704 - it is escaped


def _with_times(sentence: str) -> Markup:
    """Return a sentence with its times as elements, to which the script adds the local time."""
    return Markup(_TIME.sub(r'<time datetime="\1T\2Z">\g<0></time>', str(escape(sentence))))  # noqa: S704 - it is escaped


@cache
def _names() -> frozenset[str]:
    from monitor import manual  # noqa: PLC0415 - for a page that names a document

    return frozenset(manual.page_names())


# -- what changed since yesterday -----------------------------------------------------------------

DAY_SECONDS: Final = 86_400.0
NAMED: Final = 4


class Change(NamedTuple):
    """One alert that began or ended; ``href`` is empty if it has no page (a reference)."""

    sensor: str
    alert: str
    href: str


class AlertTally(NamedTuple):
    """The alerts that began, or those that ended: how many, and the last of them."""

    number: int
    named: tuple[Change, ...]


class Changes(NamedTuple):
    """The alerts of one day; ``more``: the published history does not reach back so far."""

    began: AlertTally
    ended: AlertTally
    more: bool


def changes(page: Page) -> Changes:
    """Return the changes of alerts in the last 24 hours, by the time of detection."""
    yesterday = page.snapshot.time - DAY_SECONDS
    late = list(takewhile(lambda each: each.notified >= yesterday, page.history))
    newest: dict[str, Transition] = {}
    for each in late:
        if each.is_news:
            newest.setdefault(each.incident, each)
    named: dict[str, Transition] = {}
    for each in late:
        if each.fires:
            named.setdefault(each.incident, each)
    began, ended = list(named.values()), [each for each in newest.values() if not each.fires]
    return Changes(_side(began, page), _side(ended, page), more=len(late) >= SHOWN)


def _side(transitions: Sequence[Transition], page: Page) -> AlertTally:
    alerts = list({(each.sensor, each.quantity, each.alert): each for each in transitions}.values())
    return AlertTally(len(alerts), tuple(_change(each, page) for each in alerts[:NAMED]))


def _change(of: Transition, page: Page) -> Change:
    known = SeriesKey(of.sensor, of.quantity) in page.rows
    return Change(
        of.sensor, noun_of(of.alert), series_path(of.sensor, of.quantity) if known else ""
    )


# -- parts of pages -------------------------------------------------------------------------------

PAIRS_SHOWN: Final = 50
HISTORY_SHOWN: Final = 100


def fleet_title(selection: Selection) -> str:
    """Return the title of a part of the fleet: how many need work, of those in any state."""
    states, firing = selection.shown, selection.shown["firing"]
    return f"{firing} of {sum(states.values())} {state_word('firing', firing)} · monitor"


def warnings_mark(notices: Sequence[str], unpaired: Sequence[str], faults: object) -> str:
    """Return what names the warnings and faults above the fleet: the same mark, the same ones."""
    content = "\n".join((*notices, "", *unpaired, repr(faults)))
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


def after_name(sentence: str) -> str:
    """Return a sentence in a form that can follow a sensor's name."""
    return f"is {sentence}" if sentence.startswith("as right") else sentence


def spoken_from(now: Snapshot, row: int, detail: Detail) -> tuple[int, Mapping[str, float]]:
    """Return the place of the first pair that figures and sentence are of.

    Where that is not the window's first one, also the live statistics of the whole window.
    """
    begin = 0 if detail.pairs is None else now.verdict(row).begin_in(detail.pairs.time)
    if detail.pairs is None or not begin:
        return 0, {}
    of_window = StatisticColumns(1, ())
    of_window.update(np.zeros(1, dtype=np.int64), [detail.density], detail.pairs)
    return begin, {name: float(column[0]) for name, column in of_window.columns()}


def statistics(
    now: Snapshot, row: int, of_window: Mapping[str, float]
) -> list[tuple[str, str, str, str]]:
    """Return the metrics of one series: name, number, that of its whole window, meaning."""
    return [
        (
            metric,
            _told(metric, float(statistic(now, name)[row])),
            _told(metric, of_window[name]) if name in of_window else "",
            meaning,
        )
        for metric, (name, meaning) in metrics_of(now).items()
    ]


def _told(metric: str, value: float) -> str:
    if not math.isfinite(value):
        return "absent"
    is_time = metric.endswith("_timestamp_seconds")
    return f"{date_time(value)} UTC" if is_time else f"{value:.5g}"


def dead_letters(shared: Published, sensor: str) -> list[dict[str, Any]]:
    """Return the newest dead letters, of one sensor or (if empty) of all."""
    page = shared.page()
    letters = () if page is None else page.dead_letters
    matched = (each for each in letters if documents.concerns(each, sensor))
    return [{**documents.dead_letter(letter)} for letter in islice(matched, PAIRS_SHOWN)]


class HistoryFilter(NamedTuple):
    """Which changes of alerts to show: ``show`` "all", or empty for only fired and ended ones.

    ``text`` are words that must occur in sensor, quantity, alert or sentence.
    """

    show: str = ""
    text: str = ""

    def fits(self, each: Transition) -> bool:
        """Return whether a change is to be shown."""
        if not (each.is_news or self.show == "all"):
            return False
        words = f"{each.sensor} {each.quantity} {each.alert} {each.sentence}".casefold()
        return all(word in words for word in self.text.casefold().split())


def alert_history(
    page: Page, only: HistoryFilter, sensor: str = "", quantity: str = ""
) -> list[dict[str, Any]]:
    """Return the last changes of alerts, each with the address of its series if it is of one."""
    chosen = (each for each in page.history if only.fits(each))
    return [
        {
            **each,
            "href": series_href(each)
            if SeriesKey(each["sensor"], each["quantity"]) in page.rows
            else "",
            "when": each["time"][:19].replace("T", " "),
        }
        for each in documents.history(chosen, HISTORY_SHOWN, sensor, quantity)
    ]


def time_element(time: float, zone: str = "") -> Markup:
    """Return a time in UTC, to which the script adds the reader's local time.

    ``zone`` is " UTC" where no heading says so.
    """
    stated = instant(time, "seconds")
    return Markup('<time datetime="{}">{}{}</time>').format(stated, date_time(time), zone)


def series_href(
    of: models.NamedPair | models.Alert | RankedSeries | models.Transition,
) -> str:
    """Return the address of the series concerned."""
    return series_path(of["sensor"], of["quantity"])


def drawings(event: Occasion) -> list[tuple[str, Markup]]:
    """Return one drawing per quantity, the best CRPS on top."""
    drawings, crps = [], [each["crps"] or 0.0 for each in documents.scored(event)]
    for quantity in sorted({name.quantity for name in event.names}):
        rows = [at for at, name in enumerate(event.names) if name.quantity == quantity]
        rows.sort(key=lambda at: crps[at])
        if event.pairs is not None:
            names = [event.names[at].sensor for at in rows]
            part = event.pairs.take(np.array(rows))
            drawn = plots.occasion_plot(part, names, event.names[rows[0]].unit)
            drawings.append((quantity, Markup(drawn)))  # noqa: S704 - it escapes its words
    return drawings


def scatters(table: RankingTable, density: Density) -> list[Figure]:
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
    return [*score_figures(means, density, names), zeta_figure(zms, rce, names)]


def without_time(text: str) -> str:
    """Return a page without the line that says when it was made."""
    return text.partition('<main id="main"')[2]


# -- templates ------------------------------------------------------------------------------------

_KEPT: Final = 32
MENU: Final = (
    ("/", "Fleet"),
    ("/picture", "Picture"),
    ("/ranking", "Ranking"),
    ("/alerts", "Alerts"),
    ("/doctor", "Doctor"),
    ("/docs", "Docs"),
    ("/about", "About"),
)


class Rendered(NamedTuple):
    """A part of the fleet: lines by key in their order, and the content above them, not yet rooted.

    ``mark`` names the lines: the same mark, the same lines.
    """

    rows: dict[str, str]
    summary: str
    selection: Selection
    mark: str
    faults: FaultTable | None


def address(query: SeriesQuery) -> str:
    """Return the address of the fleet's page for a query."""
    fields: dict[str, object] = {
        "state": query.shown,
        "fault": query.fault,
        "group": query.group or "",
        "text": query.text,
        "sort": f"-{query.order}" if query.descending else query.order,
        "page": query.page,
        "rows": query.rows,
        "figures": "all" if query.figures else "",
    }
    usual = {"sort": "state", "page": 1, "rows": ROWS}
    given = urlencode({key: value for key, value in fields.items() if value != usual.get(key, "")})
    return f"/?{given}" if given else "/"


class Renderer:
    """Renders pages; one for the service's thread."""

    def __init__(self, menu: Sequence[tuple[str, str]] = (), root_path: str = "") -> None:
        """``menu`` are addresses and words of pages that extensions add.

        Every link leads below ``root_path``, where a reverse proxy shows the pages.
        """
        self._root_path: Final = root_path
        self._templates: Final = templates()
        self.static: Final = {name: static_file(name) for name in STATIC}
        marks = {
            name: hashlib.blake2b(body, digest_size=6).hexdigest()
            for name, body in self.static.items()
        }
        self._templates.globals.update(
            percent=percent_or_dash,
            words=WORDS,
            version=__version__,
            marks=marks,
            root_path=root_path,
            address=address,
            usual=SeriesQuery(),
            moment=date_time,
            utc=time_element,
            placed=placed,
            brief=brief,
            menu=(*MENU[:-3], *menu, *MENU[-3:]),
        )
        self._templates.filters.update(
            with_links=_with_links,
            with_saving=with_saving,
            with_times=_with_times,
            state_word=state_word,
            noun=noun_of,
        )
        self._page: Page | None = None
        self._changes: Changes | None = None
        self._table: FaultTable | None = None
        self._fleets: dict[SeriesQuery, Rendered] = {}

    def add_templates(self, folder: Path) -> None:
        """Find templates in ``folder`` too."""
        loaders = (self._templates.loader, FileSystemLoader(folder))
        self._templates.loader = ChoiceLoader([each for each in loaders if each is not None])

    def text(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a rendered template."""
        return self.rooted(self._templates.get_template(template).render(values))

    def rooted(self, text: str) -> str:
        """Return a rendered text with its links below the path where a proxy shows the pages."""
        return _OURS.sub(rf'\1="{self._root_path}/', text) if self._root_path else text

    def fleet(self, page: Page, query: SeriesQuery) -> Rendered:
        """Return a part of the fleet, rendered at the first request for it."""
        if page is not self._page:
            self._page = page
            self._changes = changes(page)
            self._table = fault_table(page.snapshot)
            self._fleets.clear()
        rendered = self._fleets.get(query)
        if rendered is None:
            while len(self._fleets) >= _KEPT:
                del self._fleets[next(iter(self._fleets))]
            rendered = self._fleets[query] = self._fleet(page, query)
        return rendered

    def _fleet(self, page: Page, query: SeriesQuery) -> Rendered:
        chosen = select(page.snapshot, query)
        template = self._templates.get_template("line.html")
        listed = lines(page.snapshot, chosen.rows.tolist())
        above: dict[str, Any] = {"selection": chosen, "query": query, "not_ready": page.not_ready}
        above["changes"] = self._changes
        rows = self._invisible(page, query)
        chosen.shown["stale"] += len(rows)
        if query.shown not in ("", "stale") or query.page > 1:
            rows.clear()
        rows |= {each.key: template.render(each=each, figures=query.figures) for each in listed}
        mark = hashlib.blake2b("".join(rows.values()).encode(), digest_size=12).hexdigest()
        summary = self._templates.get_template("summary.html").render(above)
        return Rendered(rows, summary, chosen, mark, self._table)

    def _invisible(self, page: Page, query: SeriesQuery) -> dict[str, str]:
        """Return a line for each sensor none of whose messages could be used, of any state."""
        if query.fault or query.group:
            return {}
        template, words = self._templates.get_template("refused.html"), query.text.casefold()
        return {
            f"{sensor}/": template.render(
                sensor=sensor, letter=letter, means=REASONS[letter.reason]
            )
            for sensor, letter in sorted(page.invisible.items())
            if words in sensor.casefold()
        }
