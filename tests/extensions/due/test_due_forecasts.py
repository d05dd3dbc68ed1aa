"""Forecasts of due dates for a network."""

from __future__ import annotations

import numpy as np

from monitor.core.model import Reading, Reference
from monitor.core.steps import finish
from monitor.extensions.due.due_forecasts import DueForecasts, due_dates_in
from tests.core.state.test_network import Shell
from tests.extensions.due.test_due_dates import RULES


def test_a_pair_that_is_voided_between_two_steps_leaves_the_others_their_dates():
    """Seventy series take several steps; the last one loses its only pair meanwhile."""
    count, ended = 70, object()
    for steps in range(40):
        shell = Shell(RULES, maximum=count, additions=(DueForecasts,))
        for at in range(count):
            name, identity = f"s{at:03}", f"r{at}"
            told = [Reading(name, "t", 1.7e9, 10.0, 1.0)]
            told.append(Reference(name, "t", 1.7e9, 10.2, 0.1, identity=identity, revision=0))
            shell.take(told)
        work = shell.network.steps(1.7e9 + 1.0)
        if ended in [next(work, ended) for _ in range(steps)]:
            return
        void = Reference(name, "t", 1.7e9, np.nan, identity=identity, revision=1, void=True)
        shell.take([void])
        dates = due_dates_in(finish(work))
        assert np.isfinite(dates.out[:-1]).all()
    raise AssertionError("the work has more steps than were tried")
