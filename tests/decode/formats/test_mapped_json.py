"""JSON by a mapping."""

from __future__ import annotations

import pytest

from monitor.decode import Rejected
from monitor.decode.formats import mapped_json


@pytest.mark.parametrize(
    ("text", "says", "byte"),
    [
        ('{"a": 1,}', "a comma before a closing bracket; remove it (byte 7)", 7),
        ("[1, 2, ]", "a comma before a closing bracket; remove it (byte 5)", 5),
        ('{\n  "a": 1\n  "b": 2\n}', "must stand here (line 3 column 3, byte 13)", 13),
        ('{\n  "a": 1,\n}\n', "remove it (line 2 column 9, byte 10)", 10),
        ('{"a": 1,\n "b": 2', "is a closing bracket missing, or was it cut? (line 2", 16),
        ("{'a': 1}", "a name in double quotes must stand here (byte 1)", 1),
        ('{"a" 1}', "a colon must stand here, after the name (byte 5)", 5),
        ("offline", "a value must stand here; texts need double quotes (byte 0)", 0),
        ('{"a": 1}{"a": 2}', "send one value in a message (byte 8)", 8),
        ('{"ü": "x}', "the text that begins here has no closing quote (byte 7)", 7),
        ('{"a": "x\ty"}', r"a control character in a text; write it as \n or \u000a", 8),
    ],
)
def test_what_is_no_json_says_where_and_what_to_do(text, says, byte):
    with pytest.raises(Rejected) as caught:
        mapped_json.parse(text.encode())

    assert caught.value.detail.startswith("not JSON: ")
    assert says in caught.value.detail
    assert caught.value.place == f"byte {byte}"
