"""What the fleet's page costs: first paint, weight, and the daemon's CPU with ten pages open.

    python benchmarks/page.py [--series 1000] [--pages 10] [--seconds 30]

The daemon's HTTP service runs in a process of its own and publishes every two seconds a fleet in
which every number is new, as ``monitor run`` does by default. First paint is Chromium's own
first-contentful-paint, the median of several loads with an empty cache, in turns with that of a
page with two sentences, which is what this machine takes for any page; weight is what came over
the wire, by Chromium's resource timing. CPU is that of the service's process, publishing included,
with the pages open (each in a profile of its own, 100 lines, server-sent events) less that without.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rows import Goal, Line, line

if TYPE_CHECKING:
    from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

CHROMIUM = "/usr/bin/chromium"
SERIES = 1000
PUBLISH_SECONDS = 2.0
LOADS = 9
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
WEIGHT = """[...performance.getEntriesByType('navigation'),
 ...performance.getEntriesByType('resource')]
 .filter((each) => !each.name.includes('/live/')).map((each) => each.transferSize)"""


def serve(series: int) -> None:
    """Publish a fleet for ever; the address is on the first line, then CPU seconds when asked."""
    from dataclasses import replace  # noqa: PLC0415 - only the service's process needs these
    from threading import Thread  # noqa: PLC0415

    from harness.yard import fleet  # noqa: PLC0415

    from monitor.http.published import Page  # noqa: PLC0415
    from monitor.http.service import Service  # noqa: PLC0415

    service, random = Service("127.0.0.1", 0), np.random.default_rng(1)
    now = fleet(series)
    service.publish(Page(now))
    service.start()
    print(service.url, flush=True)

    def answer() -> None:
        for _ in sys.stdin:
            print(time.process_time(), flush=True)

    Thread(target=answer, daemon=True).start()
    while True:
        time.sleep(PUBLISH_SECONDS)
        moved = {
            name: values * random.uniform(0.99, 1.01, values.size)
            for name, values in now.statistics.items()
        }
        now = replace(now, time=now.time + PUBLISH_SECONDS, statistics=moved)
        service.publish(Page(now))


class Served:
    """The service's process."""

    def __init__(self, series: int) -> None:
        command = [sys.executable, __file__, "--serve", "--series", str(series)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def cpu_share(self, seconds: float) -> float:
        """Return the share of one CPU that the process uses."""
        before = self._cpu_seconds()
        time.sleep(seconds)
        return (self._cpu_seconds() - before) / seconds

    def _cpu_seconds(self) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line())

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


class Painted(NamedTuple):
    """Loads of the page in turns with one of two sentences, ms; bytes and requests of a load."""

    page: list[float]
    plain: list[float]
    weights: list[float]
    requests: int


def painted(browser: Browser, url: str) -> Painted:
    """Load the fleet's page so many times with an empty cache."""
    paints, plain, weights, requests = [], [], [], 0
    for _ in range(LOADS):
        plain.append(bare_paint(browser, url))
        context = browser.new_context(viewport={"width": 1360, "height": 900})
        tab = context.new_page()
        tab.goto(url)
        tab.wait_for_function(f"() => {PAINT.removesuffix('.startTime')} !== undefined")
        paints.append(tab.evaluate(PAINT))
        sizes = tab.evaluate(WEIGHT)
        weights.append(sum(sizes))
        requests = len(sizes)
        context.close()
    return Painted(paints, plain, weights, requests)


def first_paint() -> list[Line]:
    """Row of the table: first paint of the page of a fleet."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    served = Served(SERIES)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = painted(browser, served.url)
        browser.close()
    served.stop()
    goal = Goal(
        f"first paint of the fleet's page, {SERIES} series, empty cache, passed time",
        "a page with two sentences",
        limit="style sheet, script and icon, then a table of a hundred lines",
    )
    return [line(goal, found.page, found.plain, "ms")]


def bare_paint(browser: Browser, url: str) -> float:
    """Return the first paint, in ms, of the refusal of a page that does not exist."""
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    tab = context.new_page()
    tab.goto(f"{url}/nothing")
    tab.wait_for_function(f"() => {PAINT.removesuffix('.startTime')} !== undefined")
    seen = float(tab.evaluate(PAINT))
    context.close()
    return seen


def watched(browser: Browser, served: Served, pages: int, seconds: float) -> None:
    alone = served.cpu_share(seconds)
    contexts = [browser.new_context() for _ in range(pages)]
    tabs = [context.new_page() for context in contexts]
    for tab in tabs:
        tab.goto(served.url)
    before = [tab.locator("#asof").inner_text() for tab in tabs]
    together = served.cpu_share(seconds)
    after = [tab.locator("#asof").inner_text() for tab in tabs]
    assert all(one != other for one, other in zip(before, after, strict=True)), "a page stood still"
    print(f"  CPU           {100 * alone:6.1f} % of one, no page open")
    print(f"                {100 * together:6.1f} % with {pages} pages open")
    for context in contexts:
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.series)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    served = Served(arguments.series)
    print(f"{arguments.series} series, all numbers new every {PUBLISH_SECONDS:g} s")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = painted(browser, served.url)
        page, plain = statistics.median(found.page), statistics.median(found.plain)
        print(f"  first paint   {page:6.0f} ms  (goal 150; {LOADS} loads)")
        print(f"                {plain:6.0f} ms  of a page with two sentences")
        weight = statistics.median(found.weights) / 1e3
        print(f"  weight        {weight:6.1f} kB over the wire, {found.requests} requests")
        watched(browser, served, arguments.pages, arguments.seconds)
        browser.close()
    served.stop()


if __name__ == "__main__":
    main()
