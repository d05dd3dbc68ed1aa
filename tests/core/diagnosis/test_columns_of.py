"""Windows of series as columns, each by its own settings."""

from __future__ import annotations

import numpy as np

from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.pairing.series_rules import SeriesRules
from tests.core.state.test_network import Shell, stream


def test_each_series_has_the_window_the_level_and_the_density_of_its_rules():
    shell = Shell()
    for seed, name in enumerate("abc"):
        shell.take(stream(name, 40, seed))
    rules = [
        SeriesRules(window_pairs=7, level=0.5),
        SeriesRules(window_pairs=30, window_seconds=9.0),
        SeriesRules(density="tophat"),
    ]
    columns_of = SeriesColumns(shell.network.windows, shell.network.detector, rules)
    series = np.array([0, 1, 2])
    c = columns_of.windows(series)

    assert c.counts.tolist() == [7, 10, 40]  # ten pairs lie within nine seconds
    wanted = [*range(33, 40), *range(30, 40), *range(40)]
    np.testing.assert_array_equal(c.time, wanted)
    np.testing.assert_allclose(c.upper - c.value, np.repeat([0.67449, 1.64485, 1.64485], c.counts) * c.u, rtol=1e-5)  # fmt: skip  # noqa: E501
    assert columns_of.densities(series) == ["normal", "normal", "tophat"]
    assert columns_of.up_to_alarm(0, 5).time[-1] == 34.0
    assert columns_of.up_to_alarm(0, 40) is None
    assert columns_of.present(np.array([0, 5])).tolist() == [0]
