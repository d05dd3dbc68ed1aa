"""States of series beside suspect references."""

from __future__ import annotations

import pytest

from monitor.core.snapshot.states import explains
from monitor.core.verdict import Estimate


@pytest.mark.parametrize(
    ("own", "explained"),
    [(-1.1, True), (1.1, False), (-5.0, False), (-2.4, True)],
)
def test_an_offset_is_explained_if_it_is_that_of_the_reference(own, explained):
    assert explains(Estimate(1.2, 1.0, 1.4), Estimate(own, own - 0.1, own + 0.1)) is explained
