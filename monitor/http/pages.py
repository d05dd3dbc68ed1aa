"""The pages for people: fleet, series, event, alerts, doctor, about.

Rules of this file: rendered here, complete without a script; what a client says is escaped and
never becomes a path.
"""

from __future__ import annotations

import json
import platform
from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from monitor import __version__
from monitor.core.analysis.ranking import PROFILES, score_of
from monitor.core.analysis.side_by_side import MISS
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import PAIRS_MAX, Contest, Occasion
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http import answers, documents, plots
from monitor.http.answers import shown_page, unless_known
from monitor.http.figures import (
    Figure,
    compared,
    evidence,
    figures,
    score_figures,
    zeta_figure,
)
from monitor.http.interface import (
    MissNumber,
    Name,
    PageNumber,
    ProfileText,
    SortText,
    StateText,
    WordsText,
)
from monitor.http.league import League, usual_quantity
from monitor.http.lines import counted, href, lines
from monitor.http.metrics import METRICS
from monitor.http.published import Page, Published
from monitor.http.rendering import Renderer
from monitor.http.selection import (
    ROWS,
    STATES,
    Selection,
    SeriesQuery,
)

PAIRS_SHOWN: Final = 50
HISTORY_SHOWN: Final = 100
ROWS_SHOWN_MAX: Final = 1000
STATIC: Final = {"monitor.css": "text/css", "monitor.js": "text/javascript"}
_COLUMNS: Final = (
    ("sensor", "sensor", "Name, quantity and group"),
    ("state", "what is known", "State, diagnosis, and what would mend it"),
    ("evidence", "evidence", "That it is not as right as it says"),
    ("bias", "bias", "Mean error; sorted by its size"),
    ("score", "score / expected", "Mean score over the one its own claim predicts; 1 keeps it"),
    ("zms", "ZMS", "Mean of z squared with its 95 % interval; 1 is right"),
    ("coverage", "coverage", "Share of intervals that hold the reference, of what is stated"),
    ("gain", "gain", "How much better than a constant uncertainty; below 0 it misleads"),
    ("availability", "available", "Share of references that came with a usable reading"),
    ("pairs", "pairs", "Pairs in the window"),
    ("last_pair", "last pair", "Event time of the last pair, UTC"),
)
_LARGEST_FIRST: Final = frozenset(
    ("evidence", "bias", "score", "zms", "availability", "pairs", "last_pair")
)
RowsNumber = Annotated[int, Query(ge=1, le=ROWS_SHOWN_MAX)]
GroupName = Annotated[str, Query(max_length=128)]


def page_query(  # a query as the page's form sends it: an empty group is any group
    state: StateText = "",
    group: GroupName = "",
    text: WordsText = "",
    sort: SortText = "state",
    page: PageNumber = 1,
    rows: RowsNumber = ROWS,
) -> SeriesQuery:
    """Return the query of the page's form."""
    descending = sort.startswith("-")
    return SeriesQuery(state, group or None, text, sort.removeprefix("-"), descending, page, rows)


PageQuery = Annotated[SeriesQuery, Depends(page_query)]
_NOTHING: Final = Selection(np.zeros(0, np.int64), 1, 1, 0, dict.fromkeys(STATES, 0), ())


def routes(shared: Published, renderer: Renderer, league: League) -> APIRouter:
    """Return all pages, and the files they need."""
    router = APIRouter(include_in_schema=False)
    _add_fleet(router, shared, renderer)
    _add_series(router, shared, renderer)
    _add_ranking(router, shared, renderer, league)
    _add_comparison(router, shared, renderer, league)
    _add_troubles(router, shared, renderer)
    _add_static(router, renderer)
    return router


