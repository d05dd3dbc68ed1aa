"""The table of benchmarks: each row has its command, and running one leaves the others alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    import table

    return table


def test_every_row_is_a_function_of_its_module(table):
    for module, function, _ in table.ROWS.values():
        text = (BENCHMARKS / f"{module}.py").read_text(encoding="utf-8")
        made = {each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
        assert function in made, (module, function)


def test_the_lines_of_a_row_replace_its_former_ones_and_no_others(table):
    page = (
        f"before\n{table.BEGIN}\n{table.HEAD}\n|---|\n| qos-1 | a |\n| qos-1 | b |\n| tls | c |\n"
    )
    page += f"{table.END}\nafter\n"
    written = table.written(page, {"tls": ["| tls | d |"]})
    again = table.written(written, {"qos-0": ["| qos-0 | e |"], "qos-1": ["| qos-1 | f |"]})

    rows = ["| qos-1 | a |", "| qos-1 | b |", "| tls | d |"]
    assert written.splitlines()[4:7] == rows
    assert again.splitlines()[4:7] == ["| qos-1 | f |", "| qos-0 | e |", "| tls | d |"]
    assert again.startswith("before\n")
    assert again.endswith(f"{table.END}\nafter\n")


@pytest.mark.parametrize(
    ("ratio", "reached"), [(6.9, "no"), (7.0, "floor"), (11.9, "floor"), (12.0, "aim"), (None, "")]
)
def test_a_line_says_whether_floor_and_aim_are_reached(table, ratio, reached):
    line = table.Line(table.Goal("what", "peer", 7, 12, "why"), "1 us", "7 us", ratio)
    cells = [cell.strip() for cell in table.cells("row", line).split("|")[1:-1]]

    assert len(cells) == table.HEAD.count("|") - 1
    assert cells[9] == reached


def test_of_several_runs_a_line_is_the_median_and_has_the_lowest_ratio(table):
    def printed(*ratios):
        goal = table.Goal("a pair", "peer", 7, 12, "why")
        lines = [table.Line(goal, f"{ratio} us", "1 us", ratio) for ratio in ratios]
        lines.append(table.Line(table.Goal("a limit", ""), "3 us", ""))
        return "\n".join(table.cells("tls", line) for line in lines) + " (12 s)\n"

    lines = table.joined([printed(1234.0, 9), printed(7, 8), "row tls failed", printed(1300.0, 6)])

    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines["tls"]]
    assert [each[2] for each in cells] == ["1234.0 us", "8 us", "3 us"]
    assert [each[5:7] for each in cells] == [["1,234", "7"], ["8", "6"], ["", ""]]
    assert all(line.count("|") == table.HEAD.count("|") for line in lines["tls"])


def test_runs_with_other_lines_are_not_joined(table):
    def printed(*whats):
        lines = [table.Line(table.Goal(what, "peer"), "1 us", "2 us", 2.0) for what in whats]
        return "\n".join(table.cells("tls", line) for line in lines)

    with pytest.raises(ValueError, match="row tls, line 1"):
        table.joined([printed("a"), printed("b")])
    with pytest.raises(ValueError):
        table.joined([printed("a"), printed("a", "b")])


def test_the_page_of_the_project_has_the_marks(table):
    page = table.PAGE.read_text(encoding="utf-8")

    assert table.written(page, {}) == page
