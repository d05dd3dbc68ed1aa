"""The documentation as a folder of HTML files that needs no server."""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path
from typing import Final

from monitor.errors import CANNOT_CREATE, MonitorError
from monitor.manual.markdown_pages import README, image, images, page, page_names

_STYLE: Final = """\
body { margin: 0 auto; max-width: 52rem; padding: 1rem; font: 16px/1.55 system-ui, sans-serif;
  color: #1d2327; background: #fcfcfb; }
nav { font-size: 14px; columns: 12rem; border-bottom: 1px solid #d9dde0; padding-bottom: .7rem; }
nav a { display: block; }
a { color: #1f5fa8; }
pre { overflow-x: auto; background: #eef0f1; padding: .7rem; }
code { font: 14px ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #d9dde0; padding: .25rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
@media (prefers-color-scheme: dark) {
  body { color: #e4e7e9; background: #16191b; } a { color: #7db4f0; } pre { background: #23282b; }
  th, td { border-color: #3a4146; }
  img { background: #fcfcfb; }
}
"""
_PAGE: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="{up}manual.css"></head>
<body><nav aria-label="Pages">{nav}</nav><main>{html}</main></body></html>
"""


class SiteError(MonitorError):
    """The site cannot be written."""

    exit_code = CANNOT_CREATE


def write_site(folder: Path) -> int:
    """Write all pages and pictures; return how many pages. Raises BrokenLinkError and SiteError."""
    names = page_names()
    titles = {name: page(name, str).title for name in names}
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        (folder / "manual.css").write_text(_STYLE, encoding="utf-8")
        for name in images():
            (folder / "images" / name).write_bytes(image(name)[0])
        for name in names:
            up = "../" * name.count("/")
            here = page(name, partial(_address, up))
            nav = "".join(
                f'<a href="{up}{_file(each)}">{escape(title)}</a>' for each, title in titles.items()
            )
            path = folder / _file(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = _PAGE.format(title=escape(here.title), up=up, nav=nav, html=here.html)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SiteError(f"{folder}: cannot be written: {error.strerror}") from error
    return len(names)


def _address(up: str, target: str) -> str:
    return up + _file(target)


def _file(name: str) -> str:
    if name.startswith("images/"):
        return name
    return "index.html" if name == README else f"{name}.html"
