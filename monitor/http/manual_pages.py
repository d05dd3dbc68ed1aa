"""The documentation, served at ``/docs`` in the style of the other pages.

What renders it is imported when somebody reads it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from monitor.http import answers
from monitor.http.rendering import Renderer

if TYPE_CHECKING:
    from monitor.manual import ManualPage


def manual_routes(renderer: Renderer) -> APIRouter:
    """Return the routes of the documentation."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    def contents(request: Request, q: Annotated[str, Query(max_length=128)] = "") -> Response:
        from monitor import manual  # noqa: PLC0415

        if not q.strip():
            return page(request, "index")
        return _answer(request, "manual_search.html", question=q, hits=manual.search(q))

    _add_files(router)

    @router.get("/docs/{name:path}")
    def page(request: Request, name: Annotated[str, Path(max_length=128)]) -> Response:
        from monitor import manual  # noqa: PLC0415

        try:
            shown = _page(name.removesuffix(".md"))
        except manual.PageMissingError as error:
            raise HTTPException(404, str(error)) from error
        html = Markup(shown.html)  # noqa: S704 - rendered without any HTML in its source
        return _answer(request, "manual.html", page=shown, html=html, question="")

    def _answer(request: Request, template: str, **values: object) -> Response:
        text = renderer.text(template, values)
        return answers.gzipped(request, text.encode(), answers.HTML)

    return router


def _add_files(router: APIRouter) -> None:
    @router.get("/docs/images/{name}")
    def picture(name: Annotated[str, Path(max_length=128)]) -> Response:
        from monitor import manual  # noqa: PLC0415

        try:
            body, kind = manual.image(name)
        except manual.PageMissingError as error:
            raise HTTPException(404, str(error)) from error
        return Response(body, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    @router.get("/docs/llms.txt")
    @router.get("/docs/llms-full.txt")
    def plain(request: Request) -> Response:
        from monitor import manual  # noqa: PLC0415

        text = manual.model_texts(str)[request.url.path.rpartition("/")[2]]
        return answers.gzipped(request, text.encode(), "text/plain; charset=utf-8")


@cache
def _page(name: str) -> ManualPage:
    from monitor import manual  # noqa: PLC0415

    return manual.page(name, lambda target: f"/docs/{target}")
