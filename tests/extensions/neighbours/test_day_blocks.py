"""Blocks of hours and days, against sums written out."""

from __future__ import annotations

import numpy as np

from monitor.core.registry import SeriesName
from monitor.extensions.neighbours.day_blocks import KEPT, DayBlocks
from monitor.extensions.neighbours.neighbourhoods import fleets_by_group
from monitor.extensions.neighbours.weak_references import day_values

DAY = 86_400.0
FLEETS = fleets_by_group([SeriesName(f"n{at}", "pm", "", "town") for at in range(5)])


def taken(blocks: DayBlocks, days: range) -> np.ndarray:
    """Add two readings an hour of five series; return each day's means of its hours."""
    means = []
    for day in days:
        random = np.random.default_rng(day)
        values = random.normal(20.0, 1.0, (24, 2, 5))
        times = day * DAY + (np.arange(48) * 1800.0)
        blocks.add(np.tile(np.arange(5), 48), np.repeat(times, 5), values.ravel())
        blocks.close(lambda: FLEETS)
        means.append(values.mean(axis=1))
    return np.array(means)


def test_a_closed_day_has_the_value_of_its_hours_in_whatever_order_they_came():
    blocks, other = DayBlocks(), DayBlocks()
    means = taken(blocks, range(100, 106))
    want = [day_values(each, FLEETS[0].nearby) for each in means[:4]]

    table = blocks.table()
    assert (table.first, len(table.values)) == (100, 4)
    np.testing.assert_allclose(table.values[:, :5], want)
    taken(other, range(100, 101))
    taken(other, range(102, 103))
    taken(other, range(101, 102))  # a day late is not too late
    taken(other, range(103, 106))
    np.testing.assert_array_equal(other.table().values, table.values)
    assert (blocks.late, other.late) == (0, 0)


def test_old_days_make_room_for_new_ones():
    blocks = DayBlocks()
    taken(blocks, range(100, 102))
    taken(blocks, range(100 + KEPT, 106 + KEPT))

    table = blocks.table()
    assert len(table.values) <= KEPT
    assert table.first + len(table.values) == 104 + KEPT
    assert np.isfinite(table.values[-4:, :5]).all()


def test_what_was_noted_is_there_again_with_the_hours_that_are_open():
    notes: dict[str, bytes] = {}
    blocks, again = DayBlocks(), DayBlocks()
    taken(blocks, range(100, 104))
    blocks.begin_anew([3], 101.5 * DAY)
    notes |= blocks.notes(7.0)
    again.load(lambda name: notes.get(name, b""))

    assert (again.received, again.closed) == (7.0, blocks.closed)
    for each in (blocks, again):
        taken(each, range(104, 107))
    for mine, its in zip(again.table(), blocks.table(), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert again.table().since[3] == 2
