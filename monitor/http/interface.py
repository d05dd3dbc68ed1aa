"""The JSON interface, /api/v1: a route takes its query and returns a document from the page.

No route changes anything, and none reads from a path that a client names.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.responses import Response

from monitor import __version__
from monitor.core.analysis.side_by_side import MISS
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contest
from monitor.http import answers, documents, models
from monitor.http.answers import (
    MissNumber,
    Name,
    PageNumber,
    ProfileText,
    SortText,
    StateText,
    WordsText,
    attachment,
    json_answer,
    shown_page,
)
from monitor.http.published import Published
from monitor.http.rankings import Comparison, RankingCache, RankingTable, usual_quantity
from monitor.http.selection import SeriesQuery, select

ROWS_MAX: Final = 10_000
LETTERS_SHOWN: Final = 100

GroupText = Annotated[str | None, Query(max_length=128, description="Name of a group.")]
QuantityText = Annotated[
    str, Query(max_length=128, description="By default that of most series with pairs.")
]


def described(
    model: object, *, may_miss: bool = False, **more: dict[str, Any]
) -> dict[int | str, Any]:
    """Return a route's answers for the description of the interface."""
    refusals: dict[int | str, Any] = {
        status: {"model": models.Problem, "description": title}
        for status, title in answers.TITLES.items()
        if may_miss or status != 404
    }
    return {200: {"model": model, **more}, **refusals}


def known_parameters(request: Request) -> None:
    """Refuse a parameter that the route does not have: a misspelt one would have no effect."""
    known = _parameters(request.scope["route"].dependant)
    unknown = sorted(set(request.query_params) - set(known))
    if unknown:
        has = f"it has {', '.join(sorted(known))}" if known else "it has none"
        raise HTTPException(
            422, f"{request.url.path} has no parameter {', '.join(map(repr, unknown))}; {has}"
        )


def _parameters(dependant: Dependant) -> list[str]:
    own = [field.alias for field in dependant.query_params]
    return own + [name for each in dependant.dependencies for name in _parameters(each)]


def routes(shared: Published, rankings: RankingCache, members: Iterable[type] = ()) -> APIRouter:
    """Return all routes of the interface; extensions add ``members`` to the JSON of a series."""
    router = APIRouter(prefix="/api/v1", dependencies=[Depends(known_parameters)])
    _add_series(router, shared, *models.series_models(members))
    _add_detail(router, shared)
    _add_ranking(router, shared, rankings)
    _add_comparison(router, shared, rankings)
    _add_troubles(router, shared)
    return router


def _add_series(router: APIRouter, shared: Published, entry: type, fleet: type) -> None:
    @router.get("/series", responses=described(fleet))
    async def list_series(
        request: Request,
        state: StateText = "",
        group: GroupText = None,
        text: WordsText = "",
        sort: SortText = "known",
        page: PageNumber = 1,
        rows: Annotated[int, Query(ge=1, le=ROWS_MAX)] = ROWS_MAX,
    ) -> Response:
        """Every series that fits: state, sentence and statistics."""
        now = shown_page(shared).snapshot
        order, descending = sort.removeprefix("-"), sort.startswith("-")
        chosen = select(now, SeriesQuery(state, group, text, order, descending, page, rows))
        content = models.SeriesList(
            time=now.time,
            matching=chosen.matching,
            page=page,
            pages=chosen.pages,
            states=chosen.states,
            series=[
                documents.entry(now, row)
                for row in (chosen.rows.tolist() if page == chosen.page else ())
            ],
        )
        return json_answer(request, content)

    @router.get("/series/{sensor}/{quantity}", responses=described(entry, may_miss=True))
    async def get_series(request: Request, sensor: Name, quantity: Name) -> Response:
        """One series."""
        page = shown_page(shared)
        row = page.rows.get(SeriesKey(sensor, quantity))
        if row is None:
            raise answers.unknown_series()
        return json_answer(request, documents.entry(page.snapshot, row))


