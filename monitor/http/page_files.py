"""The files that pages, reports and records are made of: templates, style and scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_FOLDER: Final = Path(__file__).parent
# The files that browsers ask for, and their media types.
STATIC: Final = {
    "monitor.css": "text/css",
    "icon.svg": "image/svg+xml",
    "monitor.js": "text/javascript",
    "plots.js": "text/javascript",
}


def templates() -> Environment:
    """Return all templates; values are escaped, and a name that is not given is an error."""
    return Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def static_file(name: str) -> bytes:
    """Return the content of one of ``STATIC``."""
    return (_FOLDER / "static" / name).read_bytes()


def inline_style() -> Markup:
    """Return the style for a page that stands alone."""
    return Markup(static_file("monitor.css").decode())  # noqa: S704 - our own file
