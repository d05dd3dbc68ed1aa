"""Shared parts of routes: parameters, the page, requests to the data's thread, safe answers.

No answer waits longer than ``WAIT_SECONDS``, and every refusal says what to do. For programs it is
a problem of RFC 9457; its ``type`` is the section of docs/outlets.md under its title.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import quote

import msgspec
import numpy as np
from fastapi import Depends, HTTPException, Path, Query, Request
from fastapi.responses import Response
from starlette.types import Scope

from monitor.core.analysis.ranking import Profile
from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contenders, Contest, Detail, Occasion
from monitor.core.verdict import FAULTS
from monitor.http.models import Problem
from monitor.http.published import Page, Published
from monitor.http.selection import (
    FIGURE_ORDERS,
    ORDERS,
    ROWS,
    STATE_WORDS,
    STATES,
    WORDS,
    SeriesQuery,
)

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
WAIT_SECONDS: Final = 5.0
_GLANCE_SECONDS: Final = 0.3  # how long a page waits for optional content
_LOOK_SECONDS: Final = 0.02
_PACK_BYTES: Final = 1024
_REFUSED: Final = re.compile(r";\s*q=0(\.0*)?\s*(;|$)", re.IGNORECASE)
ROWS_SHOWN_MAX: Final = 1000

T = TypeVar("T")

# -- what may be asked ---------------------------------------------------------------------------

SORT: Final = rf"^-?({'|'.join((*ORDERS, *WORDS))})$"
STATE: Final = rf"^({'|'.join(STATES)})?$"
Name = Annotated[str, Path(max_length=128)]
StateText = Annotated[str, Query(pattern=STATE, description=f"One of {', '.join(STATES)}.")]
WordsText = Annotated[
    str, Query(max_length=200, description="Words in its name, sentence or advice.")
]
ShowText = Annotated[Literal["", "all"], Query(description="all: also alerts only pending.")]
SortText = Annotated[
    str,
    Query(pattern=SORT, description=f"{', '.join((*ORDERS, *WORDS))}; a - before it reverses it."),
]
ProfileText = Annotated[
    Profile | None,
    Query(description="What counts: it chooses the score. By default that of the settings."),
]
MissNumber = Annotated[
    float, Query(gt=0.0, lt=1.0, description="Miss rate at which widths are compared.")
]
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
RowsNumber = Annotated[int, Query(ge=1, le=ROWS_SHOWN_MAX)]
FiguresText = Annotated[Literal["", "all"], Query(description="all: with all figures.")]
ShownText = Annotated[str, Query(pattern=rf"^({'|'.join(STATE_WORDS)})?$")]
FaultText = Annotated[str, Query(pattern=rf"^({'|'.join(FAULTS)})?$")]
GroupName = Annotated[str, Query(max_length=128)]


def page_query(  # a query as the page's form sends it: an empty group is any group
    state: ShownText = "",
    fault: FaultText = "",
    group: GroupName = "",
    text: WordsText = "",
    sort: SortText = "state",
    page: PageNumber = 1,
    rows: RowsNumber = ROWS,
    figures: FiguresText = "",
) -> SeriesQuery:
    """Return the query of the page's form; who sorts by a figure sees the figures."""
    descending, order = sort.startswith("-"), sort.removeprefix("-")
    shown = bool(figures) or order in FIGURE_ORDERS
    return SeriesQuery("", group or None, text, order, descending, page, rows, shown, state, fault)


PageQuery = Annotated[SeriesQuery, Depends(page_query)]


# -- refusals ------------------------------------------------------------------------------------

PROBLEM: Final = "application/problem+json"
TITLES: Final[Mapping[int, str]] = {
    401: "No password",
    404: "Unknown",
    405: "Read-only",
    421: "Foreign host name",
    422: "Impossible query",
    429: "Too many passwords",
    503: "Not ready",
}
_FOR_PROGRAMS: Final = ("/api/", "/metrics", "/live/", "/static/")


def refused_request(
    scope: Scope, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal: for programs a problem, else a line of text."""
    fields = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **(headers or {})}
    if not is_for_programs(scope):
        return Response(f"{detail}\n", status, fields, "text/plain")
    title = TITLES[status]
    content = Problem(
        type=f"{scope.get('root_path', '')}/docs/outlets#{title.lower().replace(' ', '-')}",
        title=title,
        status=status,
        detail=detail,
        instance=quote(scope["path"]),
    )
    return Response(msgspec.json.encode(content), status, fields, PROBLEM)


def is_for_programs(scope: Scope) -> bool:
    """Return whether programs ask for this path, not people."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")).startswith(_FOR_PROGRAMS)


# -- what is answered ----------------------------------------------------------------------------


def shown_page(shared: Published) -> Page:
    """Return the page that is shown; raises HTTPException before the first."""
    page = shared.page()
    if page is None:
        raise HTTPException(503, "nothing is published yet; the daemon is still starting")
    return page


