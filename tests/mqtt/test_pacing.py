"""How much is let gather, against brokers that send so many messages at a time."""

from __future__ import annotations

import itertools

import pytest

from monitor.mqtt.pacing import Coalescing

BYTES = 100.0
MOST = 5000


class PaperBroker:
    """Has no end of messages and sends ``portion`` of them until they are acknowledged."""

    def __init__(self, portion: int) -> None:
        self.portion = portion
        self.in_vain = 0

    def serve(self, coalescing: Coalescing, reads: int) -> int:
        """Let so many reads be; return how many messages they had."""
        taken = 0
        for _ in range(reads):
            there = self.portion * BYTES
            if coalescing.again_bytes and there >= coalescing.again_bytes:
                coalescing.came_again()
            was_enough = there >= coalescing.enough_bytes
            self.in_vain += not was_enough
            coalescing.took(self.portion, BYTES, was_enough=was_enough)
            taken += self.portion
        return taken


@pytest.mark.parametrize("portion", [1, 3, 10, 20, 32, 100, 1000])
@pytest.mark.parametrize("usual", [MOST, 20])
def test_a_broker_that_sends_little_at_a_time_is_waited_for_in_vain_hardly_ever(portion, usual):
    broker = PaperBroker(portion)

    broker.serve(Coalescing(MOST, usual, 1 << 19), 2000)

    assert broker.in_vain < 8


def test_a_broker_that_sends_more_than_before_is_seen_to():
    coalescing, broker = Coalescing(MOST, MOST, 1 << 30), PaperBroker(32)
    broker.serve(coalescing, 100)
    assert coalescing.enough_bytes < 32 * BYTES

    broker.portion = 1000
    broker.serve(coalescing, 3)

    assert 500 * BYTES < coalescing.enough_bytes < 1000 * BYTES


def test_what_comes_slowly_is_waited_for_as_ever():
    coalescing = Coalescing(MOST, MOST, 1 << 30)
    for _ in range(200):
        coalescing.took(20, BYTES, was_enough=False)  # a hundred a second, and nothing at once

    assert coalescing.enough_bytes == 0.8 * MOST * BYTES


def test_what_comes_slowly_is_asked_after_ever_more_seldom():
    coalescing, asked = Coalescing(MOST, MOST, 1 << 30), []
    for at in range(1000):
        coalescing.took(20, BYTES, was_enough=False)
        if coalescing.again_bytes:
            asked.append(at)
            assert coalescing.again_bytes == 10 * BYTES

    assert asked[:5] == [0, 2, 6, 14, 30]
    assert max(later - one for one, later in itertools.pairwise(asked)) == 64


def test_now_and_then_it_is_seen_whether_more_comes_and_ever_more_seldom():
    coalescing, broker = Coalescing(MOST, MOST, 1 << 30), PaperBroker(32)
    probes = []
    for at in range(20_000):
        before = broker.in_vain
        broker.serve(coalescing, 1)
        if broker.in_vain > before:
            probes.append(at)

    gaps = [later - one for one, later in itertools.pairwise(probes)]
    assert gaps == sorted(gaps)
    assert 4 < len(probes) < 16


def test_no_more_is_waited_for_than_a_buffer_holds_and_never_nothing():
    coalescing = Coalescing(MOST, MOST, 1000)
    assert coalescing.enough_bytes == 1000
    coalescing.took(9, BYTES, was_enough=True)
    assert coalescing.enough_bytes == 1000
    small = Coalescing(1, 1, 1000)
    small.took(1, 1.0, was_enough=True)
    assert small.enough_bytes == 1
