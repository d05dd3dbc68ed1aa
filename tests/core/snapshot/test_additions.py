"""What an extension adds to a snapshot."""

from __future__ import annotations

import numpy as np

from monitor.core.snapshot.additions import Added, OwnFindings, with_addition
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
