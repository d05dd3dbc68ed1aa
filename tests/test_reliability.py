"""The trials find nothing, in their smallest share; they and the checker would find something."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from harness.publishing import Publishing, round_of
from reliability.attacks import ATTACKS
from reliability.catalogue import CATALOGUE
from reliability.document import GOALS, SHOWN_BY, catalogues, document
from reliability.histories import history
from reliability.records import all_recorded, joined, keep, kept, record_all, recorded
from reliability.shares import SHARES
from reliability.syscalls import Order, order
from reliability.trials import TRIALS, Found

TESTS = Path(__file__).parent
# The suite runs these tests by themselves.
ELSEWHERE = {"suites", "seeds", "inputs", "numerics"}


@pytest.mark.parametrize("name", sorted(TRIALS.keys() - ELSEWHERE))
def test_a_trial_finds_nothing(name, tmp_path):
    for found in TRIALS[name](SHARES["smallest"], tmp_path):
        if found.goal not in ("R6", "R10", "R12", "R13"):  # these are about time
            assert found.holds, found


EVERY = {row.failure: row.shown_by for row in (*CATALOGUE, *ATTACKS)} | SHOWN_BY


@pytest.mark.parametrize("name", EVERY)
def test_what_shows_a_row_of_the_catalogue_is_there(name):
    assert EVERY[name]
    for shown in EVERY[name]:
        if shown.startswith("trial "):
            assert shown.removeprefix("trial ") in TRIALS
            continue
        file, _, test = shown.partition("::")
        assert re.search(
            rf"^def {test}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE
        )


def test_every_goal_has_a_row_on_the_page_and_every_attack_too():
    page = (TESTS.parent / "docs" / "evidence" / "reliability.md").read_text(encoding="utf-8")

    assert page == document(all_recorded())
    assert page.endswith("".join(catalogues()))
    assert not [
        goal for goal, meaning in GOALS.items() if f"| **{goal}** | **{meaning}**" not in page
    ]
    assert all(f"| **{goal}** |" in document([]) for goal in SHOWN_BY)


def test_a_trial_that_is_broken_off_goes_on_after_the_portions_that_are_done(tmp_path):
    folder = tmp_path / "full"
    first, second = (
        recorded("seeds", "full", [Found("R5", "lives", held, 10, "the same bits")])
        for held in (10, 9)
    )
    keep(first, folder, " 1 of 2")
    assert kept("seeds", folder, " 1 of 2") == first
    assert kept("seeds", folder, " 2 of 2") is None
    assert kept("seeds", folder) is None

    both = joined([first, msgspec.structs.replace(second, commit="abc", load=99.0)])
    assert both.found == [Found("R5", "lives", 19, 20, "the same bits")]
    assert (both.commit, both.load) == (f"{first.commit}, abc", 99.0)
    whole = SHARES["full"]
    assert [each.portion for each in whole.each_portion()] == list(range(whole.portions))
    assert (whole.portions * whole.seeds, whole.portions * whole.inputs) == (20_000, 10_000_000)


def test_what_a_trial_found_is_kept_and_is_on_the_page_with_its_commit(tmp_path):
    found = [Found("R1", "7 kills", 5, 5, "0 lost"), Found("R6", "7 kills", 6, 7, "longest 3 s")]
    record = recorded("kills", "full", found)
    assert kept("kills", tmp_path / "full") is None

    keep(record, tmp_path / "full")

    assert kept("kills", tmp_path / "full") == record
    assert [each.holds for each in record.found] == [True, False]
    page = document([record])
    assert "| | 7 kills | 6 of 7 | longest 3 s |" in page
    assert f"| kills | full | {record.commit} | {record.day} |" in page


def test_a_trial_that_is_run_anew_takes_the_place_of_its_last_run(tmp_path):
    first = [recorded(name, "ci", []) for name in ("cuts", "kills")]
    again = recorded("cuts", "full", [Found("R1", "9 cuts", 9, 9, "0 lost")])
    file = tmp_path / "records.json"

    assert record_all(first, file) == first[::-1]
    assert record_all([again], file) == [first[1], again] == all_recorded(file)


SETTINGS = """
journal: {{path: "{folder}/journal.sqlite"}}
pairing: {{mode: nearest, tolerance_seconds: 5}}
windows: {{pairs: 100}}
"""


def test_the_checker_sees_what_is_lost_and_what_nobody_sent(tmp_path):
    from reliability.histories import _assembled

    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS.format(folder=tmp_path), encoding="utf-8")
    parts = _assembled(settings, None)
    parts.intake.commit(parts.intake.prepare([*round_of(0), *round_of(1)[2:], *round_of(7)], 1.8e9))
    parts.journal.close()
    publishing = Publishing(0, 1.0)
    publishing.acknowledged, publishing.begun = [0, 1], 3
    left = history(settings, publishing, tmp_path)

    assert (left.promised, left.lost, left.doubled, left.strange) == (14, 1, 0, 7)
    assert not left.holds


def packet(first: int, body: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in bytes((first, len(body))) + body)


def test_the_trace_tells_an_acknowledgement_that_comes_too_early(tmp_path):
    come = [packet(0x32, b"\0\1t" + bytes((0, name)) + b"\0{}") for name in (1, 2, 3)]
    gone = [packet(0x40, bytes((0, name))) for name in (1, 2, 3)]
    trace = tmp_path / "trace"
    trace.write_text(
        f'7 recvfrom(5, "{packet(0x20, bytes(3))}", 65536, 0, NULL, NULL) = 5\n'
        f'7 sendto(6, "{gone[2]}", 4, 0, NULL, 0) = 4\n'
        f'7 recvfrom(5, "{come[0]}{come[1][:12]}", 65536, 0, NULL, NULL) = 9\n'
        "7 fdatasync(4 <unfinished ...>\n"
        '8 write(9, "\\x00", 1) = 1\n'
        "7 <... fdatasync resumed>) = 0\n"
        "7 recvfrom(5,  <unfinished ...>\n"
        f'7 <... recvfrom resumed>"{come[1][12:]}{come[2]}", 65536, 0, NULL, NULL) = 9\n'
        f'7 sendto(5, "{gone[0]}{gone[1]}{gone[2]}", 12, 0, NULL, 0) = 12\n',
        encoding="ascii",
    )

    assert order(trace) == Order(acknowledged=3, early=2)
