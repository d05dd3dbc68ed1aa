"""Rows of a table of pairs: what each lacks, and what is wrong with it."""

from __future__ import annotations

import numpy as np

from monitor.files.pair_checks import row_faults, rows_lacking, value_or_middle

NAN = np.nan


def columns(*rows: tuple[float, ...]) -> dict[str, np.ndarray]:
    names = ("value", "reference", "u", "lower", "upper", "p", "u_reference")
    return dict(zip(names, np.array(rows, dtype=float).T, strict=True))


def test_a_row_needs_value_reference_and_a_claim():
    table = columns(
        (1, 1, 1, NAN, NAN, NAN, 0),
        (1, 1, NAN, 0, 2, 0.9, 0),
        (NAN, 1, 1, NAN, NAN, NAN, 0),
        (1, NAN, 1, NAN, NAN, NAN, 0),
        (1, 1, NAN, 0, NAN, 0.9, 0),
    )
    assert rows_lacking(table).tolist() == [False, False, True, True, True]


def test_each_fault_is_found_in_its_row_alone_and_an_interval_has_a_middle():
    table = columns(
        (1, 1, NAN, 0, NAN, 0.9, 0),
        (1, 1, 0, NAN, NAN, NAN, 0),
        (1, 1, NAN, 3, 2, 0.9, 0),
        (1, 1, NAN, 2, 2, 0.9, 0),
        (1, 1, NAN, 0, 2, 1, 0),
        (1, 1, 1, NAN, NAN, NAN, -1),
        (NAN, 1, 1, 4, 10, 0.9, 0),
    )
    assert [np.flatnonzero(rows).tolist() for rows, _, _ in row_faults(table)] == [
        [row] for row in range(6)
    ]
    assert value_or_middle(table).tolist() == [1.0] * 6 + [7.0]
