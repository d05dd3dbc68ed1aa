"""The bar of variances."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from monitor.core.columns import columns
from monitor.core.registry import SeriesName
from monitor.core.snapshot.details import Contenders, Contest
from monitor.extensions.budget.documents import budget_bars
from monitor.extensions.budget.pages import budget_of
from tests.extensions.budget.test_command import HOSTILE, streams


def contenders(sensors: int) -> Contenders:
    reference, values = streams(150)
    value = np.concatenate([*values.values()][:sensors])
    nothing = np.full(value.size, np.nan)
    pairs = columns(
        np.arange(sensors) * 150,
        time=np.tile(1.77e9 + 60.0 * np.arange(150), sensors),
        value=value,
        reference=np.tile(reference, sensors),
        u=np.ones(value.size),
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.full(value.size, 0.3),
        level=0.9,
    )
    names = tuple(SeriesName(name, "t", "K") for name in [*values][:sensors])
    event = np.tile(np.arange(150), sensors)
    return Contenders(1.77e9, Contest("t"), names, pairs, event, "normal", 0)


def test_the_bar_is_a_picture_whose_parts_fill_it():
    found = budget_of(contenders(2))
    drawing = ET.fromstring(str(budget_bars(found)))  # noqa: S314 - our own
    bars = [
        each for each in drawing.iter() if each.tag == "rect" and each.find("title") is not None
    ]
    assert len(bars) == 10
    wide = float(drawing.get("viewBox", "").split()[2])
    for row in (bars[:5], bars[5:]):
        assert sum(float(each.get("width", "nan")) for each in row) == pytest.approx(wide, abs=0.5)
    words = [each.text for each in drawing.iter() if each.tag == "text"]
    assert HOSTILE in words
    assert budget_of(contenders(1))["views"] == []
    assert budget_of(contenders(1))["unit"] == "K"
