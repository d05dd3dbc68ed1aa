"""Whether the settings ask for the page of budgets."""

from __future__ import annotations

import pytest

from monitor.config import parse
from monitor.extensions.budget.settings import has_pages


@pytest.mark.parametrize(
    ("text", "pages"),
    [("{}", False), ("budget: {page: false}", False), ("budget: {page: true}", True)],
)
def test_the_page_is_there_where_it_is_asked_for(text, pages):
    assert has_pages(parse(text.encode(), "s.yaml")) is pages
