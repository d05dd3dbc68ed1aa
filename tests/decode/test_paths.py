"""Paths into payloads."""

from __future__ import annotations

import json

import pytest

from monitor.decode.paths import MISSING, getter, path_of, steps


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


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({"msg": '{"t": 7}'}, "msg.t"),
        ({"msg": ' [{"t": 6}, {"t": 7}]'}, "msg[1].t"),
        ({"a": json.dumps({"b": json.dumps({"t": 7})})}, "a.b.t"),
        ('{"t": 7}', "t"),
    ],
)
def test_a_path_leads_into_a_text_that_is_json_itself(payload, path):
    assert getter(path)(payload) == 7


@pytest.mark.parametrize("text", ['{"t": 7', '{"t": 7, "t": 8}', "t", "", '{"u": 7}', "[7]"])
def test_a_path_leads_nowhere_in_a_text_that_is_not(text):
    assert getter("msg.t")({"msg": text}) is MISSING
