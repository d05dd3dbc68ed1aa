"""Plots of a signal and its pairs."""

from __future__ import annotations

import numpy as np
from harness.series import drawn, pairs

from monitor.http import signal_plots


def test_the_words_of_the_fit_are_those_of_least_squares():
    c = drawn(4, (80,))
    slope, intercept = np.polyfit(c.reference, c.value, 1)
    r2 = np.corrcoef(c.reference, c.value)[0, 1] ** 2
    told = signal_plots.fitted_in_words(c, "kg")

    sign = "−" if intercept < 0 else "+"  # noqa: RUF001
    assert told == (
        f"Fitted: value = {slope:.4g} × reference {sign} {abs(intercept):.3g} kg; "  # noqa: RUF001
        f"R² = {r2:.4f} over 80 pairs."
    )
    assert signal_plots.fitted_in_words(pairs([1.0, 2.0], 0.0, 1.0), "").startswith("No line")
