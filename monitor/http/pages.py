"""The pages for people: fleet, its picture, series, event, ranking, comparison, alerts and others.

They are rendered here and complete without a script. Everything a client sends is escaped.
"""

from __future__ import annotations

import json
import platform
from typing import Annotated, Any, Final, Literal

import numpy as np
from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import Response
from markupsafe import Markup

from monitor import __version__
from monitor.core.analysis.ranking import PROFILES, score_of
from monitor.core.analysis.side_by_side import MISS
from monitor.core.formatting import series_path
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import PAIRS_MAX, Contest
from monitor.http import answers, documents, rendering
from monitor.http.answers import (
    GroupName,
    MissNumber,
    Name,
    PageQuery,
    ProfileText,
    shown_page,
    unless_known,
)
from monitor.http.figures import (
    comparison_figures,
    figures,
)
from monitor.http.fleet_picture import DOTS_MAX, fleet_dots, fleet_map, fleet_picture, map_dots
from monitor.http.lines import NONE, evidence_figure, lines
from monitor.http.page_files import STATIC
from monitor.http.published import Page, Published
from monitor.http.rankings import RankingCache, usual_quantity
from monitor.http.rendering import PAIRS_SHOWN, HistoryFilter, Renderer
from monitor.http.selection import (
    FIGURE_ORDERS,
    STATE_WORDS,
    STATES,
    Selection,
    SeriesQuery,
    names_shown,
    select,
)

_COLUMNS: Final = (
    ("sensor", "sensor", "Name, quantity and group"),
    ("state", "what is known", "State, what would fix it, and the verdict"),
    ("evidence", "evidence", "Evidence that it is not as right as it says"),
    ("bias", "bias", "Error now while something is wrong, else the mean error; sorted by its size"),
    ("score", "score / expected", "Mean score over the one its claim predicts; above 1 is worse"),
    ("zms", "ZMS", "Mean of z squared with its 95 % interval; 1 is right"),
    (
        "coverage",
        "coverage",
        "Share of intervals that hold the reference, and the share that the claim predicts",
    ),
    (
        "information",
        "information",
        "How well u follows the size of errors: 0 if constant, below 0 it misleads",
    ),
    ("availability", "available", "Share of references that came with a usable reading"),
    ("pairs", "pairs", "Pairs in the window"),
    (
        "",
        "trend",
        "The last twenty errors over their uncertainty; the band is \N{PLUS-MINUS SIGN}2",
    ),
    ("last_pair", "last checked", "Event time of the last pair with a reference, UTC"),
)
_LARGEST_FIRST: Final = frozenset(
    ("evidence", "bias", "score", "zms", "availability", "pairs", "last_pair")
)


_UNPAIRED_SHOWN: Final = 5
_LISTED_MOST: Final = 50
_NOTHING: Final = Selection(
    np.zeros(0, np.int64), 1, 1, 0, dict.fromkeys(STATES, 0), (), dict.fromkeys(STATE_WORDS, 0)
)


def page_routes(shared: Published, renderer: Renderer, rankings: RankingCache) -> APIRouter:
    """Return all pages, and the files they need."""
    router = APIRouter(include_in_schema=False)
    _add_fleet(router, shared, renderer)
    _add_picture(router, shared, renderer)
    _add_series(router, shared, renderer)
    _add_ranking(router, shared, renderer, rankings)
    _add_comparison(router, shared, renderer, rankings)
    _add_troubles(router, shared, renderer)
    _add_static(router, renderer)
    return router


