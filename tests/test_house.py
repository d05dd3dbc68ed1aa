"""The house does not grow unnoticed, and a default daemon loads nothing that nobody asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.house import (
    ARCHITECTURE,
    PACKAGE,
    TOTALS,
    Size,
    every_module,
    grown,
    limits,
    loaded,
    lowered,
    modules_of,
)

from monitor.extensions import TABLE, Asks, extension, imported

# Libraries that only extras bring. FastAPI loads OpenTelemetry's interface where it is installed.
OPTIONAL = (
    *("confluent_kafka", "cryptography", "pandas", "polars", "pyarrow", "pyspark"),
    *("opentelemetry.exporter", "opentelemetry.sdk"),
)


@pytest.fixture(scope="module")
def page() -> str:
    return ARCHITECTURE.read_text(encoding="utf-8")


# -- sizes ----------------------------------------------------------------------------------------


def test_no_room_is_larger_than_the_table_allows(page):
    assert grown(page) == []


def test_every_module_is_in_one_room_of_the_table(page):
    named = [path for row in limits(page) if row not in TOTALS for path in modules_of(row)]

    assert sorted(named) == every_module()


@pytest.fixture
def package(tmp_path) -> Path:
    (tmp_path / "attic").mkdir()
    (tmp_path / "attic" / "chest.py").write_text("x = 1\n" * 120)
    (tmp_path / "door.py").write_text("x = 1\n" * 10)
    return tmp_path


SMALL = "| `attic/`, `door` | 2 | 130 | words |\n| all | 3 | 200 | |\n"


def test_a_room_that_grew_is_named_with_what_to_do(package):
    assert grown(SMALL, package) == []
    (package / "attic" / "box.py").write_text("x = 1\n")

    (sentence,) = grown(SMALL, package)

    assert sentence.startswith(
        "`attic/`, `door`: 3 modules and 131 lines, its row allows 2 and 130; make it smaller"
    )


def test_numbers_are_lowered_in_steps_and_never_raised(package):
    page = "| `attic/` | 9 | 900 | words |\n| `door` | 1 | 5 | words |\n| all | 2 | 140 | |\n"

    changed = limits(lowered(page, package))

    assert changed == {"`attic/`": Size(1, 150), "`door`": Size(1, 5), "all": Size(2, 140)}


# -- what a daemon loads --------------------------------------------------------------------------


def test_a_daemon_with_default_settings_loads_no_extension_and_no_optional_library():
    modules = loaded()

    assert {"monitor.daemon.intake", "monitor.http.pages", "monitor.extensions"} <= set(modules)
    strange = [name for name in modules if name.startswith(("monitor.extensions.", *OPTIONAL))]
    assert strange == []


# -- the manual -----------------------------------------------------------------------------------

# The most there may be, lowered whenever pages shrink. Aim: 20 pages.
MOST_PAGES = 25
MOST_WORDS = 31_600
MOST_BYTES = 284_000
MOST_OF_CHANGELOG = 4_000
GENERATED = {"settings.md", "metrics.md", "commands.md", "reference.md"}


def test_the_manual_stays_as_short_as_it_is():
    pages = {path.name: path.read_bytes() for path in (PACKAGE.parent / "docs").glob("*.md")}
    words = sum(len(text.split()) for name, text in pages.items() if name not in GENERATED)

    assert pages.keys() > GENERATED
    assert len(pages) <= MOST_PAGES
    assert words <= MOST_WORDS
    assert sum(map(len, pages.values())) <= MOST_BYTES
    assert (PACKAGE.parent / "CHANGELOG.md").stat().st_size <= MOST_OF_CHANGELOG


# -- the table of extensions ----------------------------------------------------------------------


def test_every_extension_of_the_room_is_in_the_table():
    folders = {path.parent.name for path in (PACKAGE / "extensions").glob("*/__init__.py")}

    assert folders == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_the_table_says_what_asks_for_an_extension(name):
    described = extension(name)

    assert described.name == name
    assert TABLE[name] == Asks(tuple(described.settings), tuple(described.commands))


@pytest.mark.parametrize("name", TABLE)
def test_every_part_that_an_extension_names_is_there(name):
    described = extension(name)
    texts = [value for value in described if isinstance(value, str)]
    parts = [each for each in (*texts, *described.settings.values()) if each.startswith("monitor.")]

    assert all(imported(part) is not None for part in parts)
    for command in described.commands.values():
        assert callable(imported(f"{command.module}:arguments"))
        assert callable(imported(f"{command.module}:run"))
    assert (PACKAGE.parent / "docs" / described.page).is_file()
