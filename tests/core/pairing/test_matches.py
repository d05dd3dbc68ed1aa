"""Matches as columns, against a dictionary."""

from __future__ import annotations

import math
from collections import namedtuple

from hypothesis import given
from hypothesis import strategies as st

from monitor.core.pairing.identities import pack_rows
from monitor.core.pairing.matches import Matches

# Few times, so that ties come often; an identity is of one time, as a reference is.
NAMES = [(float(number // 3), 1_000 + 7 * number % 12) for number in range(12)]
names = st.sampled_from(NAMES)
Step = namedtuple("Step", "kind name pairs others")  # noqa: PYI024 - hypothesis fills it
steps = st.builds(
    Step, st.sampled_from(["put", "freeze", "drop"]), names, st.integers(1, 3), st.sets(names)
)


def packed(name: tuple[float, int], count: int) -> bytes:
    rest = (*[math.nan] * 6, 0.5, 0.0, name[1], math.nan, False)
    return pack_rows([(3, at, name[0] + at, *rest) for at in range(count)])


@given(st.lists(steps, max_size=30))
def test_they_hold_what_a_dictionary_holds(came):
    matches, expected = Matches(), {}
    for number, step in enumerate(came):
        if step.kind == "put":
            body = packed((step.name[0] + number, step.name[1]), step.pairs)
            matches.put(*step.name, body)
            expected[step.name] = body, expected.get(step.name, (b"", False))[1]
        elif step.kind == "freeze" and step.name in expected:
            matches.freeze(step.name[1])
            expected[step.name] = expected[step.name][0], True
        elif step.kind == "drop":
            matches.drop([step.name, *sorted(step.others - {step.name})])
            for name in {step.name, *step.others}:
                expected.pop(name, None)

    assert len(matches) == len(expected)
    for name in NAMES:
        held, known = matches.get(*name), expected.get(name)
        assert (held is None) == (known is None)
        if held is not None:
            assert (held.packed, held.frozen) == known
            assert len(held) == len(held.rows) == len(known[0]) // 105
            assert held.time == held.rows[0][2]
