"""Fixtures that every part of the tests shares."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.reaper import reaped
from hypothesis import Phase, settings

PROJECT = Path(__file__).parents[1]

# Before numpy is imported: the workers of a run are as many as the cores, and each of their threads
# for products of matrices would wait for the others by counting.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No example has a time limit: a busy machine is no mistake of the code.
settings.register_profile("untimed", deadline=None)
# `make check`: a first look within a minute (pytest --hypothesis-profile quick).
settings.register_profile("quick", deadline=None, max_examples=10)
# `make mutants`: the first failure as it is found, which is enough there.
settings.register_profile("unshrunk", deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a campaign run more than a run of the tests: random lives, and what is marked long."""
    parser.addoption(
        "--lives", type=int, default=24, help="random lives of a network, and of a daemon"
    )
    parser.addoption("--long", action="store_true", help="also what is marked long")
    parser.addoption("--programs", help="file for the names of tests that start other programs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among what is collected, which stays: half of the time went into it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked long unless it is asked for."""
    if not config.getoption("--long"):
        left = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left)


def pytest_configure(config: pytest.Config) -> None:
    """Let no program outlive the tests that started it."""
    stack = ExitStack()
    stack.enter_context(reaped())
    config.add_cleanup(stack.close)
    if file := config.getoption("--programs"):
        config.pluginmanager.register(ProgramsNoted(Path(file).resolve()))


class ProgramsNoted:
    """Notes each test that starts another program than Python: what a bare machine tries."""

    def __init__(self, file: Path) -> None:
        """Append to ``file``, a line a test, more than once for some."""
        self._file = file
        self._test = ""
        sys.addaudithook(self._note)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Know which test is on."""
        self._test = nodeid.partition("[")[0]

    def _note(self, event: str, args: tuple[object, ...]) -> None:
        if event == "subprocess.Popen" and self._test and str(args[0]) != sys.executable:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(f"{self._test}\n")
            self._test = ""  # once is enough


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets beside the project; skip where it is not there."""
    folder = PROJECT.parent / "shared" / "data"
    if not (folder / "expected.json").exists():
        pytest.skip("the real data sets (../shared/data) are not beside this checkout")
    return folder


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """Return a running broker."""
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = Mosquitto(folder)
    yield broker
    broker.stop()
