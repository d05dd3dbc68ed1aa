"""A series in memory, compared with its history."""

from __future__ import annotations

import pytest

from monitor.core.steps import finish
from tests.daemon.test_self_check import evidence, network, statistics, window


def test_a_series_that_is_as_its_history_says_has_its_digest():
    compared = finish(network(80).self_check(0))

    assert (compared.differing, compared.pairs) == ((), 80)
    assert (compared.first, compared.last) == (0.0, 79.0)
    assert compared.live == compared.journal == finish(network(80).self_check(0)).journal
    assert compared.journal != finish(network(81).self_check(0)).journal


@pytest.mark.parametrize("damage", [evidence, window, statistics])
def test_one_bit_is_found_where_it_is_and_nothing_is_mended(damage):
    live = network(80)
    sound = finish(live.self_check(0))
    damage(live)
    bits = live.detector.dump(0), live.windows.rows(0).tobytes()
    compared = finish(live.self_check(0))

    assert compared.differing == (damage.__name__,)
    assert compared.live != compared.journal == sound.journal
    assert (live.detector.dump(0), live.windows.rows(0).tobytes()) == bits
    assert finish(live.self_check(0)) == compared
