"""The tables of alarms: each runs in a short form with the page's rows; its judges are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from harness.cases import further

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "evidence" / "detection.md"
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("thresholds", "conventions")]
sys.path.append(str(PROJECT / "benchmarks"))

import alarms_oracle as oracle  # noqa: E402
import alarms_peers as peers  # noqa: E402
import alarms_tried as tried  # noqa: E402
from alarms_streams import FAULTS, HONEST, SHAPES, Fault, classical, faulty  # noqa: E402


@pytest.mark.parametrize(
    "name", ["all-clears", *SLOW, *further("still-wrong", "incidents", "intervals")]
)
def test_a_table_in_its_short_form_has_the_pages_columns_and_rows(name):
    command = [sys.executable, "benchmarks/alarms.py", "--share", "0.01", "--table", name]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, text=True)

    assert _shape(done.stdout) == _shape(_written(f"alarms-{name}"))


def test_every_table_of_the_page_is_filled():
    for name in re.findall(r"<!-- table ([a-z-]+) -->", PAGE.read_text("utf-8")):
        assert len(_shape(_written(name))[1]) >= 3, name


def _written(name: str) -> str:
    return PAGE.read_text("utf-8").split(f"<!-- table {name} -->")[1].split("<!-- end")[0]


def _shape(text: str) -> tuple[str, list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return lines[0], [line.split("|")[1] for line in lines[2:]]


@pytest.mark.parametrize("name", HONEST)
def test_honest_sensors_are_as_right_as_they_say(name):
    make, _ = HONEST[name]
    s = make(np.random.default_rng(5), (400, 1200))
    z = (s.value - s.reference) / np.hypot(np.where(np.isnan(s.u), s.half / 1.645, s.u), s.u_ref)

    assert abs(z.mean()) < 0.1
    assert 0.85 < (z * z).mean() < 1.15


def test_a_cusum_is_what_page_defined():
    steps = np.random.default_rng(1).normal(-0.1, 1.0, (3, 200))
    wanted, total = np.empty_like(steps), np.zeros(3)
    for at in range(200):
        total = np.maximum(0.0, total + steps[:, at])
        wanted[:, at] = total

    np.testing.assert_allclose(peers.cusum(steps), wanted, atol=1e-12)


def test_shiryaev_roberts_is_the_recursion():
    steps = np.random.default_rng(2).normal(-0.1, 1.0, (3, 200))
    wanted, total = np.empty_like(steps), np.zeros(3)
    for at in range(200):
        total = (1.0 + total) * np.exp(steps[:, at])
        wanted[:, at] = total

    np.testing.assert_allclose(np.exp(peers.shiryaev_roberts(steps)), wanted, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["offset 1 u", "sd x 2", "sd / 2", "drift 0.01 u a pair"])
def test_the_oracles_statistic_less_the_pairs_is_a_martingale(shape, name):
    rng = np.random.default_rng(3)
    z, truth = SHAPES[shape](rng, (20_000, 6)), 3.0 * rng.standard_normal((20_000, 6))
    ratio = np.exp(oracle.log_statistic(shape, FAULTS[name], z, truth))

    error = 4.5 * ratio.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(ratio.mean(axis=0) - np.arange(1.0, 7.0)) < np.maximum(error, 0.02)).all()


def test_the_oracle_is_no_slower_than_a_peer_at_the_same_rate():
    rng, fault = np.random.default_rng(4), Fault(offset=1.0)
    most = oracle.limit("normal", fault, 5000.0, rng, 300)
    blocks = [rng.standard_normal((200, 4000))]
    limit = peers.limits(peers.bank, blocks, 5000.0)
    s = faulty(fault, classical(SHAPES["normal"])(rng, (300, 400)), 100, rng)
    known = oracle.first_alarms("normal", fault, s.z, s.z, most)
    charted = peers.first_beyond(peers.bank, limit, s.z)

    assert known[known >= 100].mean() < charted[charted >= 100].mean()


def test_ranks_count_only_where_the_detector_is_pending():
    rng = np.random.default_rng(13)
    honest = classical(SHAPES["t4"])(rng, (20, 500))
    shifted = faulty(Fault(offset=1.0), honest, 400, rng)

    assert np.median(tried.ranks(honest)[-1]) == 0.0
    assert np.median(tried.ranks(shifted)[-1]) > tried.PATIENCE
