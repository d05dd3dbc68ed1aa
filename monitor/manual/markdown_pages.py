"""Pages of the documentation: found, rendered with working links, and written as a folder of HTML.

The folder needs no server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.errors import USAGE, CannotWriteError, MonitorError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

INDEX: Final = "index"
_WHOLE: Final = "llms-full.txt"
_PURPOSE: Final = "Live calibration monitoring for sensors that state their own uncertainty."
_INSTALLED: Final = Path(__file__).parent / "docs"
_CHECKOUT: Final = Path(__file__).parents[2] / "docs"
_COMMENT: Final = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINKED: Final = re.compile(r"\]\(([\w-]+)\.md")
_PAGE_PATH: Final = re.compile(r"([\w-]+)\.md")
_NOT_IN_SLUGS: Final = re.compile(r"[^\w\- ]")
_IMAGES: Final = {".svg": "image/svg+xml", ".png": "image/png"}

Href = Callable[[str], str]


class BrokenLinkError(MonitorError):
    """A page links to something that does not exist."""


class PageMissingError(MonitorError):
    """There is no such page or section; the message names the nearest."""

    exit_code = USAGE


class Heading(NamedTuple):
    """A heading: its level (1 to 6), its anchor, and its text."""

    level: int
    slug: str
    text: str


class ManualPage(NamedTuple):
    """A page: its name, its title, and its HTML."""

    name: str
    title: str
    html: str


def page_names() -> list[str]:
    """Return the names of all pages: the index, those it links to in order, the others by name."""
    names = {path.stem for path in _folder().glob("*.md")} - {INDEX}
    linked = _LINKED.findall(_file(INDEX).read_text(encoding="utf-8"))
    order = {name: at for at, name in enumerate(dict.fromkeys(linked))}
    return [INDEX, *sorted(names, key=lambda name: (order.get(name, len(order)), name))]


def source(name: str) -> str:
    """Return the Markdown of a page; raises PageMissingError."""
    known = page_names()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"is it {near[0]}?" if near else f"there are {', '.join(known)}"
        raise PageMissingError(f"there is no page {name!r}; {hint}")
    return _file(name).read_text(encoding="utf-8")


def section(name: str, slug: str) -> str:
    """Return the Markdown of one section of a page; raises PageMissingError."""
    text = markdown_of(name)
    begins = [line for heading, line in headings(text) if heading.slug == slug]
    if not begins:
        known = [heading.slug for heading, _ in headings(text)]
        near = get_close_matches(slug, known, 1)
        hint = f"; is it {near[0]}?" if near else ""
        raise PageMissingError(f"{name} has no section {slug!r}{hint}")
    level = next(heading.level for heading, line in headings(text) if line == begins[0])
    ends = [line for heading, line in headings(text) if line > begins[0] and heading.level <= level]
    lines = text.splitlines()[begins[0] : ends[0] if ends else None]
    return "\n".join(lines).strip() + "\n"


def page(name: str, href: Href) -> ManualPage:
    """Return a page; ``href`` gives the address of a page or image (``images/x.svg``) by its name.

    Raises PageMissingError, and BrokenLinkError for a link that leads nowhere.
    """
    text = markdown_of(name)
    tokens = _parser().parse(text)
    opened = (token for token in tokens if token.type == "heading_open")
    for token, (heading, _) in zip(opened, headings(text), strict=True):
        token.attrSet("id", heading.slug)
    for token in _inline(tokens):
        _lead(token, name, href)
    title = next((heading.text for heading, _ in headings(text)), name)
    html = _parser().renderer.render(tokens, _parser().options, {})
    return ManualPage(name, title, html)


def image(name: str) -> tuple[bytes, str]:
    """Return a picture of ``docs/images`` and its media type; raises PageMissingError."""
    path = _folder() / "images" / Path(name).name
    kind = _IMAGES.get(path.suffix)
    if kind is None or not path.is_file():
        raise PageMissingError(f"there is no picture {name!r}")
    return path.read_bytes(), kind


def images() -> list[str]:
    """Return the names of all pictures."""
    return sorted(each.name for each in (_folder() / "images").iterdir() if each.suffix in _IMAGES)


def model_texts(href: Href) -> dict[str, str]:
    """Return what a language model reads, by file: llms.txt lists the pages, the other has all.

    https://llmstxt.org has the form.
    """
    texts = {name: markdown_of(name).strip() for name in page_names()}
    lines = ["# monitor", "", f"> {_PURPOSE}", "", "## Pages", ""]
    for name, text in texts.items():
        (title, _), *below = headings(text)
        sections = "; ".join(each.text for each, _ in below if each.level == 2)
        lines.append(f"- [{title.text}]({href(name)}){sections and ': '}{sections}")
    lines += ["", "## Optional", "", f"- [All pages as one text]({href(_WHOLE)})"]
    return {"llms.txt": "\n".join(lines) + "\n", _WHOLE: "\n\n".join(texts.values()) + "\n"}


# -- where pages are ------------------------------------------------------------------------------


def _folder() -> Path:
    return _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT


def _file(name: str) -> Path:
    return _folder() / f"{name}.md"


# -- Markdown -------------------------------------------------------------------------------------


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - with the first page that somebody reads

    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _inline(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield from token.children or ()


def _text(token: Token) -> str:
    return "".join(
        each.content if each.type != "softbreak" else " " for each in token.children or ()
    )


def markdown_of(name: str) -> str:
    """Return the Markdown of a page without its comments; raises PageMissingError."""
    return _COMMENT.sub("", source(name))


@cache
def headings(text: str) -> tuple[tuple[Heading, int], ...]:
    """Return the headings in Markdown with the lines in which they begin, named as on GitHub."""
    begins: list[tuple[Heading, int]] = []
    used: dict[str, int] = {}
    for before, token in pairwise(_parser().parse(text)):
        if before.type == "heading_open":
            text = _text(token)
            slug = _NOT_IN_SLUGS.sub("", text.strip().lower()).replace(" ", "-")
            again = used.get(slug, 0)
            used[slug] = again + 1
            named = f"{slug}-{again}" if again else slug
            line = before.map[0] if before.map else 0
            begins.append((Heading(int(before.tag[1:]), named, text), line))
    return tuple(begins)


def _lead(token: Token, name: str, href: Href) -> None:
    """Make a link or a picture of page ``name`` lead to where the reader finds it."""
    if token.type == "image":
        token.attrSet("src", href(f"images/{Path(str(token.attrs['src'])).name}"))
    elif token.type == "link_open":
        target = str(token.attrs["href"])
        if not target.startswith(("#", "http://", "https://", "mailto:")):
            led = _led(target, name, href)
            if led:
                token.attrSet("href", led)
            else:  # a file of the repository that is not a page
                token.attrs = {"title": f"{target}, in the source"}


def _led(target: str, name: str, href: Href) -> str:
    file, _, slug = target.partition("#")
    matched = _PAGE_PATH.fullmatch(normpath(file))
    if not matched:
        return ""
    other = matched[1]
    if other not in page_names():
        raise BrokenLinkError(f"{name}: links to {target}, which is no page")
    if slug and all(slug != heading.slug for heading, _ in headings(markdown_of(other))):
        raise BrokenLinkError(f"{name}: links to {target}, which has no such section")
    return href(other) + (f"#{slug}" if slug else "")


# -- the folder -----------------------------------------------------------------------------------

_STYLE: Final = """\
body { margin: 0 auto; max-width: 52rem; padding: 1rem; font: 16px/1.55 system-ui, sans-serif;
  color: #1d2327; background: #fcfcfb; }
nav { font-size: 14px; columns: 12rem; border-bottom: 1px solid #d9dde0; padding-bottom: .7rem; }
nav a { display: block; }
a { color: #1f5fa8; }
pre { overflow-x: auto; background: #eef0f1; padding: .7rem; }
code { font: 14px ui-monospace, monospace; }
:not(pre) > code { overflow-wrap: anywhere; }
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
<title>{title}</title><link rel="stylesheet" href="manual.css"></head>
<body><nav aria-label="Pages">{nav}</nav><main>{html}</main></body></html>
"""


def write_site(folder: Path) -> int:
    """Write all pages and pictures; return how many pages. Raises CannotWriteError too."""
    names = page_names()
    titles = {name: page(name, str).title for name in names}
    try:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        (folder / "manual.css").write_text(_STYLE, encoding="utf-8")
        for name in images():
            (folder / "images" / name).write_bytes(image(name)[0])
        for name, text in model_texts(_site_file).items():
            (folder / name).write_text(text, encoding="utf-8")
        for name in names:
            here = page(name, _site_file)
            nav = "".join(
                f'<a href="{_site_file(each)}">{escape(title)}</a>'
                for each, title in titles.items()
            )
            text = _PAGE.format(title=escape(here.title), nav=nav, html=here.html)
            (folder / _site_file(name)).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotWriteError(f"{folder}: cannot be written: {error.strerror}") from error
    return len(names)


def _site_file(name: str) -> str:
    return name if "." in name else f"{name}.html"
