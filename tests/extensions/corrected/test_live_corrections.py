"""What applies to readings now: moved once by each pair, in any pieces, and back from its notes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitor.core.model import PAIR, Records
from monitor.core.verdict import Remedy
from monitor.extensions.corrected.corrected import AS_SENT, Amendment, in_words
from monitor.extensions.corrected.live_corrections import LiveCorrections
from tests.core.verdict.test_words import followed

N = 3000
SUBTRACT = Remedy("add", add=-3.0)


def made(error: np.ndarray, series: int = 0, first: int = 0) -> Records:
    rows = np.zeros(error.size, PAIR)
    rows["series"], rows["id"] = series, np.arange(first, first + error.size) + 1
    rows["time"] = 60.0 * np.arange(first, first + error.size)
    rows["reference"], rows["value"], rows["u"] = 100.0, 100.0 + error, 1.0
    for name in ("lower", "upper", "p", "crps"):
        rows[name] = np.nan
    return rows


def nothing(_row: int) -> Remedy | None:
    return None


def drifting(n: int = N) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(n) + np.linspace(0.0, 4.0, n)


@pytest.mark.slow
def test_the_interval_follows_a_plain_rule_and_holds_its_level():
    live, factor, hits = LiveCorrections(0.9), 1.6448536269514722, []
    for at, error in enumerate(drifting().tolist()):
        assert live.now(np.array([0])).factor[0] == pytest.approx(factor, rel=1e-9)
        hits.append(abs(error) <= factor)
        factor *= math.exp(0.1 * (0.9 if abs(error) > factor else -0.1))
        live.follow(made(np.array([error]), first=at), nothing)

    sums = np.concatenate([[0], np.cumsum(hits)])
    shares = (sums[1000:] - sums[:-1000]) / 1000
    assert shares.min() >= 0.88
    assert shares.max() <= 0.92
    assert live.coverage(1)[0] == pytest.approx(shares[-1])


@pytest.mark.parametrize("pieces", [2, 7, 400])
def test_pieces_and_restarts_do_not_change_a_bit(pieces):
    error = 3.0 + np.random.default_rng(9).standard_normal(500)
    kept: dict[str, bytes] = {}

    for part in np.array_split(np.arange(500), pieces):
        live = restarted(kept)
        kept |= live.follow(made(error[part], first=int(part[0])), lambda _row: SUBTRACT)

    assert kept == LiveCorrections(0.9).follow(made(error), lambda _row: SUBTRACT)


def restarted(kept: dict[str, bytes], level: float = 0.9) -> LiveCorrections:
    live = LiveCorrections(level)
    live.load(lambda name: kept.get(name, b""), 1)
    return live


def test_a_pair_moves_it_once_and_late_or_removed_ones_do_not():
    live = LiveCorrections(0.9)
    first = made(drifting(100))
    live.follow(first, nothing)
    before = live.now(np.array([0])).factor.tolist()

    assert live.follow(first, nothing) == {}  # delivered, or revised, again
    assert live.follow(made(np.array([50.0]), first=20), nothing) == {}
    gone = made(np.array([50.0]), first=200)
    gone["removed"] = True
    assert live.follow(gone, nothing) == {}

    assert live.now(np.array([0])).factor.tolist() == before


def test_the_remedy_of_an_alert_applies_until_it_ends():
    live = LiveCorrections(0.9)
    random = np.random.default_rng(5)
    assert live.amendment(0) == AS_SENT
    assert live.sentence(0, "kg", "u") == ""

    live.follow(made(3.0 + random.standard_normal(50)), lambda _row: SUBTRACT)
    assert live.amendment(0) == Amendment(intercept=-3.0)
    assert live.now(np.array([0])).intercept.tolist() == [-3.0]
    assert live.sentence(0, "kg", "u").startswith("subtract 3 kg; 1.6 u to either side held ")
    assert "; 1.6 times the u that its interval implies to" in live.sentence(0, "kg", "interval")

    live.follow(made(random.standard_normal(1), first=50), nothing)
    assert live.amendment(0) == AS_SENT


@pytest.mark.parametrize("seed", range(5))
def test_followed_to_the_letter_its_words_do_what_is_done(seed):
    """Whatever the size of values and u, to a tenth of u."""
    random = np.random.default_rng(seed)
    u = 10.0 ** random.uniform(-3, 1)
    value = random.uniform(0.0, 1e5) * u * np.ones(1)
    amendment = Amendment(random.uniform(-1e3, 1e3) * u, random.uniform(-2.0, 2.0), 1.0)

    said = in_words(amendment, "Pa", "u")

    corrected, wide = followed(said, value, np.array([u]))
    assert abs(corrected - amendment.value(value)) < 0.1 * u * max(1.0, abs(amendment.slope))
    assert wide == pytest.approx(amendment.u(np.array([u])), rel=0.01)


@pytest.mark.parametrize(
    ("spread", "what"),
    [
        ("u", "its u"),
        ("interval", "the width of its interval"),
        ("members", "the distance of its members from their mean"),
    ],
)
def test_what_is_multiplied_is_what_the_sensor_states(spread, what):
    assert in_words(Amendment(2.0, 1.0, 1.5), "K", spread) == f"add 2 K and multiply {what} by 1.5"


def test_another_level_begins_anew_and_keeps_the_remedy():
    error = 3.0 + np.random.default_rng(5).standard_normal(50)
    kept = LiveCorrections(0.9).follow(made(error), lambda _row: SUBTRACT)

    other = restarted(kept, level=0.5)

    assert other.amendment(0) == Amendment(intercept=-3.0)
    assert other.now(np.array([0])).factor[0] == pytest.approx(0.6744897501960817)
    assert np.isnan(other.coverage(1)).all()


def test_each_of_many_series_has_its_own():
    live = LiveCorrections(0.9)
    both = np.concatenate([made(drifting(100), 0), made(9.0 * drifting(100), 70)])
    notes = live.follow(both[np.random.default_rng(1).permutation(200)], nothing)

    assert set(notes) == {"corrections.0", "corrections.1"}
    alone = LiveCorrections(0.9)
    alone.follow(made(drifting(100)), nothing)
    found = live.now(np.array([0, 1, 70]))
    assert found.factor[0] == alone.now(np.array([0])).factor[0]
    assert found.is_known.tolist() == [True, False, True]
    assert found.factor[2] > found.factor[0]
