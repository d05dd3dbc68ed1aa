"""Checkpoints from further back than the rings reach."""

from __future__ import annotations

from monitor.core.detector.full_replays import EACH, Checkpoint, FarCheckpoints


def test_the_last_before_a_time_is_found_and_those_after_it_are_gone():
    far = FarCheckpoints()
    for time in (10.0, 20.0, 30.0):
        far.add(4, Checkpoint(time, 1, b"s"))

    assert far.before(4, 30.0) == Checkpoint(20.0, 1, b"s")  # the pair at 30 s changed
    assert far.before(4, 1e9) == Checkpoint(20.0, 1, b"s")
    assert far.before(4, 5.0) is None
    assert far.before(4, 1e9) is None
    assert far.before(5, 1e9) is None


def test_the_newest_few_of_a_series_stay():
    far = FarCheckpoints()
    for time in range(EACH + 3):
        far.add(0, Checkpoint(float(time), 1, b""))

    assert far.before(0, 3.5) == Checkpoint(3.0, 1, b"")
    assert far.before(0, 3.0) is None


def test_beyond_the_bytes_allowed_the_series_that_asked_longest_ago_go():
    far = FarCheckpoints(bytes_max=100)
    for row in range(4):
        far.add(row, Checkpoint(1.0, 1, bytes(25)))
    assert far.before(0, 9.0) is not None
    far.add(7, Checkpoint(1.0, 1, bytes(25)))

    assert [row for row in (0, 1, 2, 3, 7) if far.before(row, 9.0)] == [0, 2, 3, 7]
    far.forget(0)
    far.add(8, Checkpoint(1.0, 1, bytes(25)))
    assert [row for row in (0, 1, 2, 3, 7, 8) if far.before(row, 9.0)] == [2, 3, 7, 8]


def test_what_is_larger_than_allowed_is_not_kept():
    far = FarCheckpoints(bytes_max=10)
    far.add(0, Checkpoint(1.0, 1, bytes(25)))

    assert far.before(0, 9.0) is None
