"""Where a sensor is wrong, in words and as plain values."""

from __future__ import annotations

import numpy as np
import pytest
from harness.series import pairs

from monitor.core.analysis.where import Covariate, along_hour, along_level, calibrated_where
from monitor.core.analysis.where_words import where_document, where_sentence
from tests.core.analysis.test_where import drawn, wrong_alike


def test_an_offset_of_some_hours_is_told_with_them():
    c, _ = drawn(1, 1500, plant=lambda h, _r, _l: (h >= 21) | (h < 3), factor=1.0, shift=-1.0)
    found = calibrated_where(c, along_hour(c.time))
    (only,) = found.findings
    assert only.fault == "offset"
    assert (only.low, only.high) == (pytest.approx(21.0, abs=2.0), pytest.approx(3.0, abs=2.0))
    said = where_sentence(found, "ug")
    assert said.startswith("reads ")
    assert " low (" in said
    assert said.endswith("h UTC, not clearly right elsewhere")  # the hour from 2 to 3 is as wrong


def test_a_sensor_that_is_wrong_alike_everywhere_is_wrong_in_no_part():
    c, humidity = drawn(4, 1500, plant=lambda h, _r, _l: h >= 0)
    found = calibrated_where(c, Covariate("RH", humidity, "%"))
    assert (found.state, found.findings) == ("everywhere", ())
    assert "along all of RH" in where_sentence(found)


def test_a_part_with_a_wrong_uncertainty_and_an_offset_is_told_with_both():
    c, humidity = wrong_alike(
        1, 3000, lambda error, rh: np.where(rh > 70.0, 3.0 * error + 1.0, error)
    )
    found = calibrated_where(c, Covariate("RH", humidity, "%"))
    spread, offset = found.findings
    assert (spread.fault, offset.fault) == ("understated", "offset")
    assert spread[1:4] == offset[1:4]
    assert spread.estimate.lower < 3.0 < spread.estimate.upper
    assert offset.estimate.lower < 1.0 < offset.estimate.upper
    said = where_sentence(found)
    assert said.startswith("understates its uncertainty ")
    assert " and reads " in said
    assert said.count(" RH") == 1
    assert said.endswith(f" above {spread.low:g} % RH, right below")


@pytest.mark.parametrize("seed", [0, 3])
def test_nothing_false_is_said_of_an_upper_range_that_is_overconfident(seed):
    """A bin beside the part is as wrong as it, and no offset is told that is not clear."""
    random = np.random.default_rng(seed)
    reference = np.exp(random.normal(2.7, 0.6, 2000))
    u = 0.8 + 0.12 * reference * np.exp(random.normal(0.0, 0.25, 2000))
    factor = np.where(reference > np.quantile(reference, 0.7), 1.6, 1.0)
    c = pairs(reference + factor * u * random.normal(size=2000), reference, u)
    found = calibrated_where(c, along_level(c, "ug/m3"))

    (only,) = found.findings
    assert only.fault == "understated"
    beside = next(each for each in found.bins if each.high == only.low)
    assert beside.zms.lower > 2.0
    assert where_sentence(found).endswith(f" above {only.low:g} ug/m3, not clearly right below")


NUMBERS = np.random.default_rng(7).uniform(0.0, 1.0, 300)


@pytest.mark.parametrize(
    ("numbers", "state", "told"),
    [
        (np.full(300, np.nan), "missing", "no pair has it"),
        (np.full(300, np.inf), "missing", "no pair has it"),
        (np.full(300, 41.5), "constant", "the same in all pairs"),
        (np.where(np.arange(300) < 99, NUMBERS, np.nan), "few", "fewer than 100 pairs"),
        (np.where(np.arange(300) < 299, NUMBERS, np.nan), "nothing", "(1 pair has no RH)"),
        (np.where(np.arange(300) < 120, 3.0, NUMBERS), "nothing", "not clearly wrong"),
        (np.where(NUMBERS < 0.5, -1e300, 1e300), "nothing", "not clearly wrong"),
        (5e-324 * np.round(9.0 * NUMBERS), "nothing", "not clearly wrong"),
    ],
)
def test_a_covariate_that_tells_nothing_is_said_so(numbers, state, told):
    c, _ = drawn(8, 300)
    found = calibrated_where(c, Covariate("RH", numbers, "%"))
    document = where_document(found)
    assert document["state"] == state or state == "nothing"
    if document["state"] == state:
        assert told in document["sentence"]
    assert document["findings"] == []
