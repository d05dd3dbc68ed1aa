"""Templates escape what they are given, and miss what they are not given."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from monitor.http.page_files import inline_style, templates


def test_a_value_is_escaped_and_a_missing_one_is_an_error():
    template = templates().from_string("<p>{{ words }}</p>")

    assert template.render(words="<b>&") == "<p>&lt;b&gt;&amp;</p>"
    with pytest.raises(UndefinedError, match="words"):
        template.render()


def test_the_style_of_a_page_that_stands_alone_asks_for_nothing_and_cannot_end_its_element():
    style = inline_style()

    assert "{" in style
    assert not [word for word in ("url(", "@import", "</") if word in style]
