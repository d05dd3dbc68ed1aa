"""What a message may state: refused, or taken as it stands."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy

from monitor.cli import main
from monitor.decode.checks import Rejected
from monitor.decode.spec import MapError
from tests.decode.test_distributions import mapped, read


def test_quantiles_that_cross_are_refused():
    mapping = mapped(quantity="x", quantiles={"0.1": "a", "0.5": "b", "0.6": "c", "0.9": "d"})

    refused = read(mapping, a=1.0, b=4.0, c=3.0, d=9.0)

    assert isinstance(refused, Rejected)
    assert refused.detail == "the quantile 0.6 (3) is below the quantile 0.5 (4)"


def test_the_interval_is_the_outermost_with_as_much_beyond_either_end(tmp_path, capsys):
    """Of 0.05 to 0.9 an honest sensor misses twice as many below as above, which is no offset."""
    levels = {"0.05": "a", "0.1": "b", "0.5": "c", "0.9": "d"}
    found = read(mapped(quantity="x", quantiles=levels), a=1.0, b=2.0, c=4.0, d=7.0)
    assert (found.value, found.lower, found.upper, found.p) == (4.0, 2.0, 7.0, 0.8)
    assert np.frombuffer(found.places).tolist() == [1.0, 2.0, 4.0, 7.0]
    with pytest.raises(MapError, match="needs two symmetric levels"):
        mapped(quantity="x", quantiles={"0.1": "a", "0.5": "b", "0.99": "c"})

    rng = np.random.default_rng(5)
    heads = [f"q{level}" for level in levels]
    at = scipy.special.ndtri([float(level) for level in levels])
    rows = [(x, 0.0, *(x + at)) for x in rng.standard_normal(4000)]
    path = tmp_path / "pairs.csv"
    lines = [",".join(["value", "reference", *heads]), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines))
    assert main(["score", str(path), "--json"]) == 0
    (series,) = json.loads(capsys.readouterr().out)["series"]
    assert abs(series["statistics"]["coverage"] - 0.8) < 0.03
