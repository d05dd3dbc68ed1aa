"""JSON of any nesting is a table whose columns are paths."""

from __future__ import annotations

import pytest

from monitor.files.input_file import Mistakes, Opening
from monitor.files.json_records import is_json, json_table
from monitor.files.layout import FileLayout


def columns_of(path, records="", **layout):
    names, chunks = json_table(path, Mistakes(path), FileLayout(**layout), records)
    (chunk,) = chunks({})
    return {name: [*chunk.cells[name]] for name in names}, [*chunk.lines]


def test_what_records_hold_has_its_path_and_what_one_lacks_is_empty(written):
    path = written('{"d": [{"t": 1, "v": {"pm2.5": 3.5}}, {"t": 2, "v": {}, "Q": [7, null]}]}')

    cells, lines = columns_of(path, "d")

    assert cells == {
        "t": ["1", "2"],
        'v["pm2.5"]': ["3.5", ""],
        "q[0]": ["", "7"],
        "q[1]": ["", ""],
    }
    assert lines == [1, 2]


@pytest.mark.parametrize("text", ["[[1, 2], [3, 4]]", "[1, 2]\n\n[3, 4]\n"])
def test_lists_are_read_by_their_places_from_either_end(written, text):
    cells, _ = columns_of(written(text), columns={"time": "[0]", "value": "[-1]"})

    assert (cells["[0]"], cells["[-1]"]) == (["1", "3"], ["2", "4"])


@pytest.mark.parametrize(
    ("text", "wanted"), [("\n {}", True), ("[]", True), ("a,b\n", False), ("", False)]
)
def test_json_is_told_by_its_first_character(written, text, wanted):
    assert is_json(written(text), Opening()) is wanted


@pytest.mark.parametrize("text", ['[{"v": NaN}, {"v": 1}]', '{"v": -Infinity}\n{"v": 1}\n'])
def test_a_number_that_is_none_is_an_empty_cell(written, text):
    cells, _ = columns_of(written(text))

    assert cells == {"v": ["", "1"]}
