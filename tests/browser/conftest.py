"""A real Chromium, and a service for it to look at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from harness.programs import need
from harness.yard import Yard
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from playwright.sync_api import Page as Tab

from monitor.extensions import all_extensions
from monitor.http.service import Service

SCREENSHOTS = os.environ.get("MONITOR_SCREENSHOTS", "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a running Chromium, Debian's."""
    program = need("chromium")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@pytest.fixture
def service() -> Iterator[Service]:
    """Return a running service that has published nothing yet."""
    shown = [each for each in all_extensions() if each.routes]
    running = Service("127.0.0.1", 0, extensions=shown)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def yard(service: Service) -> Iterator[Yard]:
    """Return a fleet that has weighed for a while; it stands still unless it is run."""
    made = Yard(service)
    made.work(150.0)
    yield made
    made.stop()


class Visitor:
    """Opens tabs; notes whatever a page must never do."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self._context = context
        self._url = url
        self.wrong: list[str] = []

    def open(self, path: str = "/") -> Tab:
        """Return a tab that shows a path."""
        tab = self._context.new_page()
        tab.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        tab.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        tab.on("console", lambda said: self._listen(said.type, said.text))
        tab.on("request", lambda request: self._watch(request.url))
        tab.goto(self._url + path)
        return tab

    def each(self, paths: Iterable[str]) -> Iterator[tuple[str, Tab]]:
        """Yield each path with a tab that shows it, one after the other.

        A tab that stays open keeps its stream, and a browser has six connections to one host.
        """
        for path in paths:
            tab = self.open(path)
            yield path, tab
            tab.close()

    def _listen(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 4" not in text and "status of 5" not in text:
            self.wrong.append(f"console: {text}")

    def _watch(self, url: str) -> None:
        if not url.startswith((self._url, "data:")):
            self.wrong.append(f"foreign host: {url}")


@pytest.fixture
def visit(browser: Browser, service: Service, request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """Return a visitor; the parameter is what its browser is like (``new_context``)."""
    like = {"viewport": {"width": 1360, "height": 900}} | getattr(request, "param", {})
    context = browser.new_context(**like)
    visitor = Visitor(context, service.url)
    yield visitor
    context.close()
    assert visitor.wrong == []


def shoot(tab: Tab, name: str, *, whole: bool = True) -> None:
    """Keep a picture for people to look at in the folder that MONITOR_SCREENSHOTS names, if any."""
    if SCREENSHOTS:
        name = re.sub(r"[^a-z0-9-]", "-", name)
        tab.screenshot(path=Path(SCREENSHOTS, f"{name}.png"), full_page=whole)
