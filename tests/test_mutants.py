"""Every defect that `make mutants` plants is still one, and its page is of these defects."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants.defects import Defect, defects
from mutants.trying import GoneError, tried

PROJECT = Path(__file__).parents[1]
PAGE = PROJECT / "docs" / "evidence" / "mutants.md"
SURVIVE_MOST = 0.05


def test_the_text_of_every_defect_is_in_the_code_once_and_its_tests_are_there():
    listed = defects()

    assert len({each.what for each in listed}) == len(listed) >= 60
    for each in listed:
        text = (PROJECT / "monitor" / each.file).read_text(encoding="utf-8")
        assert (text.count(each.old), each.old == each.new) == (1, False), each
        assert all((PROJECT / test.partition("::")[0]).exists() for test in each.tests), each


def test_the_page_has_every_defect_and_each_survivor_has_a_reason():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "| `" in line]
    survivors = [line for line in rows if "**survives**" in line]

    assert [row.split(" | ")[1] for row in rows] == [each.what for each in defects()]
    assert len(survivors) <= SURVIVE_MOST * len(rows)
    assert all(any(d.reason and d.reason in line for d in defects()) for line in survivors)


@pytest.fixture
def copy(tmp_path) -> Path:
    (tmp_path / "monitor").mkdir()
    (tmp_path / "monitor" / "__init__.py").touch()
    (tmp_path / "monitor" / "sizes.py").write_text("def larger(a, b):\n    return a > b\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(
        'from hypothesis import settings\n\nsettings.register_profile("unshrunk")\n'
    )
    (tmp_path / "tests" / "test_sizes.py").write_text(
        "from monitor.sizes import larger\n\n\n"
        "def test_larger():\n    assert larger(2, 1)\n    assert not larger(1, 2)\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("new", "found_by"), [("a < b", "tests/test_sizes.py::test_larger"), ("a >= b", "")]
)
def test_a_planted_defect_is_found_or_survives_and_the_copy_is_as_before(
    new, found_by, copy, monkeypatch
):
    monkeypatch.setenv("PYTEST_ADDOPTS", "--an-option-that-only-this-project-knows")
    defect = Defect("sizes", "compared", "sizes.py", "a > b", new, ("tests/test_sizes.py",))

    assert tried(defect, copy).found_by == found_by
    assert (copy / "monitor" / "sizes.py").read_text() == "def larger(a, b):\n    return a > b\n"


def test_a_defect_whose_text_is_gone_is_no_success(copy):
    with pytest.raises(GoneError, match="occurs 0 times"):
        tried(Defect("sizes", "compared", "sizes.py", "a == b", "a != b", ()), copy)
