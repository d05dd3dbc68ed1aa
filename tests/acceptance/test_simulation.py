"""The daemon in a world of chance: nothing lost or twice, the same bits; mistakes are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from simulation.broker import Broker, Sent
from simulation.plants import PLANTS
from simulation.world import simulate

PROJECT = Path(__file__).parents[2]
# Where a search for each mistake begins here; a search from seed 0 finds all within 5000.
FIRST = {"stale acknowledgement": 875, "packets forgotten": 140, "poison loop": 2}


def test_lives_lose_nothing_and_end_with_the_bits_of_an_undisturbed_one(request):
    """`make soak` has 20 000 seeds."""
    seeds = request.config.getoption("--lives")
    command = ["-m", "tests.simulation", "--seeds", str(seeds), "--workers", "2"]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, cwd=PROJECT
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{seeds} seeds, 0 with findings")


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_mistake_is_found(plant):
    first = FIRST.get(plant, 0)
    found = next(filter(None, (simulate(seed, plant=PLANTS[plant]) for seed in range(first, 5000))))

    assert found.what


def test_a_life_is_the_same_each_time():
    plant = PLANTS["acknowledge before commit"]

    found = next(filter(None, (simulate(seed, plant=plant) for seed in range(5000))))

    assert simulate(found.seed, plant=plant) == found


def test_the_model_broker_keeps_what_was_not_acknowledged_and_no_more_than_its_window():
    broker = Broker(window=2)
    for number in range(3):
        broker.take(Sent("t", b"%d" % number))
    first = broker.send(9)
    assert first == b"\x32\x07\x00\x01t\x00\x01\x000" + b"\x32\x07\x00\x01t\x00\x02\x001"
    assert broker.send(9) == b""

    broker.hear(b"\x40\x02\x00\x01")
    assert broker.send(9) == b"\x32\x07\x00\x01t\x00\x03\x002"
    broker.begin_connection()
    again = broker.send(9)
    assert again == b"\x3a\x07\x00\x01t\x00\x02\x001" + b"\x3a\x07\x00\x01t\x00\x03\x002"
    broker.restart()
    assert broker.send(9) == b"\x32\x07\x00\x01t\x00\x01\x001" + b"\x32\x07\x00\x01t\x00\x02\x002"
    assert broker.left == 2
