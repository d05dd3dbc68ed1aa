"""What an extension adds to a snapshot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from monitor.core.snapshot.additions import Added, OwnFindings, Remark, with_addition
from tests.core.state.test_network import Shell, stream


def test_an_addition_replaces_numbers_of_its_name_and_leaves_the_snapshot_that_was():
    shell = Shell()
    shell.take(stream("a", 30, 1))
    before = shell.network.evaluate(0.0)
    statistics, name = dict(before.statistics), next(iter(before.statistics))
    findings, own = OwnFindings(), {name: np.array([7.0]), "due_seconds": np.array([8.0])}

    after = with_addition(before, "due", Added(findings, own, {"due_seconds": "Time left."}))

    assert dict(after.statistics) == statistics | own
    assert dict(after.helps) == dict(before.helps) | {"due_seconds": "Time left."}
    assert after.additions == {"due": findings}
    assert dict(before.statistics) == statistics
    assert (findings.document(after, 0), findings.fragments(after, 0)) == ({}, ("", ""))


def test_a_remark_ends_the_verdict_everywhere_and_only_of_series_that_send():
    shell = Shell()
    for name, shift in (("wrong", 40.0), ("right", 0.0)):
        shell.take(stream(name, 60, 1, shift))
    before = shell.network.evaluate(0.0)
    rows = {name.sensor: row for row, name in enumerate(before.names)}
    wrong, right = rows["wrong"], rows["right"]
    assert before.reports.keys() == {wrong}
    remarks = {wrong: Remark("it rains", "wait"), right: Remark("it snows"), 9: Remark("hail")}

    after = with_addition(before, "sky", Added(OwnFindings(), remarks=remarks))

    assert after.sentences[wrong] == f"{before.sentences[wrong]}; it rains"
    assert after.verdict(wrong).sentence == f"{before.verdict(wrong).sentence}; it rains"
    assert (after.advice[wrong], after.verdict(wrong).advice) == ("wait", "wait")
    assert after.verdict(right).sentence == f"{before.sentences[right]}; it snows"
    assert after.verdict(right).advice == before.advice[right] == ""
    gone = replace(before, withdrawn=np.ones(2, dtype=np.bool_))
    assert (
        with_addition(gone, "sky", Added(OwnFindings(), remarks=remarks)).sentences
        == before.sentences
    )
