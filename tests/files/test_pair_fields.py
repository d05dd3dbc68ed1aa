"""Fields of pairs."""

from __future__ import annotations

import pytest

from monitor.files.pair_fields import ColumnsError, parse_columns


@pytest.mark.parametrize("text", ["sigma", "sigma=", "nothing=a", "=a"])
def test_columns_that_say_nothing_are_refused(text):
    with pytest.raises(ColumnsError, match="--columns"):
        parse_columns(text)
