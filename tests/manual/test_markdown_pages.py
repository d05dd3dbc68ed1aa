"""The documentation as pages: in the terminal, at /docs, and as a site of files."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from monitor import errors, manual
from monitor.cli import main
from monitor.manual import BrokenLinkError, PageMissingError, markdown_pages

PROJECT = Path(__file__).parents[2]


class Links(HTMLParser):
    """Collects what a page links to, and what can be linked to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.to: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.to += [found[name] for name in ("href", "src") if found.get(name)]
        if "id" in found:
            self.ids.add(found["id"])


def read(text: str) -> Links:
    links = Links()
    links.feed(text)
    return links


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    assert main(["docs", "--out", str(folder)]) == 0
    return folder


def test_every_page_of_docs_is_in_the_site(site):
    wanted = {path.with_suffix(".html").name for path in (PROJECT / "docs").glob("*.md")}

    assert {each.relative_to(site).as_posix() for each in site.rglob("*.html")} == wanted


def test_language_models_find_every_page_and_all_of_their_text(site):
    listed = re.findall(r"^- \[.+\]\(([^)]+)\)", (site / "llms.txt").read_text(), re.MULTILINE)
    whole = (site / "llms-full.txt").read_text()

    assert listed[0] == "index.html"
    assert {*listed} == {each.name for each in site.glob("*.html")} | {"llms-full.txt"}
    assert "\n## No pairs\n" in whole
    assert "<!-- test" not in whole
    for path in (PROJECT / "docs").glob("*.md"):
        assert path.read_text().splitlines()[0] in whole


def test_every_link_of_the_site_leads_to_a_file_and_a_section(site):
    read_pages = {path.resolve(): read(path.read_text()) for path in site.rglob("*.html")}
    broken = []
    for path, found in read_pages.items():
        for target in found.to:
            if target.startswith(("http", "mailto:")):
                continue
            file, _, slug = target.partition("#")
            other = (path.parent / file).resolve() if file else path
            if not other.is_file() or (slug and slug not in read_pages[other].ids):
                broken.append((path.name, target))

    assert broken == []
    assert sum(len(found.to) for found in read_pages.values()) > 500


def test_pages_have_tables_code_and_no_markup_of_tests(site):
    text = (site / "pairing.html").read_text()

    assert "<table>" in text
    assert "<pre><code" in text
    assert "&lt;!-- test" not in text
    assert "<!--" not in text


def test_a_section_in_the_terminal_is_the_text_of_its_page(capsys):
    assert main(["docs", "docs/operations.md#nothing-arrives"]) == 0
    said = capsys.readouterr().out

    whole = (PROJECT / "docs" / "operations.md").read_text()
    assert said.splitlines()[0].lstrip("# ") == "Nothing arrives"
    assert said.strip() in re.sub(r"^<!--.*?-->\n", "", whole, flags=re.MULTILINE)
    assert said.count("\n## ") == 0


def test_without_a_page_it_prints_the_index_which_the_list_of_pages_begins_with(capsys):
    assert main(["docs"]) == 0

    assert capsys.readouterr().out == (PROJECT / "docs" / "index.md").read_text()
    assert manual.page_names()[:2] == ["index", "scales"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [("opertions", "is it operations?"), ("pairing#no-pair", "is it no-pairs?")],
)
def test_a_page_that_is_not_there_is_answered_with_the_nearest(asked, said, capsys):
    assert main(["docs", asked]) == errors.USAGE
    assert said in capsys.readouterr().err


def test_every_page_that_a_message_names_can_be_opened():
    named = [each for name, each in vars(errors).items() if str(each).startswith("docs/")]
    named += errors.REFUSALS.values()

    for each in named:
        page, _, slug = each.removeprefix("docs/").partition("#")
        assert manual.section(page.removesuffix(".md"), slug)


@pytest.mark.parametrize("text", ["[a](nothing.md)", "[a](pairing.md#nothing)"])
def test_a_link_that_leads_nowhere_is_an_error(monkeypatch, text):
    source = markdown_pages.source
    monkeypatch.setattr(
        markdown_pages, "source", lambda name: text if name == "concepts" else source(name)
    )

    with pytest.raises(BrokenLinkError, match="concepts"):
        markdown_pages.page("concepts", str)


def test_html_of_a_page_is_shown_and_not_obeyed(monkeypatch):
    monkeypatch.setattr(
        markdown_pages, "source", lambda _: "# A\n\n<script>x</script>\n\n[b](javascript:x)"
    )

    found = markdown_pages.page("index", str)

    assert "<script>" not in found.html
    assert "href=" not in found.html


@pytest.mark.parametrize("name", ["../settings.py", "x.svg", "..", "monitor.css"])
def test_only_pictures_are_given_out(name):
    with pytest.raises(PageMissingError):
        manual.image(name)
