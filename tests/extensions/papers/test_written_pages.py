"""The committed pages are those that are written now."""

from __future__ import annotations

from monitor.extensions.papers import written_pages
from tests.extensions.papers.test_paper_figures import IMAGES, PAGE, PROJECT


def test_the_committed_page_figures_and_table_are_what_the_recorded_data_give(shared_data):
    made = written_pages.reproductions(shared_data)
    papers = (PROJECT / "docs" / "evidence" / "papers.md").read_text(encoding="utf-8")

    assert written_pages.figures_page(made) == PAGE
    assert written_pages.between_marks(papers, written_pages.table_2(made["B"])) == papers
    for name, drawing in written_pages.paper_drawings(made):
        assert (IMAGES / name).read_text(encoding="utf-8") == drawing, name
