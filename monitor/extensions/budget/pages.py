"""Whose uncertainty is wrong: the page and the document, made on request off the event loop."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from pathlib import Path

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from monitor.core.snapshot.details import Contenders, Contest
from monitor.extensions.budget.documents import Budget, budget_bars, budget_document
from monitor.extensions.budget.uncertainty_budget import uncertainty_budget
from monitor.http.answers import (
    HTML,
    GroupName,
    contenders,
    gzipped,
    json_answer,
    shown_page,
    turn,
)
from monitor.http.interface import GroupText, QuantityText, described, known_parameters
from monitor.http.published import Published
from monitor.http.rankings import usual_quantity
from monitor.http.rendering import Renderer
from monitor.http.selection import names_shown

NO_PAIRS = "no sensor of this quantity has pairs yet"


def budget_of(rivals: Contenders) -> Budget:
    """Return the budget of contenders as a document."""
    quantity = rivals.contest.quantity
    units = {name.unit for name in rivals.names}
    if rivals.pairs is None:
        return budget_document(NO_PAIRS, quantity, units)
    seed = int.from_bytes(blake2b(rivals.pairs.value.tobytes(), digest_size=4).digest(), "little")
    return budget_document(
        uncertainty_budget(rivals.pairs, rivals.event, rivals.names, seed), quantity, units
    )


def budget_routes(shared: Published, renderer: Renderer) -> APIRouter:
    """Return the routes."""
    router, lock = APIRouter(), asyncio.Lock()
    renderer.add_templates(Path(__file__).parent)

    async def made(quantity: str, group: str | None) -> tuple[Budget, float]:
        contest = Contest(quantity or usual_quantity(shown_page(shared).snapshot), group)
        rivals = await contenders(shared, contest)
        async with turn(lock):
            return await asyncio.to_thread(budget_of, rivals), rivals.time

    @router.get(
        "/api/v1/budget", responses=described(Budget), dependencies=[Depends(known_parameters)]
    )
    async def get_budget(
        request: Request, quantity: QuantityText = "", group: GroupText = None
    ) -> Response:
        """Whose uncertainty is wrong: variances of sensors, pairing and reference apart."""
        return json_answer(request, (await made(quantity, group))[0])

    @router.get("/budget", include_in_schema=False)
    async def budget_page(
        request: Request, quantity: GroupName = "", group: GroupName = ""
    ) -> Response:
        names = names_shown(shown_page(shared).snapshot)
        budget, time = await made(quantity, group or None)
        values = {
            "here": "/budget",
            "found": budget,
            "group": group,
            "quantities": sorted({name.quantity for name in names}),
            "groups": sorted({name.group for name in names}),
            "drawing": budget_bars(budget),
            "time": time,
        }
        return gzipped(request, renderer.text("budget.html", values).encode(), HTML)

    return router
