"""Paths into payloads."""

from __future__ import annotations

import pytest

from monitor.decode.paths import getter, path_of, steps


@pytest.mark.parametrize(
    ("path", "walk"),
    [
        ('PMS5003["PM2.5"]', ("PMS5003", "PM2.5")),
        ("a['b.c'][0].d", ("a", "b.c", 0, "d")),
        ('["a[0]"]', ("a[0]",)),
        ('$["a.b"].c', ("a.b", "c")),
        ("""["it's"]""", ("it's",)),
        ("$.metrics[-1].value", ("metrics", -1, "value")),
    ],
)
def test_a_name_in_quotes_may_have_points_and_brackets(path, walk):
    content: object = 7
    for step in reversed(walk):
        content = [content] if isinstance(step, int) else {step: content}

    assert steps(path) == walk
    assert steps(path_of(walk)) == walk
    assert getter(path)(content) == 7


@pytest.mark.parametrize("path", ["a..b", ".a", "a.", 'a["b"]c', 'a["b]', "a[x]", "a[", "a]", ""])
def test_what_is_no_path_is_refused_with_one_that_is(path):
    with pytest.raises(ValueError, match=r'such as pm25.v, metrics.0..value or PMS5003."PM2.5"'):
        steps(path)
