"""The documentation, served at ``/docs`` in the style of the other pages."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import Response
from markupsafe import Markup

from monitor import manual
from monitor.http import answers
from monitor.http.rendering import Renderer
from monitor.manual import ManualPage, PageMissingError


def manual_routes(renderer: Renderer) -> APIRouter:
    """Return the routes of the documentation."""
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    def contents(request: Request) -> Response:
        pages = [_page(name) for name in manual.page_names()]
        return _answer(request, "manual_contents.html", pages=pages, here="/docs")

    @router.get("/docs/images/{name}")
    def picture(name: Annotated[str, Path(max_length=128)]) -> Response:
        try:
            body, kind = manual.image(name)
        except PageMissingError as error:
            raise HTTPException(404, str(error)) from error
        return Response(body, media_type=kind, headers={"Cache-Control": "max-age=3600"})

    @router.get("/docs/{name:path}")
    def page(request: Request, name: Annotated[str, Path(max_length=128)]) -> Response:
        try:
            found = _page(name.removesuffix(".md"))
        except PageMissingError as error:
            raise HTTPException(404, str(error)) from error
        # Rendered without any HTML in its source.
        return _answer(request, "manual.html", page=found, html=Markup(found.html))  # noqa: S704

    def _answer(request: Request, template: str, **values: object) -> Response:
        text = renderer.text(template, values)
        return answers.gzipped(request, text.encode(), answers.HTML)

    return router


@cache
def _page(name: str) -> ManualPage:
    return manual.page(name, lambda target: f"/docs/{target}")