def _add_detail(router: APIRouter, shared: Published) -> None:
    csv_too: dict[str, dict[str, Any]] = {"content": {"text/csv": {}}}

    @router.get(
        "/series/{sensor}/{quantity}/pairs",
        responses=described(models.Pairs, may_miss=True, **csv_too),
    )
    async def get_pairs(
        request: Request,
        sensor: Name,
        quantity: Name,
        limit: Annotated[
            int, Query(ge=1, le=5000, description="How many of the last ones.")
        ] = 5000,
        format: Annotated[  # noqa: A002 - the name of the query
            Literal["json", "csv"], Query(description="csv is what `monitor score` reads.")
        ] = "json",
    ) -> Response:
        """The pairs in the window of a series."""
        detail = await answers.detail(shared, SeriesKey(sensor, quantity))
        if format == "csv":
            text = documents.pairs_csv(detail, limit)
            headers = {"Content-Disposition": attachment(f"{sensor}_{quantity}.csv")}
            return answers.gzipped(request, text.encode(), "text/csv; charset=utf-8", headers)
        content = models.Pairs(
            sensor=sensor,
            quantity=quantity,
            unit=detail.name.unit,
            time=detail.time,
            total=detail.total,
            pairs=documents.pairs(detail, limit),
        )
        return json_answer(request, content)

    @router.get("/series/{sensor}/{quantity}/ucc", responses=described(models.Ucc, may_miss=True))
    async def get_ucc(
        request: Request,
        sensor: Name,
        quantity: Name,
        axes: Literal["bandwidth-miss", "excess-deficit"] = "bandwidth-miss",
    ) -> Response:
        """The uncertainty characteristics curve of a series."""
        detail = await answers.detail(shared, SeriesKey(sensor, quantity))
        return json_answer(request, documents.ucc_document(detail, axes))

    @router.get(
        "/series/{sensor}/{quantity}/conventions",
        responses=described(models.Conventions, may_miss=True),
    )
    async def get_conventions(request: Request, sensor: Name, quantity: Name) -> Response:
        """En numbers, ISO 13528 bands, Westgard's rules and the data of a Levey-Jennings chart."""
        detail = await answers.detail(shared, SeriesKey(sensor, quantity))
        return json_answer(request, documents.conventional(detail))

    @router.get("/events/{key:path}", responses=described(models.Occasion))
    async def get_event(request: Request, key: Annotated[str, Path(max_length=256)]) -> Response:
        """The pairs of all series whose references share a key or an identity."""
        return json_answer(request, documents.occasion(await answers.occasion_answer(shared, key)))


def _add_ranking(router: APIRouter, shared: Published, rankings: RankingCache) -> None:
    @router.get("/ranking", responses=described(RankingTable))
    async def get_ranking(
        request: Request,
        quantity: QuantityText = "",
        group: GroupText = None,
        sensor: Annotated[
            list[str] | None, Query(max_length=100, description="Some sensors; may be repeated.")
        ] = None,
        profile: ProfileText = None,
    ) -> Response:
        """Sensors of one quantity, ranked by their scores on the events that all of them saw."""
        now = shown_page(shared).snapshot
        contest = Contest(quantity or usual_quantity(now), group, tuple(sensor or ()))
        contenders = await answers.contenders(shared, contest)
        return json_answer(request, await rankings.table(contenders, profile))


def _add_comparison(router: APIRouter, shared: Published, rankings: RankingCache) -> None:
    @router.get("/compare", responses=described(Comparison, may_miss=True))
    async def get_comparison(
        request: Request,
        quantity: QuantityText = "",
        a: Annotated[
            str, Query(max_length=128, description="A sensor; by default the first with pairs.")
        ] = "",
        b: Annotated[
            str,
            Query(max_length=128, description="Another; without it the window of `a` is halved."),
        ] = "",
        at: Annotated[
            float | None,
            Query(description="With `a` alone: before and from this time on, s since 1970 UTC."),
        ] = None,
        profile: ProfileText = None,
        miss: MissNumber = MISS,
    ) -> Response:
        """Two sensors on their common events, or one sensor before and after."""
        quantity = quantity or usual_quantity(shown_page(shared).snapshot)
        opponents = await answers.opponents(shared, quantity, a, b)
        return json_answer(request, await rankings.comparison(opponents, profile, miss, at))


def _add_troubles(router: APIRouter, shared: Published) -> None:
    @router.get("/alerts", responses=described(models.Alerts))
    async def list_alerts(
        request: Request,
        history: Annotated[
            int, Query(ge=0, le=1000, description="How many of the last changes to return as well.")
        ] = 0,
        sensor: Annotated[str, Query(max_length=128, description="Of one sensor only.")] = "",
    ) -> Response:
        """The alerts that fire now, and the last changes of alerts, the newest first."""
        page = shown_page(shared)
        firing = documents.alerts(page.snapshot)
        content = models.Alerts(alerts=[each for each in firing if sensor in ("", each["sensor"])])
        if history:
            content["history"] = documents.history(page.history, history, sensor)
        return json_answer(request, content)

    @router.get("/deadletters", responses=described(models.DeadLetters))
    async def list_dead_letters(
        request: Request,
        sensor: Annotated[
            str, Query(max_length=128, description="A level of the topic they came on.")
        ] = "",
        reason: Annotated[str, Query(max_length=64, description="Why they were rejected.")] = "",
    ) -> Response:
        """The newest messages that could not be used, with the reason."""
        letters = (
            documents.dead_letter(letter)
            for letter in shown_page(shared).dead_letters
            if documents.concerns(letter, sensor) and reason in ("", letter.reason)
        )
        shown = list(islice(letters, LETTERS_SHOWN))
        return json_answer(request, models.DeadLetters(deadletters=shown))

    @router.get("/doctor", responses=described(models.Doctor))
    async def get_doctor(request: Request) -> Response:
        """Why there are no pairs: what came, what was refused, what waits."""
        return json_answer(request, await answers.doctor(shared))

    @router.get("/settings", responses=described(models.SettingsInForce))
    async def get_settings(request: Request) -> Response:
        """The settings in force, without credentials."""
        page = shown_page(shared)
        content = models.SettingsInForce(
            version=__version__, hash=page.settings_hash, settings=dict(page.settings)
        )
        return json_answer(request, content)
