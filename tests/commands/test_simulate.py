"""The command writes what the fleet sends."""

from __future__ import annotations

import argparse

import msgspec
import numpy as np
import pytest

from monitor.commands import simulate
from monitor.errors import MonitorError
from monitor.files import read_stream
from monitor.simulate.carts import CartFleet, hill_yard


def simulated(*given):
    parser = argparse.ArgumentParser()
    simulate.arguments(parser)
    return simulate.run(parser.parse_args(given))


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
def test_the_command_writes_what_the_fleet_sends(tmp_path, layout):
    path = tmp_path / "stream"

    code = simulated("--out", str(path), "--format", layout, "--seconds", "130", "--seed", "5")

    fleet = CartFleet(np.random.default_rng(5), 1_772_344_800.0)
    expected = fleet.step(1_772_344_800.0 + 130.0)
    stream = read_stream(path)
    assert code == 0
    assert msgspec.json.encode(list(stream)) == msgspec.json.encode(expected)
    assert set(stream.units.values()) == {"kg"}


def test_the_command_says_the_truth_when_asked(tmp_path, capsys):
    simulated("--seconds", "1", "--truth", "--controls")

    said = capsys.readouterr()
    assert "cart-03 reads 6.2 kg heavy" in said.err.splitlines()
    assert "control-perfect" in said.err
    assert said.out.startswith("time,sensor,")


def test_the_hill_is_a_stream_of_its_own(tmp_path):
    path = tmp_path / "hill.csv"
    simulated("--hill", "--out", str(path), "--seed", "3", "--seconds", "86400")

    expected = hill_yard(np.random.default_rng(3), 1_772_344_800.0).step(1_772_344_800.0 + 86_400.0)
    assert msgspec.json.encode(list(read_stream(path))) == msgspec.json.encode(expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--interval", "0"), "above 0"),
        (("--start", "2026-03-01T06:00:00"), "has no zone"),
        (("--broker", "localhost:"), "write HOST or HOST:PORT"),
        (("--out", "/nowhere/at/all"), "cannot be written"),
        (("--seed", "-1"), "must be 0 or above"),
        (("--trade", "air"), "--seconds is for the fleet"),
    ],
)
def test_the_command_refuses_what_it_cannot_do(given, said):
    with pytest.raises(MonitorError, match=said):
        simulated("--seconds", "1", *given)