def _add_fleet(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/")
    async def fleet(request: Request, query: PageQuery) -> Response:
        page = shared.page()
        if page is None:
            nothing = {"selection": _NOTHING, "total": 0, "not_ready": "still starting"}
            text = renderer.text("fleet.html", nothing | {"here": "/", "live": "page"})
            return answers.packed(request, text.encode(), answers.HTML)
        shown = renderer.fleet(page, query)
        rows = "".join(shown.rows.values())
        values: dict[str, Any] = {
            "here": "/",
            "live": "fleet" if page.snapshot.names else "page",
            "time": page.snapshot.time,
            "total": len(page.snapshot.names) - len(page.snapshot.gone),
            "not_ready": page.not_ready,
            "selection": shown.selection,
            "query": query,
            "columns": _COLUMNS,
            "largest_first": _LARGEST_FIRST,
            # Rendered by templates that escape.
            "summary": Markup(shown.summary),  # noqa: S704
            "rows": Markup(rows),  # noqa: S704
            "mark": shown.mark,
        }
        text = renderer.text("fleet.html", values)
        return unless_known(request, text, f"{request.url.query} {shown.summary} {shown.mark}")


def _add_series(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/series/{sensor}/{quantity}")
    async def series(request: Request, sensor: Name, quantity: Name) -> Response:
        key = SeriesKey(sensor, quantity)
        detail = await answers.detail(shared, key)
        page = shown_page(shared)
        now, row = page.snapshot, page.rows[key]
        entry = documents.entry(now, row)
        told_of = (each for each in page.history if (each.sensor, each.quantity) == key)
        fired = [each.time for each in told_of if each.fires]
        profile = now.profiles[row] if now.profiles else "balanced"
        (told,) = lines(now, [row])
        values: dict[str, Any] = {
            "name": detail.name,
            "entry": entry,
            "said": _said(entry["sentence"]),
            "line": told,
            "detail": detail,
            "shown": PAIRS_MAX,
            "figures": figures(detail, score_of(profile, detail.density), fired),
            "evidence": evidence(detail) if entry["advice"] else [],
            "pairs": documents.pairs(detail, PAIRS_SHOWN),
            "statistics": _statistics(now, row),
            "letters": _letters(shared, sensor),
            "history": _history(page, sensor, quantity),
            "api": f"/api/v1{href(sensor, quantity)}",
        }
        main = renderer.text("series.html", values | {"live": "page", "time": now.time})
        return unless_known(request, main, _without_time(main))

    @router.get("/events/{key:path}")
    async def event(request: Request, key: Annotated[str, Path(max_length=256)]) -> Response:
        found = await answers.occasion(shared, key)
        told = documents.occasion(found)
        for each in told["pairs"]:
            each["href"] = href(each["sensor"], each["quantity"])
        values = {"key": key, "told": told, "drawings": _drawings(found), "time": found.time}
        return answers.packed(request, renderer.text("event.html", values).encode(), answers.HTML)


def _add_ranking(router: APIRouter, shared: Published, renderer: Renderer, league: League) -> None:
    @router.get("/ranking")
    async def ranking(
        request: Request,
        quantity: GroupName = "",
        group: GroupName = "",
        profile: ProfileText = None,
    ) -> Response:
        names = shown_page(shared).snapshot.names
        contest = Contest(quantity or usual_quantity(names), group or None)
        found = await answers.contenders(shared, contest)
        table = await league.table(found, profile)
        for each in table["series"]:
            each["href"] = href(each["sensor"], each["quantity"])
        values = {
            "here": "/ranking",
            "table": table,
            "contest": contest,
            "quantities": sorted({name.quantity for name in names}),
            "groups": sorted({name.group for name in names if name.group}),
            "profiles": PROFILES,
            "drawings": _scatters(table),
            "time": found.time,
        }
        text = renderer.text("ranking.html", values)
        return answers.packed(request, text.encode(), answers.HTML)


def _add_comparison(
    router: APIRouter, shared: Published, renderer: Renderer, league: League
) -> None:
    @router.get("/compare")
    async def compare(
        request: Request,
        quantity: GroupName = "",
        a: GroupName = "",
        b: GroupName = "",
        profile: ProfileText = None,
        miss: MissNumber = MISS,
    ) -> Response:
        names = shown_page(shared).snapshot.names
        quantity = quantity or usual_quantity(names)
        found = await answers.opponents(shared, quantity, a, b)
        told = await league.comparison(found, profile, miss, None)
        sensors = [name.sensor for name in found.names]
        values = {
            "told": told,
            "a": sensors[0],
            "b": sensors[1] if len(sensors) == 2 else "",
            "sensors": sorted(name.sensor for name in names if name.quantity == quantity),
            "profiles": PROFILES,
            "links": [(each, href(each, quantity)) for each in sensors],
            "query": {"quantity": quantity, "profile": told["profile"], "miss": miss}
            | dict(zip("ab", sensors, strict=False)),
            "time": found.time,
            **compared(told),
        }
        text = renderer.text("compare.html", values)
        return answers.packed(request, text.encode(), answers.HTML)


def _add_troubles(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/alerts")
    async def alerts(request: Request) -> Response:
        page = shown_page(shared)
        now, listed = page.snapshot, documents.alerts(page.snapshot)
        for each in listed:
            each["href"] = href(each["sensor"], each["quantity"])
            each["evidence"] = counted(each["evidence"] or 0.0)
        values = {
            "here": "/alerts",
            "alerts": listed,
            "history": _history(page),
            "time": now.time,
            "live": "page",
        }
        text = renderer.text("alerts.html", values)
        return unless_known(request, text, _without_time(text))

    @router.get("/doctor")
    async def doctor(request: Request) -> Response:
        page = shared.page()
        values: dict[str, Any] = {
            "here": "/doctor",
            "doctor": {} if page is None else await answers.doctor(shared),
            "letters": _letters(shared, ""),
            "time": None if page is None else page.snapshot.time,
        }
        text = renderer.text("doctor.html", values)
        return answers.packed(request, text.encode(), answers.HTML)

    @router.get("/about")
    async def about(request: Request) -> Response:
        page = shown_page(shared)
        facts = (
            ("version", __version__),
            ("python", platform.python_version()),
            ("numpy", np.__version__),
            ("hash of the settings", page.settings_hash),
        )
        settings = json.dumps(page.settings, indent=2, ensure_ascii=False)
        values = {"here": "/about", "facts": facts, "settings": settings}
        text = renderer.text("about.html", values)
        return answers.packed(request, text.encode(), answers.HTML)


def _add_static(router: APIRouter, renderer: Renderer) -> None:
    forever = {"Cache-Control": "public, max-age=31536000, immutable"}

    @router.get("/static/monitor.css")
    async def style(request: Request) -> Response:
        body = renderer.static["monitor.css"]
        return answers.packed(request, body, STATIC["monitor.css"], forever)

    @router.get("/static/monitor.js")
    async def script(request: Request) -> Response:
        body = renderer.static["monitor.js"]
        return answers.packed(request, body, STATIC["monitor.js"], forever)


# -- inside --------------------------------------------------------------------------------------


def _said(sentence: str) -> str:
    """Return a sentence that may follow a sensor's name."""
    return f"is {sentence}" if sentence.startswith("as right") else sentence


def _statistics(now: Snapshot, row: int) -> list[tuple[str, str, str]]:
    found = []
    for metric, (name, meaning) in METRICS.items():
        value = documents.number(now.statistics[name][row]) if name in now.statistics else None
        found.append((metric, "absent" if value is None else f"{value:.5g}", meaning))
    return found


def _letters(shared: Published, sensor: str) -> list[dict[str, Any]]:
    page = shared.page()
    letters = () if page is None else page.dead_letters
    found = [each for each in letters if documents.concerns(each, sensor)]
    return [documents.dead_letter(letter) for letter in found[:PAIRS_SHOWN]]


def _history(page: Page, sensor: str = "", quantity: str = "") -> list[dict[str, Any]]:
    """Return the last changes of alerts, each with the address of its series if it is of one."""
    listed = documents.history(page.history, HISTORY_SHOWN, sensor, quantity)
    for each in listed:
        known = SeriesKey(each["sensor"], each["quantity"]) in page.rows
        each["href"] = href(each["sensor"], each["quantity"]) if known else ""
        each["when"] = each["time"][:19].replace("T", " ")
    return listed


def _drawings(found: Occasion) -> list[tuple[str, Markup]]:
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


def _scatters(table: dict[str, Any]) -> list[Figure]:
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


def _without_time(text: str) -> str:
    """Return a page without the line that says when it was made."""
    return text.partition('<main id="main"')[2]
