"""Sentences about single sensors that do not pair while others do."""

from __future__ import annotations

from monitor.core.pairing.unpaired import Unpaired
from monitor.core.pairing.unpaired_members import Member
from monitor.explain.doctor_members import member_findings, standing_out


def test_the_first_three_are_described_and_ten_of_the_others_named():
    members = [Member("mass", f"s{at}", "subject", readings=at) for at in range(15)]

    *first, rest = member_findings(members)

    assert [line.partition(" has no pair (")[0] for line in first] == [
        f"mass: 's{at}'" for at in range(3)
    ]
    names = ", ".join(f"'s{at}'" for at in range(3, 13))
    assert rest == f"mass: the same of 12 more: {names}, ..."


def test_a_clock_that_is_whole_hours_off_is_asked_about_its_time_zone():
    one = Member("mass", "s", "clock", paired=3, late_seconds=-46_798.0, usual_seconds=2.0)
    (line,) = member_findings([one])
    assert "13 h shorter than for the other sensors: is its clock 13 h fast?" in line
    assert line.endswith("That is 13 h: is a time zone wrong?")


def test_what_is_told_of_a_whole_quantity_is_not_told_of_each_sensor():
    members = [Member("mass", "a", "subject"), Member("mass", "b", "key")]
    whole = Unpaired("mass", "subject", 2, 1, 0)
    assert standing_out(members, [whole]) == members[1:]
