"""Small files of the papers' names, and the figures that recorded data must give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.papers.conftest import expected, read

__all__ = ["expected", "read"]


def written(path, heads, *columns):
    rows = [",".join(heads), *(",".join(map(repr, map(float, row))) for row in zip(*columns, strict=True))]  # fmt: skip  # noqa: E501
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def own(tmp_path):
    """Return a small folder of the files' names with what was drawn: error, u; and bands."""
    random = np.random.default_rng(7)
    folder = tmp_path / "data"
    folder.mkdir()
    u = np.exp(random.normal(size=300))
    error = 1.2 * u * random.normal(size=300)
    written(folder / "pernot_set1.csv", ("value", "sigma", "reference"), np.zeros(300), u, error)
    n = 900
    value, below, above = random.normal(size=n), *random.uniform(0.2, 2.0, size=(2, n))
    reference = value + random.normal(size=n)
    written(
        folder / "ucc_sample.csv", ("value", "lower", "upper", "reference"),
        value, value - below, value + above, reference,
    )  # fmt: skip
    return folder, {"u": u, "error": error, "bands": (value, below, above, reference)}
