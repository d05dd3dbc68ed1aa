"""The collector of cycles, left as it was."""

from __future__ import annotations

import gc
from contextlib import suppress

import pytest

from monitor.core.collecting import without_collecting


@pytest.mark.parametrize("switch", [gc.enable, gc.disable])
def test_the_collector_is_as_before_also_after_an_error(switch):
    before = gc.isenabled()
    try:
        switch()
        with suppress(KeyError), without_collecting():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() is (switch is gc.enable)
    finally:
        (gc.enable if before else gc.disable)()
