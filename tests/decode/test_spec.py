"""What a source's mapping may say."""

from __future__ import annotations

import pytest

from monitor.decode import Rejected
from monitor.decode.spec import MapError
from tests.decode.test_mapping import mapped, reading


@pytest.mark.parametrize(
    "formula",
    ["", "__import__('os')", "x", "[value]", "value +", "'a'", "lambda: 1"],
)
def test_a_formula_gives_a_number_of_the_value_or_is_refused(formula):
    if not formula:
        with pytest.raises(Rejected, match="missing_uncertainty"):
            reading({"v": 1}, value="v", assumed=formula)
        return
    with pytest.raises((MapError, Rejected)):
        reading({"v": 1}, value="v", assumed=formula)


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"series": [{"value": "a..b", "u": "u"}]}, ("series", 0, "value")),
        ({"series": [{"value": "v", "u": "u", "U": "U"}]}, ("series", 0, "U")),
        ({"series": [{"value": "v", "lower": "l"}]}, ("series", 0, "lower")),
        ({"series": [{"u": "u"}]}, ("series", 0, "value")),
        ({"series": [{"value": "v", "quantiles": {"0.1": "a", "0.4": "b"}}]},
         ("series", 0, "quantiles")),
        ({"series": [{"value": "v", "unit": "kg", "to_unit": "m"}]}, ("series", 0, "to_unit")),
        ({"series": []}, ("series",)),
        ({"sensor": "{node}"}, ("sensor",)),
        ({"sensor": "{"}, ("sensor",)),
        ({"each": "a", "columnar": "b"}, ("columnar",)),
        ({"time_zone": "Mars/Base"}, ("time_zone",)),
        ({"kind": "event", "event": ""}, ("event",)),
    ],
)  # fmt: skip
def test_a_mapping_that_cannot_be_used_says_where(spec, place):
    with pytest.raises(MapError) as caught:
        mapped(**spec)

    assert caught.value.place == place
