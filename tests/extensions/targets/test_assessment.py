"""A figure beside its target: met, missed or not sure yet, alone and among alternatives."""

from __future__ import annotations

import pytest

from monitor.core.verdict import Estimate
from monitor.extensions.targets.assessment import TargetFigure, aspects, interval_text, range_text
from monitor.extensions.targets.regulators import TargetRange

SLOPE = TargetRange("slope", "slope", 0.65, 1.35)
RMSE = TargetRange("error", "RMSE", at_most=7.0, unit="ug/m3")
NRMSE = TargetRange("error", "NRMSE", at_most=0.3)


@pytest.mark.parametrize(
    ("lower", "upper", "is_met"),
    [(0.65, 1.35, True), (0.6, 1.0, None), (1.0, 1.4, None), (0.5, 1.5, None), (0.1, 0.6, False),
     (1.36, 2.0, False)],
)  # fmt: skip
def test_the_whole_interval_decides(lower, upper, is_met):
    assert TargetFigure(SLOPE, Estimate(1.0, lower, upper)).is_met is is_met


@pytest.mark.parametrize(
    ("rmse", "nrmse", "is_met"),
    [(5.0, 0.5, True), (9.0, 0.2, True), (9.0, 0.5, False), (7.0, 0.5, None), (7.0, 0.2, True)],
)
def test_of_alternatives_one_is_enough(rmse, nrmse, is_met):
    figures = [
        TargetFigure(SLOPE, Estimate(1.0, 0.9, 1.1)),
        TargetFigure(RMSE, Estimate(rmse, rmse - 0.5, rmse + 0.5)),
        TargetFigure(NRMSE, Estimate(nrmse, nrmse - 0.01, nrmse + 0.01)),
    ]

    assert aspects(figures) == {"slope": True, "error": is_met}


def test_targets_have_all_their_digits_and_figures_two():
    figures = [TargetFigure(each, Estimate(0.3456, 0.3, 0.4)) for each in (SLOPE, RMSE, NRMSE)]

    assert [range_text(each, "ug/m3") for each in figures] == [
        "0.65 to 1.35",
        "at most 7 ug/m3",
        "at most 30 %",
    ]
    assert [interval_text(each, "ug/m3") for each in figures] == [
        "0.35 (0.3 to 0.4)",
        "0.35 ug/m3 (0.3 to 0.4)",
        "35 % (30 % to 40 %)",
    ]
