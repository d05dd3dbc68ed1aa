"""Untrusted XML: nothing is expanded, and every mistake has its line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.extensions.certificates.safe_xml import DEPTH_MAX, XmlError, read_xml


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'<!DOCTYPE a [<!ENTITY b "bb">]><a>&b;</a>', 1),
        (b'<?xml version="1.0"?>\n<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 2),
        (b"<a>\n\n&b;</a>", 3),
        (b"<a>\n<b></a>", 2),
        (b"<a>" * (DEPTH_MAX + 1) + b"</a>" * (DEPTH_MAX + 1), 1),
        (b'<?xml version="1.0" encoding="x-own"?><a/>', 1),
    ],
)
def test_what_is_not_read_has_its_line(data, line):
    with pytest.raises(XmlError) as refused:
        read_xml(data)
    assert refused.value.line == line


def test_names_texts_attributes_and_lines_are_those_written():
    root = read_xml(
        b'<a xmlns="urn:x" xmlns:y="urn:y">\n <b c="1" y:c="2"> t&lt;<d/>&#8364; </b>\n<b/></a>'
    )

    assert (root.namespace, root.name, root.line) == ("urn:x", "a", 1)
    assert [each.line for each in root.named("b")] == [2, 3]
    assert (root.text_of("b"), root.first("b").attributes) == ("t<€", {"c": "1"})
    assert root.first("b", "d").name == "d"
    assert root.first("d") is None


@given(st.binary(max_size=60) | st.text("<>/a&;! x\n", max_size=40).map(str.encode))
def test_any_bytes_are_a_tree_or_an_xml_error(data):
    with suppress(XmlError):
        assert read_xml(data).name
