"""The rules of the clock guard: what puts a clock in doubt, what ends it, what may be deleted."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.daemon.clock_guard import (
    ERA_END,
    NEAR_SECONDS,
    PATIENCE_SECONDS,
    PROBATION_SECONDS,
    STEP_SECONDS,
    ClockGuard,
    Stamp,
)

T = 1_790_000_000.0  # a time of 2026
DAY = 86_400.0
YEAR = 365.25 * DAY


class Machine:
    """A guard with the two clocks of its machine; ``right`` is the time it really is."""

    def __init__(self, wrong: float = 0.0, newest: float = -math.inf, right: float = T) -> None:
        self.guard, self.wrong, self.right, self.even = ClockGuard(newest), wrong, right, 50.0
        self.look()

    def look(self) -> float:
        return self.guard.look(self.right + self.wrong, self.even)

    def go(self, seconds: float, wrong: float | None = None) -> float:
        """Let time pass; from then on the wall clock is ``wrong`` by so many seconds."""
        self.right, self.even = self.right + seconds, self.even + seconds
        self.wrong = self.wrong if wrong is None else wrong
        return self.look()

    def hear(self, count: int = 3, delay: float = 1.0, name: str = "a") -> None:
        """Hear so many topics, each with the right time less ``delay``."""
        self.guard.hear([Stamp(f"{name}{at}", self.right - delay) for at in range(count)])


def test_arrivals_alone_are_deleted_by_a_clock_that_the_journal_or_a_day_confirms():
    fresh, again, late = Machine(), Machine(newest=T - 600.0), Machine(newest=T - DAY)
    for machine in (fresh, again, late):
        assert machine.guard.retention_time() is None  # nothing came yet
        machine.guard.hear([Stamp("a", machine.guard.now)])
    assert fresh.guard.retention_time() is late.guard.retention_time() is None
    assert again.guard.retention_time() == T
    assert again.guard.may_expire(3 * DAY)
    assert not late.guard.may_expire(3 * DAY)

    for machine in (fresh, late):
        for _hour in range(24):
            machine.go(3600.0)
        assert machine.guard.retention_time() == T + DAY
        machine.go(0.0, wrong=YEAR)
        assert machine.guard.retention_time() is None


def test_before_the_first_look_nothing_is_judged():
    guard = ClockGuard(T + YEAR)
    guard.hear([Stamp("a", T + 2 * YEAR)])

    assert (guard.doubt, guard.doubts, guard.retention_time()) == ("", 0, None)
    assert not guard.can_be_doubted


def test_a_clock_that_goes_on_is_trusted_and_drifts_freely():
    machine = Machine(newest=T - 100.0)
    for minute in range(200):
        machine.go(60.0, wrong=0.5 * STEP_SECONDS * minute / 10.0)
        assert machine.guard.now == machine.right + machine.wrong
    assert (machine.guard.doubt, machine.guard.doubts) == ("", 0)


@pytest.mark.parametrize("step", [2 * YEAR, DAY, 61.0, -61.0, -DAY, -2 * YEAR])
def test_a_clock_that_jumps_and_comes_back_is_never_followed(step):
    machine = Machine()
    machine.hear()
    for _ in range(5):
        assert machine.go(60.0, wrong=step) == pytest.approx(machine.right)
        machine.hear()
        assert machine.guard.retention_time() is None
        assert not machine.guard.may_expire(0.0)
    assert "jumped" in machine.guard.doubt
    machine.go(60.0, wrong=0.0)

    assert (machine.guard.doubt, machine.guard.doubts) == ("", 1)
    assert machine.guard.may_expire(0.0)


@pytest.mark.parametrize("step", [-2 * YEAR, -DAY, -3600.0, -61.0, 61.0, 3600.0, DAY, 56 * YEAR])
def test_a_clock_that_is_set_right_is_believed_once_messages_agree_with_it(step):
    machine = Machine(wrong=-step)
    machine.guard.doubt = ""  # whatever was at the start
    machine.go(60.0, wrong=0.0)
    assert machine.guard.doubt
    machine.hear()

    assert machine.guard.doubt == ""
    assert machine.guard.now == machine.right


@pytest.mark.parametrize("behind", [NEAR_SECONDS + 10.0, DAY, 56 * YEAR])
def test_messages_ahead_put_a_new_clock_in_doubt_and_it_is_their_time_until_it_is_set(behind):
    machine = Machine(wrong=-behind)
    machine.hear()

    assert machine.guard.doubt
    assert machine.guard.now == pytest.approx(machine.right, abs=2.0)
    for _ in range(10):
        assert machine.go(600.0) == pytest.approx(machine.right, abs=2.0)
        machine.hear()
        assert machine.guard.doubt
    machine.go(1.0, wrong=0.0)
    assert (machine.guard.doubt, machine.guard.doubts) == ("", 1)


def test_a_few_senders_ahead_are_wrong_and_so_are_all_once_the_clock_is_confirmed():
    machine = Machine()
    machine.hear(3)
    machine.hear(2, delay=-DAY, name="wrong")
    assert machine.guard.doubt == ""
    machine.go(PROBATION_SECONDS)
    machine.hear(3)
    machine.hear(50, delay=-DAY, name="wrong")

    assert machine.guard.doubt == ""
    assert not machine.guard.can_be_doubted


def test_one_topic_far_ahead_is_a_mistyped_date_and_no_sign_of_the_time():
    guard = ClockGuard()
    guard.look(T, 0.0)
    guard.hear([Stamp("a", T + 9 * YEAR)], are_accepted=False)
    assert guard.doubt == ""
    guard.hear([Stamp("b", T + 9 * YEAR)], are_accepted=False)
    assert "2 of the last 2 topics are" in guard.doubt

    near = ClockGuard()
    near.look(T, 0.0)
    near.hear([Stamp("a", T + 30 * DAY)], are_accepted=False)
    assert near.doubt


@pytest.mark.parametrize("is_first", [True, False])
def test_one_mistyped_date_does_not_move_the_messages_that_carry_no_time(is_first):
    guard = ClockGuard()
    guard.look(T, 0.0)
    if not is_first:
        guard.hear([Stamp("sensor", guard.now)])
    guard.hear([Stamp("reference", T + DAY)], are_accepted=False)
    assert bool(guard.doubt) == is_first
    guard.hear([Stamp("sensor", guard.now)])
    assert (guard.doubt, guard.now) == ("", T)
    guard.hear([Stamp("reference", T + DAY), Stamp("other", T + DAY)], are_accepted=False)
    assert "2 of the last 2 topics are" in guard.doubt


def voices(machine: Machine, ahead: int, near: int, old: int, order: int = 1) -> str:
    """Let so many topics speak, 13 hours ahead, now or from a backlog; return the doubt."""
    stamps = [Stamp(f"a{at}", T + 13 * 3600.0) for at in range(ahead)]
    stamps += [Stamp(f"n{at}", T - 2.0) for at in range(near)]
    stamps += [Stamp(f"o{at}", T - 3600.0 * (1 + at)) for at in range(old)]
    machine.guard.hear(stamps[::order])
    return machine.guard.doubt


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("ahead", "near", "old", "wanted"),
    [
        (1, 19, 0, ""),
        (9, 11, 0, ""),
        (15, 5, 0, "15 of the last 20 topics are 13 h ahead of it"),
        (15, 5, 40, "15 of the last 20 topics are 13 h ahead of it"),  # a backlog hides no majority
        (1, 0, 19, ""),  # nor is it one: the other topics' fresh messages are still to come
        (1, 0, 1, ""),
        (2, 0, 40, ""),
        (2, 1, 3, "2 of the last 3 topics are 13 h ahead of it"),
        (0, 0, 20, ""),
        (1, 0, 0, "1 of the last 1 topics are 13 h ahead of it"),
    ],
)
def test_a_clock_is_in_doubt_by_a_majority_of_topics_with_fresh_messages(
    ahead, near, old, wanted, order
):
    doubt = voices(Machine(), ahead, near, old, order)
    assert doubt == (wanted and f"this machine's clock is in doubt: {wanted}")


def test_a_sensor_that_is_ahead_in_a_backlog_is_refused_until_the_others_are_fresh():
    machine = Machine()
    for hour in range(20, -1, -1):
        late = [Stamp(f"s{at}", T - 3600.0 * hour - 1.0) for at in range(7)]
        machine.guard.hear([*late, Stamp("zone", T - 3600.0 * (hour - 13))])
        assert machine.guard.doubt == ""
    machine.go(PROBATION_SECONDS)
    machine.hear(7, name="s")
    assert not machine.guard.can_be_doubted


def test_the_first_topic_ahead_has_no_voice_once_others_carry_a_backlog():
    machine = Machine()
    machine.hear(1, delay=-13 * 3600.0, name="zone")
    assert "1 of the last 1 topics are 13 h ahead" in machine.guard.doubt
    machine.hear(1, delay=DAY, name="old")
    assert (machine.guard.doubt, machine.guard.now) == ("", T)

    behind = Machine(wrong=-13 * 3600.0)
    behind.hear(3)
    behind.hear(12, delay=2 * DAY, name="old")
    assert "3 of the last 3 topics are 12 h 59 min ahead" in behind.guard.doubt
    assert behind.guard.now == pytest.approx(T, abs=2.0)


def test_who_agreed_and_then_is_ahead_speaks_not_against_the_clock():
    machine = Machine()
    machine.hear(1)
    machine.hear(1, delay=-400 * DAY)

    assert machine.guard.doubt == ""


@given(st.lists(st.floats(NEAR_SECONDS + 1.0, 80 * YEAR), max_size=80))
def test_recorded_data_neither_raises_a_doubt_nor_ends_one(delays):
    machine, jumped, behind = Machine(), Machine(), Machine(newest=T + DAY)
    jumped.go(1.0, wrong=3 * YEAR)
    before = (jumped.guard.doubt, behind.guard.doubt)
    for at, delay in enumerate(delays):
        for each in (machine, jumped, behind):
            each.hear(1, delay=delay, name=f"old{at}")
    assert machine.guard.doubt == ""
    assert (jumped.guard.doubt, behind.guard.doubt) == before
    assert all(before)


@given(st.lists(st.floats(ERA_END, 1e300) | st.just(math.nan) | st.just(math.inf)))
def test_nonsense_says_nothing(times):
    machine = Machine()
    machine.guard.hear([Stamp(str(at), time) for at, time in enumerate(times)])

    assert machine.guard.doubt == ""
    assert machine.guard.retention_time() is None


def test_a_time_that_is_the_arrival_says_nothing():
    machine = Machine(wrong=-DAY, newest=T)
    doubt = machine.guard.doubt
    machine.hear(9, delay=T - machine.guard.now)

    assert doubt
    assert machine.guard.doubt == doubt


def test_a_start_before_the_newest_arrival_is_in_doubt_until_messages_agree_or_a_day_is_over():
    ahead = Machine(newest=T + DAY)  # the journal is wrong: its clock was ahead
    assert "before the newest message in the journal" in ahead.guard.doubt
    assert ahead.guard.now == T + DAY
    ahead.hear()
    assert (ahead.guard.doubt, ahead.guard.now) == ("", T)

    quiet = Machine(newest=T + 30 * DAY)
    quiet.go(PATIENCE_SECONDS - 1.0)
    assert quiet.guard.doubt
    quiet.go(2.0)
    assert quiet.guard.doubt == ""


def test_a_doubt_lasts_as_long_as_messages_support_it():
    machine = Machine()
    machine.go(1.0, wrong=2 * YEAR)
    for _ in range(50):
        machine.go(0.5 * PATIENCE_SECONDS)
        machine.hear(1)
        assert machine.guard.doubt
        assert machine.guard.now == pytest.approx(machine.right)


def test_no_patience_makes_1970_right():
    machine = Machine(wrong=-T)
    assert "1970-01-01T00:00:00Z" in machine.guard.doubt
    for _ in range(5):
        machine.go(PATIENCE_SECONDS)
        assert machine.guard.doubt
    machine.hear()
    assert machine.guard.doubt
    assert machine.guard.now == pytest.approx(machine.right, abs=2.0)
    machine.go(1.0, wrong=0.0)
    assert machine.guard.doubt == ""


def test_what_arrived_in_a_former_run_waits_until_a_message_agrees_or_for_as_long_again():
    late, quiet = Machine(wrong=2 * YEAR, newest=T - 5.0), Machine(newest=T - 7200.0)
    for machine in (late, quiet):
        assert not machine.guard.may_expire(DAY)
    late.hear()  # their times are two years past, as those of recorded data
    quiet.hear()
    assert not late.guard.may_expire(DAY)
    assert quiet.guard.may_expire(DAY)
    late.go(DAY)
    assert late.guard.may_expire(DAY)
    assert Machine().guard.may_expire(DAY)


def test_retention_counts_from_the_data_not_from_the_clock():
    machine = Machine(wrong=2 * YEAR)
    assert machine.guard.retention_time() is None
    machine.hear(5, delay=10.0)
    assert machine.guard.retention_time() == T - 10.0
    machine.hear(2, delay=-YEAR, name="ahead")
    assert machine.guard.retention_time() == T - 10.0
    machine.hear(2, delay=YEAR)  # an earlier time is not how far they have come
    assert machine.guard.retention_time() == T - 10.0


actions = st.lists(
    st.tuples(
        st.floats(0.0, 3600.0),
        st.sampled_from([0.0, 0.0, 0.0, 30.0, -DAY, DAY, 2 * YEAR, -T]),
        st.integers(0, 4),
        st.floats(0.0, 200.0),
    ),
    max_size=40,
)


@given(actions)
def test_with_honest_senders_time_to_work_with_is_never_wrong_by_more_than_their_delay(life):
    """However the wall clock jumps about, if messages came before the first jump."""
    machine = Machine()
    machine.hear()
    for seconds, wrong, count, delay in life:
        machine.go(seconds, wrong=wrong)
        machine.hear(count, delay=delay)
        assert abs(machine.guard.now - machine.right) <= NEAR_SECONDS
        basis = machine.guard.retention_time()
        assert basis is None or basis <= machine.right


@given(actions, st.floats(-3 * YEAR, 3 * YEAR))
def test_nothing_goes_by_a_time_that_no_message_has_reached(life, wrong):
    machine = Machine(wrong=wrong)
    for seconds, step, count, delay in life:
        machine.go(seconds, wrong=step)
        machine.hear(count, delay=delay)
        basis = machine.guard.retention_time()
        assert basis is None or basis <= machine.right