def _add_fleet(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/")
    async def fleet(request: Request, query: PageQuery) -> Response:
        page = shared.page()
        if page is None:
            nothing = {"selection": _NOTHING, "total": 0, "notices": ()}
            nothing |= {"not_ready": "still starting", "title": rendering.fleet_title(_NOTHING)}
            text = renderer.text("fleet.html", nothing | {"here": "/", "live": "page"})
            return answers.gzipped(request, text.encode(), answers.HTML)
        shown = renderer.fleet(page, query)
        rows = "".join(shown.rows.values())
        unpaired = await answers.unpaired(shared, page) or ()
        warnings = rendering.warnings_mark(page.notices, unpaired, shown.faults)
        values: dict[str, Any] = {
            "here": "/",
            "live": "fleet" if page.snapshot.names else "page",
            "time": page.snapshot.time,
            "total": len(page.rows) + len(page.invisible),
            "not_ready": page.not_ready,
            "notices": page.notices,
            "unpaired": unpaired[:_UNPAIRED_SHOWN],
            "unpaired_more": max(len(unpaired) - _UNPAIRED_SHOWN, 0),
            "title": rendering.fleet_title(shown.selection),
            "warnings": warnings,
            "selection": shown.selection,
            "query": query,
            "columns": [each for each in _COLUMNS if query.figures or each[0] not in FIGURE_ORDERS],
            "largest_first": _LARGEST_FIRST,
            # Rendered by templates that escape.
            "summary": Markup(shown.summary),  # noqa: S704
            "rows": Markup(rows),  # noqa: S704
            "mark": shown.mark,
            "faults": shown.faults,
            **_picture_above(page, query),
        }
        text = renderer.text("fleet.html", values)
        return unless_known(
            request, text, f"{request.url.query} {shown.summary} {shown.mark} {warnings}"
        )


def _picture_above(page: Page, query: SeriesQuery) -> dict[str, Any]:
    """Return the map or picture above a list that is too long to take in, nothing above others."""
    every = SeriesQuery(group=query.group, text=query.text, rows=DOTS_MAX, fault=query.fault)
    chosen = select(page.snapshot, every)
    if chosen.matching <= _LISTED_MOST:
        return {"drawing": Markup()}
    return _drawing(page, chosen.rows.tolist(), view="map", is_brief=True)


def _drawing(page: Page, rows: list[int], *, view: str, is_brief: bool = False) -> dict[str, Any]:
    """Return the map if it is the view and a sensor has a place, else the picture, for a template.

    ``without`` is the number of sensors that it does not show.
    """
    now, shown = page.snapshot, fleet_dots(page.snapshot, rows)
    located = map_dots(now, rows, page.places)
    if is_map := bool(located) and view == "map":
        text = fleet_map(located, is_brief=is_brief)
        every = {now.names[row].sensor for row in rows}
        without = len(every - {each.name.sensor for each in located})
    else:
        text = fleet_picture(shown, is_brief=is_brief)
        without = sum(not np.isfinite(each.x) for each in shown)
    drawing = Markup(text)  # noqa: S704 - it escapes its words
    return {"drawing": drawing, "is_map": is_map, "has_map": bool(located), "without": without}


def _add_picture(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/picture")
    async def picture(
        request: Request,
        group: GroupName = "",
        text: answers.WordsText = "",
        view: Literal["", "map"] = "",
    ) -> Response:
        page = shown_page(shared)
        now = page.snapshot
        query = SeriesQuery(group=group or None, text=text)
        chosen = select(now, query._replace(rows=DOTS_MAX))
        values = {
            "here": "/picture",
            "live": "page",
            "time": now.time,
            "selection": chosen,
            "query": query,
            **_drawing(page, chosen.rows.tolist(), view=view),
        }
        main = renderer.text("picture.html", values)
        return unless_known(request, main, rendering.without_time(main))


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
        (line,) = lines(now, [row])
        begin, of_window = rendering.spoken_from(now, row, detail)
        values: dict[str, Any] = {
            "name": detail.name,
            "entry": entry,
            "fragments": [each.fragments(now, row) for each in now.additions.values()],
            "said": rendering.after_name(entry["sentence"]),
            "line": line,
            "detail": detail,
            "shown": PAIRS_MAX,
            "begin": begin,
            "figures": figures(detail, score_of(profile, detail.density), fired, begin),
            "pairs": documents.pairs(detail, PAIRS_SHOWN),
            "statistics": rendering.statistics(now, row, of_window),
            "letters": rendering.dead_letters(shared, sensor),
            "history": rendering.alert_history(page, HistoryFilter(), sensor, quantity),
            "api": f"/api/v1{series_path(sensor, quantity)}",
            "by_hand": page.by_hand,
            "others": page.others.get(row, 0),
        }
        main = renderer.text("series.html", values | {"live": "page", "time": now.time})
        return unless_known(request, main, rendering.without_time(main))

    @router.get("/events/{key:path}")
    async def event(request: Request, key: Annotated[str, Path(max_length=256)]) -> Response:
        answer = await answers.occasion_answer(shared, key)
        occasion = documents.occasion(answer)
        listed = [{**each, "href": rendering.series_href(each)} for each in occasion["pairs"]]
        document = {**occasion, "pairs": listed}
        values = {
            "key": key,
            "told": document,
            "drawings": rendering.drawings(answer),
            "time": answer.time,
        }
        return answers.gzipped(request, renderer.text("event.html", values).encode(), answers.HTML)


def _add_ranking(
    router: APIRouter, shared: Published, renderer: Renderer, rankings: RankingCache
) -> None:
    @router.get("/ranking")
    async def ranking(
        request: Request,
        quantity: GroupName = "",
        group: GroupName = "",
        profile: ProfileText = None,
    ) -> Response:
        now = shown_page(shared).snapshot
        names = names_shown(now)
        contest = Contest(quantity or usual_quantity(now), group or None)
        contenders = await answers.contenders(shared, contest)
        table = await rankings.table(contenders, profile)
        lines = [{**each, "href": rendering.series_href(each)} for each in table["series"]]
        values = {
            "here": "/ranking",
            "table": {**table, "series": lines},
            "contest": contest,
            "quantities": sorted({name.quantity for name in names}),
            "groups": sorted({name.group for name in names}),
            "profiles": PROFILES,
            "drawings": rendering.scatters(table, contenders.density),
            "time": contenders.time,
        }
        text = renderer.text("ranking.html", values)
        return answers.gzipped(request, text.encode(), answers.HTML)


def _add_comparison(
    router: APIRouter, shared: Published, renderer: Renderer, rankings: RankingCache
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
        now = shown_page(shared).snapshot
        quantity = quantity or usual_quantity(now)
        opponents = await answers.opponents(shared, quantity, a, b)
        document = await rankings.comparison(opponents, profile, miss, None)
        sensors = [name.sensor for name in opponents.names]
        values = {
            "told": document,
            "a": sensors[0],
            "b": sensors[1] if len(sensors) == 2 else "",
            "sensors": sorted(
                name.sensor for name in names_shown(now) if name.quantity == quantity
            ),
            "profiles": PROFILES,
            "links": [(each, series_path(each, quantity)) for each in sensors],
            "usual_miss": MISS,
            "query": {"quantity": quantity, "profile": document["profile"], "miss": miss}
            | dict(zip("ab", sensors, strict=False)),
            "time": opponents.time,
            **comparison_figures(document),
        }
        text = renderer.text("compare.html", values)
        return answers.gzipped(request, text.encode(), answers.HTML)


def _add_troubles(router: APIRouter, shared: Published, renderer: Renderer) -> None:
    @router.get("/alerts")
    async def alerts(
        request: Request, show: answers.ShowText = "", text: answers.WordsText = ""
    ) -> Response:
        page = shown_page(shared)
        now = page.snapshot
        listed = [
            {
                **each,
                "href": rendering.series_href(each),
                "evidence": NONE if each["evidence"] is None else evidence_figure(each["evidence"]),
            }
            for each in documents.alerts(now)
        ]
        values = {
            "here": "/alerts",
            "alerts": listed,
            "filter": HistoryFilter(show, text),
            "history": rendering.alert_history(page, HistoryFilter(show, text)),
            "time": now.time,
            "live": "page",
        }
        text = renderer.text("alerts.html", values)
        return unless_known(request, text, rendering.without_time(text))

    @router.get("/doctor")
    async def doctor(request: Request) -> Response:
        page = shared.page()
        values: dict[str, Any] = {
            "here": "/doctor",
            "doctor": {} if page is None else await answers.doctor(shared),
            "letters": rendering.dead_letters(shared, ""),
            "time": None if page is None else page.snapshot.time,
        }
        text = renderer.text("doctor.html", values)
        return answers.gzipped(request, text.encode(), answers.HTML)

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
        return answers.gzipped(request, text.encode(), answers.HTML)


def _add_static(router: APIRouter, renderer: Renderer) -> None:
    forever = {"Cache-Control": "public, max-age=31536000, immutable"}

    @router.get("/static/{name}")
    async def static(request: Request, name: str) -> Response:
        if name not in STATIC:
            raise HTTPException(404)
        return answers.gzipped(request, renderer.static[name], STATIC[name], forever)
