"""Templates, and the fleet rendered once for all who look at the same part of it.

Templates escape everything but our own drawings. What was rendered is kept as long as its page is
shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from monitor import __version__
from monitor.core.analysis.ranking import WORDS
from monitor.core.formatting import date_time
from monitor.http.changes import Changes, changes
from monitor.http.lines import (
    brief,
    lines,
    placed,
    share,
)
from monitor.http.published import Page
from monitor.http.selection import (
    ROWS,
    Selection,
    SeriesQuery,
    select,
)

HERE: Final = Path(__file__).parent
_KEPT: Final = 32


class Rendered(NamedTuple):
    """A part of the fleet: lines by key in their order, and what stands above them.

    ``mark`` names the lines: the same mark, the same lines.
    """

    rows: dict[str, str]
    summary: str
    selection: Selection
    mark: str


def address(query: SeriesQuery) -> str:
    """Return the address of the fleet's page for a query."""
    fields: dict[str, object] = {
        "state": query.state,
        "group": query.group or "",
        "text": query.text,
        "sort": f"-{query.order}" if query.descending else query.order,
        "page": query.page,
        "rows": query.rows,
    }
    usual = {"state": "", "group": "", "text": "", "sort": "state", "page": 1, "rows": ROWS}
    told = urlencode({key: value for key, value in fields.items() if value != usual[key]})
    return f"/?{told}" if told else "/"


class Renderer:
    """Renders pages; one for the service's thread."""

    def __init__(self) -> None:
        self._templates: Final = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self.static: Final = {
            name: (HERE / "static" / name).read_bytes() for name in ("monitor.css", "monitor.js")
        }
        marks = {
            name: hashlib.blake2b(body, digest_size=6).hexdigest()
            for name, body in self.static.items()
        }
        self._templates.globals.update(
            percent=share,
            words=WORDS,
            version=__version__,
            marks=marks,
            address=address,
            moment=date_time,
            placed=placed,
            brief=brief,
        )
        self._page: Page | None = None
        self._changes: Changes | None = None
        self._fleets: dict[SeriesQuery, Rendered] = {}

    def text(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a rendered template."""
        return self._templates.get_template(template).render(values)

    def fleet(self, page: Page, query: SeriesQuery) -> Rendered:
        """Return a part of the fleet, rendered at the first request for it."""
        if page is not self._page:
            self._page = page
            self._changes = changes(page)
            self._fleets.clear()
        found = self._fleets.get(query)
        if found is None:
            while len(self._fleets) >= _KEPT:
                del self._fleets[next(iter(self._fleets))]
            found = self._fleets[query] = self._fleet(page, query)
        return found

    def _fleet(self, page: Page, query: SeriesQuery) -> Rendered:
        chosen = select(page.snapshot, query)
        template = self._templates.get_template("line.html")
        found = lines(page.snapshot, chosen.rows.tolist())
        above: dict[str, Any] = {"selection": chosen, "query": query, "not_ready": page.not_ready}
        above["changes"] = self._changes
        rows = {each.key: template.render(each=each) for each in found}
        mark = hashlib.blake2b("".join(rows.values()).encode(), digest_size=12).hexdigest()
        return Rendered(rows, self.text("summary.html", above), chosen, mark)
