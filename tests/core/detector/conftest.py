"""The test vector of the detector."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def shifted():
    z = np.random.default_rng(7).standard_normal(260)
    z[200:] += 1
    return z
