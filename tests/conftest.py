"""Fixtures that every part of the tests shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).parents[1]

# No example has a time limit: a busy machine is no mistake of the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data sets beside the project; skip where it is not there."""
    folder = PROJECT.parent / "shared" / "data"
    if not (folder / "expected.json").exists():
        pytest.skip("the real data sets (../shared/data) are not beside this checkout")
    return folder
