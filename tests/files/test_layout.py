"""Which column is what."""

from __future__ import annotations

import pytest

from monitor.files.layout import typed_number


@pytest.mark.parametrize("text", ["0.125", "1234.567", "1.234e-05", "1,021.500", "21 5", "", ","])
def test_what_is_no_number_with_decimal_commas_is_refused(text):
    with pytest.raises(ValueError, match=r"write 1\.021,5"):
        typed_number(text, decimal_comma=True)
