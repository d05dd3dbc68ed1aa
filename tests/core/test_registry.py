"""Rows of series: given once, never reused, and only within the limits."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.registry import WAITS, Limits, Registry, SeriesKey


def registry_of(**limits) -> tuple[Registry, list[tuple[int, SeriesKey]]]:
    """Return a registry and the list of the new series it told of."""
    told: list[tuple[int, SeriesKey]] = []
    return Registry(Limits(**limits), lambda row, key: told.append((row, key))), told


def test_rows_are_given_in_order_and_each_new_series_is_told_once():
    registry, told = registry_of()
    rows = [registry.admit(*name, 0.0) for name in (("a", "x"), ("b", "x"), ("a", "y"), ("a", "x"))]

    assert rows == [0, 1, 2, 0]
    assert told == [(0, ("a", "x")), (1, ("b", "x")), (2, ("a", "y"))]
    assert registry.keys == [("a", "x"), ("b", "x"), ("a", "y")]
    assert (registry.get("a", "y"), registry.get("y", "a"), len(registry)) == (2, None, 3)


names = st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz"))


@given(arrivals=st.lists(names, max_size=60), maximum=st.integers(1, 8))
def test_whatever_comes_a_row_once_given_stays_with_its_series(arrivals, maximum):
    registry, told = registry_of(maximum=maximum)
    given_rows: dict[tuple[str, str], int] = {}
    for name in arrivals:
        known, row = given_rows.get(name), registry.admit(*name, 0.0)
        if known is not None:
            assert row == known
        elif len(given_rows) < maximum:
            given_rows[name] = len(given_rows)
            assert row == given_rows[name]
        else:
            assert row == "series_limit"

    assert [key for _, key in told] == list(given_rows) == registry.keys
    assert all(registry.get(*name) == row for name, row in given_rows.items())


def test_series_beyond_the_maximum_are_refused_and_leave_nothing_behind():
    registry, told = registry_of(maximum=2)
    registry.admit("a", "x", 0.0)
    registry.admit("b", "x", 0.0)
    refused = {registry.admit(f"invented-{at}", "x", 0.0) for at in range(1000)}

    assert refused == {"series_limit"}
    assert registry.admit("b", "x", 0.0) == 1
    assert len(registry) == len(told) == len(registry._rows) == 2


def test_so_many_new_series_a_minute_come_in_at_once_and_the_rest_as_time_passes():
    registry, _ = registry_of(new_per_minute=30)
    fresh = itertools.count()

    def admitted(now: float, tries: int = 100) -> int:
        rows = [registry.admit(f"s{next(fresh)}", "x", now) for _ in range(tries)]
        return sum(isinstance(row, int) for row in rows)

    assert admitted(0.0) == 30
    assert admitted(1.0) == 0
    assert admitted(2.0) == 1  # one in two seconds
    assert admitted(12.0) == 5
    assert admitted(1e9) == 30  # a long silence saves up no more than a minute
    assert admitted(1e9 - 3600.0) == 0
    assert admitted(1e9 - 3590.0) == 5  # a clock that was put back does not lock anybody out


@given(
    pauses=st.lists(st.floats(0.0, 90.0) | st.sampled_from([0.0, 1.0, 6.0]), max_size=120),
    limit=st.integers(1, 20),
)
def test_in_no_stretch_of_time_do_more_come_in_than_the_rate_allows(pauses, limit):
    registry, _ = registry_of(new_per_minute=limit)
    arrivals = list(itertools.accumulate(pauses))
    came_in = [
        time
        for at, time in enumerate(arrivals)
        if isinstance(registry.admit(f"s{at}", "x", time), int)
    ]

    for first, start in enumerate(came_in):
        for count, end in enumerate(came_in[first:], start=1):
            assert count <= limit * (1.0 + (end - start) / 60.0) + 1e-6
    for at, time in enumerate(arrivals):
        if at and time - arrivals[at - 1] > 60.0 / limit + 1e-6:
            assert time in came_in


@pytest.mark.parametrize(
    ("allow", "sensor", "allowed"),
    [
        (("*",), "anything", True),
        (("cart-*",), "cart-03", True),
        (("cart-*",), "scale-1", False),
        (("cart-*", "scale-?"), "scale-1", True),
        (("cart-*", "scale-?"), "scale-10", False),
        (("cart-*",), "CART-03", False),
        (("cart-*",), "my-cart-03", False),
        (("cart-[0-2]",), "cart-2", True),
        (("cart-[0-2]",), "cart-3", False),
        (("a.c",), "abc", False),
        ((), "anything", False),
    ],
)
def test_only_sensors_on_the_allow_list_come_in(allow, sensor, allowed):
    registry, _ = registry_of(allow=allow)

    assert registry.admit(sensor, "x", 0.0) == (0 if allowed else "not_allowed")


def test_who_is_not_allowed_uses_up_none_of_the_rate():
    registry, _ = registry_of(new_per_minute=1, allow=("a*",))
    refused = {registry.admit(f"b{at}", "x", 0.0) for at in range(50)}

    assert refused == {"not_allowed"}
    assert registry.admit("a", "x", 0.0) == 0
    assert registry.admit("a2", "x", 0.0) == WAITS


def test_what_a_journal_knows_comes_in_whatever_the_limits_and_stays_welcome():
    registry, told = registry_of(maximum=1, new_per_minute=1, allow=("nobody",))
    rows = [registry.add(f"s{at}", "x") for at in range(3)]

    assert rows == [0, 1, 2]
    assert [row for row, _ in told] == rows
    assert registry.admit("s2", "x", 0.0) == 2
    assert registry.admit("s3", "x", 0.0) == "not_allowed"


def test_an_evicted_series_comes_back_if_there_is_room_and_never_waits():
    gone = {0, 1, 2}
    registry = Registry(Limits(maximum=2, new_per_minute=1), lambda *_: None, evicted=gone)
    for name in ("a", "b", "c"):
        registry.add(name, "x")

    for name, row in (("a", 0), ("b", 1)):
        assert registry.admit(name, "x", 0.0) == row
        gone.discard(row)
    assert registry.admit("c", "x", 0.0) == "series_limit"
    assert registry.admit_again("c", "x", 0.0) == 2  # a journal restores it: limits were asked


def test_series_that_wait_have_their_places():
    waiting: dict[SeriesKey, dict] = {}
    registry = Registry(Limits(3, 1), lambda *_: None, waiting=waiting)

    assert [registry.admit(name, "x", 0.0) for name in "abcda"] == [
        *(0, WAITS, WAITS),
        *("series_limit", 0),
    ]
    assert registry.is_full
    assert (len(registry), [*waiting]) == (1, [("b", "x"), ("c", "x")])
    assert [registry.is_known(name, "x") for name in "abd"] == [True, True, False]
    assert not registry.may_begin(0.0)
    assert registry.may_begin(60.0)
    del waiting[registry.begin()]
    assert not registry.may_begin(60.0)
    assert registry.get("b", "x") == 1
