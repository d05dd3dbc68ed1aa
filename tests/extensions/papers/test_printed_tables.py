"""The tables as printed are consistent in themselves."""

from __future__ import annotations

import pytest

from monitor.extensions.papers.printed_tables import SETS

WHOLE = [each for each in SETS if each.zms.interval is not None]


@pytest.mark.parametrize("of", WHOLE, ids=lambda each: each.name)
def test_zeta_is_the_distance_to_the_target_over_that_to_the_end_on_its_side(of):
    """To the digits that the estimates and the ends are printed with."""
    for line, target in ((of.zms, 1.0), (of.rce, 0.0)):
        low, high = line.interval
        assert low < line.estimate < high
        end = high if line.estimate < target else low
        zeta = (line.estimate - target) / abs(end - line.estimate)
        assert line.zeta == pytest.approx(zeta, rel=0.06)
