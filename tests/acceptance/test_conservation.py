"""Every message is accounted for at every commit, in the running daemon too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.daemon.intake import Counts
from tests.daemon.test_intake import START, assembled, said, take

reading = said("reading", "a", START, value=1.0, u=0.5)
reference = said("reference", "a", START, value=1.0, u=0.1)
MESSAGES = {
    "reading": reading,
    "reference": reference,
    "another": said("reading", "b", START + 1.0, value=2.0, u=0.5),
    "future": said("reading", "a", START + 9e6, value=1.0, u=0.5),
    "not allowed": said("reading", "x1", START, value=1.0, u=0.5),
    "garbage": reading._replace(payload=b"\xff{"),
    "nowhere": reading._replace(topic="no/where"),
    "event": said("event", "a", START, event="moved"),
}


@given(batches=st.lists(st.lists(st.sampled_from(sorted(MESSAGES)), max_size=12), max_size=6))
@settings(deadline=None, max_examples=25)
def test_what_is_received_is_committed_duplicate_or_rejected(batches, tmp_path_factory):
    parts = assembled(tmp_path_factory.mktemp("journal"))
    sent = 0
    for names in batches:
        take(parts, *(MESSAGES[name] for name in names))
        sent += len(names)
        totals = parts.journal.totals()
        rejected = sum(n for name, n in totals.items() if name.startswith("rejected."))
        assert totals["received"] == sent
        assert sent == totals["committed"] + totals["duplicate"] + rejected
    parts.journal.close()


@pytest.mark.parametrize("lost", ["received", "committed", "duplicate"])
def test_a_miscount_ends_the_work_before_anything_is_committed(lost, tmp_path: Path):
    parts = assembled(tmp_path)
    take(parts, reading)
    before = parts.journal.totals(), len(list(parts.journal.observations()))
    setattr(parts.intake.counts, lost, getattr(parts.intake.counts, lost) + 1)
    with pytest.raises(AssertionError, match=r"messages received but \d+ accounted for"):
        take(parts, reference)
    assert (parts.journal.totals(), len(list(parts.journal.observations()))) == before
    parts.journal.close()


def test_after_a_miscount_the_same_messages_count_once_in_the_next_life(tmp_path: Path):
    """The process ends without an acknowledgement; the broker sends them again."""
    parts = assembled(tmp_path)
    take(parts, reading)
    parts.intake.counts.committed += 1
    with pytest.raises(AssertionError, match="please report this"):
        take(parts, reference, MESSAGES["garbage"])
    parts.journal.close()
    parts = assembled(tmp_path)
    take(parts, reference, MESSAGES["garbage"])
    totals = parts.journal.totals()
    assert (totals["received"], totals["committed"], totals["rejected.bad_payload"]) == (3, 2, 1)
    assert len(parts.journal.pairs()) == 1
    parts.journal.close()


def test_counters_that_do_not_add_up_are_not_taken_over_in_silence():
    counts = Counts({"received": 3, "committed": 1, "rejected.future": 1})
    with pytest.raises(AssertionError, match="3 messages received but 2 accounted for"):
        counts.check()
