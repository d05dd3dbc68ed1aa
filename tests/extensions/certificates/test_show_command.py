"""``monitor certificate show``."""

from __future__ import annotations

from harness.dcc_examples import certificate


def test_what_its_owner_says_counts_before_what_it_says_itself(told):
    said = told(certificate(), "--valid-for", "1d")[2]
    assert "valid until 2026-03-03, as you say, and has expired" in said
    assert "valid until 9026-03-02, as you" in told(certificate(), "--valid-for", "7000 y")[1]
    assert told(certificate(), "--valid-for", "long")[0] == 2
    assert told(certificate(), "--valid-until", "1.3.2027")[0] == 2
