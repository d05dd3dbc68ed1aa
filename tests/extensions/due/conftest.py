"""A file of three series."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

NAMES = ("calm", "walker", 'x; "ü", <b>\\n')


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(5)
    rows = []
    for name, walk in zip(NAMES, (0.0, 0.3, 0.1), strict=True):
        off = np.cumsum(random.normal(size=80) * walk)
        for at, each in enumerate(off - off[-1]):
            when = datetime.fromtimestamp(1.77e9 + at * 86_400.0, UTC).isoformat()
            quoted = name.replace('"', '""')
            rows.append(f'{when},"{quoted}",t,{20.0 + each + random.normal():.4f},1,20,0.1')
    path = tmp_path / "pairs.csv"
    head = "time,sensor,quantity,value,sigma,reference,reference_sigma"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    return path
