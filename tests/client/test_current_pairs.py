"""Pairs in force, asked of a daemon."""

from __future__ import annotations

import json

from monitor.client.current_pairs import current_pairs
from monitor.config import parse
from tests.client.test_client import answering


def test_pairs_that_a_daemon_does_not_give_are_noted():
    names = {"time": 1.0, "value": 2.0, "u": 1.0, "lower": 0.0, "upper": 4.0, "p": 0.9}
    names |= {"stated_by": "u"}
    pair = names | {"reference": 2.0, "u_ref": 0.0, "crps_stated": None, "reference_time": 1.0}
    pair |= {"subject": "", "identity": "", "key": "k"}
    series = {"sensor": "a", "quantity": "mass", "unit": "kg"}
    page = {"series": [series], "pages": 1, "pairs": [pair]}
    notes = []
    for total in (1, 7000):
        with answering(200, json.dumps(page | {"total": total}).encode()) as client:
            notes.append(current_pairs(parse(b"{}", "settings.yaml"), client).notes[1:])

    said = "of 1 series that has more than 5000 pairs in the window, only the last 5000 are here"
    assert notes == [(), (said,)]


def test_a_daemon_that_has_heard_nothing_answers_with_no_pairs(tmp_path):
    settings = parse(f'journal: {{path: "{tmp_path}/none"}}'.encode(), "settings.yaml")
    with answering(200, b'{"series": [], "pages": 1}') as client:
        found = current_pairs(settings, client)

    assert (found.names, found.pairs.size) == ((), 0)
