"""The inbox: rows of bytes beside what numpy finds, and which messages may be acknowledged."""

from __future__ import annotations

import numpy as np
import pytest
from harness.mqtt_packets import publish

from monitor.mqtt.inbox import all_of, inbox_of
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver


@pytest.mark.parametrize("width", [0, 1, 4, 9])
@pytest.mark.parametrize("wrong", [0, 1, 5, 300])
def test_rows_that_are_true_throughout_are_those_that_all_finds(width, wrong):
    chance = np.random.default_rng(wrong)
    rows = np.ones((200, width), dtype=np.bool_)
    rows.reshape(-1)[chance.integers(0, rows.size, wrong if width else 0)] = False

    assert np.array_equal(all_of(rows), rows.all(axis=1))
    assert np.array_equal(all_of(rows[::2]), rows[::2].all(axis=1))


@pytest.mark.parametrize("as_columns", [True, False])
def test_what_came_on_a_former_connection_is_never_acknowledged(as_columns):
    receiver = Receiver(Version.V3_1_1, 300)
    receiver.begin_connection()
    receiver.feed(publish(b"t", b"1", 1, 7, properties=None))
    former = receiver.take()
    former = former if as_columns else list(former)
    assert inbox_of(former, receiver.generation).acknowledgements() == (1, b"\x40\x02\x00\x07")

    receiver.begin_connection()

    assert inbox_of(former, receiver.generation).acknowledgements() == (0, b"")