def unknown_series() -> HTTPException:
    """Return the refusal of an unknown series."""
    return HTTPException(
        404,
        "there is no such series, or it was silent for longer than series.forget_after_days and is "
        "forgotten; /api/v1/series lists all that are known",
    )


async def detail(shared: Published, key: SeriesKey) -> Detail:
    """Return one series in full; raises HTTPException if it is unknown or not made in time."""
    if key not in shown_page(shared).rows:
        raise unknown_series()
    shared.requests.request_series(key)
    return await _evaluated(shared, lambda page: page.details.get(key))


async def occasion_answer(shared: Published, key: str) -> Occasion:
    """Return all that shares a key; raises HTTPException if it is not made in time."""
    shown_page(shared)
    shared.requests.request_occasion(key)
    return await _evaluated(shared, lambda page: page.occasions.get(key))


async def contenders(shared: Published, contest: Contest) -> Contenders:
    """Return the series of a contest; raises HTTPException if they are not gathered in time."""
    shown_page(shared)
    shared.requests.request_contest(contest)
    return await _evaluated(shared, lambda page: page.contenders.get(contest))


async def doctor(shared: Published) -> Mapping[str, Any]:
    """Return the doctor's report; raises HTTPException if it is not made in time."""
    shown_page(shared)
    shared.requests.request_doctor()
    return await _evaluated(shared, lambda page: page.doctor or None)


async def unpaired(shared: Published, page: Page) -> Sequence[str] | None:
    """Return the doctor's findings on series without pairs; None if not made in time."""
    without = page.snapshot.window_pairs == 0
    if not without[page.snapshot.present()].any():
        return ()
    shared.requests.request_doctor()
    try:
        report = await _evaluated(shared, lambda page: page.doctor or None, _GLANCE_SECONDS)
    except HTTPException:
        return None
    return report["pairing"]


async def opponents(shared: Published, quantity: str, a: str, b: str) -> Contenders:
    """Return two sensors of a quantity in this order, or ``a`` alone if ``b`` is empty or the same.

    An empty ``a`` is the first with pairs. Raises HTTPException if one is unknown or has no pairs.
    """
    now = shown_page(shared).snapshot
    pairs = {
        now.names[row].sensor: int(now.window_pairs[row])
        for row in np.flatnonzero(now.present()).tolist()
        if now.names[row].quantity == quantity
    }
    paired = [sensor for sensor, count in pairs.items() if count]
    first = a or next(iter(paired or pairs), "")
    wanted = list(dict.fromkeys(each for each in (first, b) if each))
    if not wanted or not set(wanted) <= set(pairs):
        raise unknown_series()
    sides = await contenders(shared, Contest(quantity, None, tuple(wanted)))
    if len(sides.names) < len(wanted):
        raise HTTPException(404, "one of them has no pairs yet; /doctor says why")
    return sides if [name.sensor for name in sides.names] == wanted else sides.turned()


@asynccontextmanager
async def turn(lock: asyncio.Lock) -> AsyncIterator[None]:
    """Hold a lock; raises HTTPException if others hold it for longer than an answer may wait."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await lock.acquire()
    except TimeoutError:
        raise _busy() from None
    try:
        yield
    finally:
        lock.release()


def _busy() -> HTTPException:
    detail = "the daemon is busy and has not made this yet; ask again in a few seconds"
    return HTTPException(503, detail, {"Retry-After": "3"})


async def _evaluated(
    shared: Published, look: Callable[[Page], T | None], seconds: float | None = None
) -> T:
    """Return what ``look`` finds on the page once the data's thread has put it there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (WAIT_SECONDS if seconds is None else seconds)
    while (value := look(shown_page(shared))) is None:
        if loop.time() > deadline:
            raise _busy()
        await asyncio.sleep(_LOOK_SECONDS)
    return value


def json_answer(request: Request, content: Mapping[str, Any]) -> Response:
    """Return a JSON answer."""
    return gzipped(request, msgspec.json.encode(content), JSON)


def types_accepted(request: Request, header: str) -> str:
    """Return what a header such as Accept names, without what it refuses by a weight of 0."""
    named = request.headers.get(header, "").split(",")
    return ",".join(each for each in named if not _REFUSED.search(each))


def gzipped(
    request: Request, body: bytes, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return ``body``, gzipped if the reader accepts it and it is worthwhile."""
    fields = {"Vary": "Accept-Encoding", **(headers or {})}
    if len(body) >= _PACK_BYTES and "gzip" in types_accepted(request, "accept-encoding"):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        fields["Content-Encoding"] = "gzip"
    return Response(body, headers=fields, media_type=media_type)


def attachment(name: str) -> str:
    """Return the header that has a browser save an answer under a name of any characters."""
    return f"attachment; filename=\"pairs.csv\"; filename*=UTF-8''{quote(name, safe='')}"


def unless_known(request: Request, text: str, mark: str) -> Response:
    """Return an HTML answer, or 304 if the reader already has the one with this ``mark``."""
    tag = f'"{hashlib.blake2b(mark.encode(), digest_size=12).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers={"ETag": tag})
    return gzipped(request, text.encode(), HTML, {"ETag": tag})
