"""Transitions for the tests of those who tell them."""

from __future__ import annotations

from typing import NamedTuple

from monitor.alerts.transition import Transition, transition_id


class Calm(NamedTuple):
    """How long a sink is tried."""

    retry_seconds_max: float = 1.0
    give_up_hours: float = 1.0


CALM = Calm()


def transition(seq: int, **more) -> Transition:
    """Return a transition: by default, an offset begins to fire."""
    plain = {
        "id": transition_id(seq, "s", "mass", "offset", "firing", 1_000.0),
        "incident": transition_id(seq, "s", "mass", "offset", "firing", 1_000.0),
        "time": 1_780_000_000.0 + seq,
        "notified": 1_780_000_010.0 + seq,
        "sensor": "s",
        "quantity": "mass",
        "unit": "kg",
        "group": "carts",
        "alert": "offset",
        "before": "ok",
        "after": "firing",
        "sentence": "reads 3 kg heavy",
        "advice": "subtract 3 kg",
        "estimate": 3.0,
        "lower": 2.0,
        "upper": 4.0,
        "estimate_unit": "kg",
        "evidence": 2000.0,
    }
    return Transition(seq=seq, **(plain | more))
