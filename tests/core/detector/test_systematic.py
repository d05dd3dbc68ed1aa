"""Detection of sensors of which a part of the uncertainty is systematic, and declared so.

An honest sensor has one constant error for life, drawn from N(0, s^2), and errors by chance of
variance 1 - s^2, both in units of what it states.
"""

from __future__ import annotations

import numpy as np
import pytest
from harness.cases import further
from scipy import stats

from monitor.core.detector import e_values
from monitor.core.detector.detector import Detector
from monitor.core.detector.lifecycle import STATES
from monitor.core.detector.scales import Ceilings
from monitor.core.detector.whitening import Whitening
from monitor.core.model import PAIR, Records
from monitor.core.pairing.series_rules import SeriesRules, Systematic
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

S = float(np.sqrt(0.3))  # 30 % of u^2
CHANCE = float(np.sqrt(1.0 - S * S))
MOST = 2.0 * S  # what systematic effects account for
SHARES = [0.2, S, 0.8]
SHAPES = {
    "normal": stats.norm(),
    "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
    "logistic": stats.logistic(scale=np.sqrt(3) / np.pi),
    "Laplace": stats.laplace(scale=np.sqrt(0.5)),
    "t4": stats.t(4, scale=np.sqrt(0.5)),
    "exponential": stats.expon(loc=-1),
    "lognormal": stats.lognorm(0.5, loc=-1, scale=np.exp(-0.125)),
}


def draws(shape: str, size: tuple[int, int], seed: int) -> np.ndarray:
    frozen = SHAPES[shape]
    drawn = frozen.rvs(size, random_state=np.random.default_rng(seed))
    return (drawn - frozen.mean()) / frozen.std()


def means(shape: str, bias: float, spread: float, share: float) -> np.ndarray:
    """Return the mean of each bet for z = bias + spread * standardised shape, by quadrature."""
    frozen = SHAPES[shape]
    kinks = [(side - bias) / spread for side in (-4.0 - 2.0 * share, -4.0, 4.0, 4.0 + 2.0 * share)]
    edges = np.unique([*np.linspace(-60, 60, 481), *kinks, -np.sqrt(3), np.sqrt(3), -1.0])
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half, middle = np.diff(edges)[:, None] / 2, (edges[1:] + edges[:-1])[:, None] / 2
    t = (middle + half * nodes).ravel()
    density = frozen.std() * frozen.pdf(frozen.mean() + frozen.std() * t)
    nothing = np.zeros(t.size)
    ones = np.ones(t.size)
    bets = e_values.z_bets(
        bias + spread * t,
        nothing,
        Whitening(nothing, nothing, nothing, nothing, nothing),
        Ceilings(ones, ones),
        np.full(t.size, share),
    )
    return bets @ ((half * weights).ravel() * density)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("place", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_no_bet_on_offset_or_too_small_u_gains_within_the_tolerance(shape, share, place):
    bias, by_chance = place * (0.1 + 2.0 * share), np.sqrt(1.0 - share * share)

    for spread in (0.9, 1.0, 1.1):
        assert means(shape, bias, spread * by_chance, share)[:12].max() <= 1.0 + 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["normal", "uniform", "logistic", "Laplace", "t4"])
@pytest.mark.parametrize("share", SHARES)
def test_no_bet_on_too_large_u_or_outliers_gains_within_the_tolerance(shape, share):
    by_chance = np.sqrt(1.0 - share * share)

    for place in (-2.0, -1.0, 0.0, 1.0, 2.0):
        for spread in (0.9, 1.0, 1.1):
            mean = means(shape, place * share, spread * by_chance, share)
            assert mean[12:].max() <= 1.0 + 2e-4


@pytest.mark.parametrize("share", SHARES)
def test_what_is_declared_but_is_by_chance_after_all_is_no_fault_either(share):
    """As many pairs that share no constant are of the whole stated variance."""
    assert means("normal", 0.0, 1.0, share).max() <= 1.0 + 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("edge", [-1.0, *further(1.0)])
@pytest.mark.parametrize("shape", ["normal", "exponential", "t4"])
def test_evidence_of_t_pairs_has_a_mean_of_at_most_t_at_the_edge(shape, edge):
    pairs, series = 12, 40_000
    z = edge * (0.1 + MOST) + 1.1 * CHANCE * draws(shape, (series, pairs), 11)
    detector = Detector(np.full(series, 1e300))
    detector.systematic[:] = S

    detector.advance(np.arange(series), pairs * np.arange(series), z.ravel())

    evidence = detector.evidence(np.arange(series))
    error = evidence.std() / np.sqrt(series)
    assert evidence.mean() <= pairs + 4.0 * error


def first_alarms(z: np.ndarray, share: float | np.ndarray) -> np.ndarray:
    """Return the pair at which each series first fires, the number of pairs if none does."""
    count, length = z.shape
    detector, found = Detector(np.full(count, 1000.0)), np.full(count, length)
    detector.systematic[:] = share
    for first in range(0, length, 100):
        last = min(first + 100, length)
        starts = (last - first) * np.arange(count)
        for each in detector.advance(np.arange(count), starts, z[:, first:last].ravel()):
            if each.after == "firing" and found[each.series] == length:
                found[each.series] = first + each.position % (last - first)
    return found


def honest(shape: str, seed: int, size: tuple[int, int] = (200, 2000)) -> np.ndarray:
    own = np.random.default_rng([seed, 1]).standard_normal((size[0], 1))
    return S * own + CHANCE * draws(shape, size, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shape", ["normal", "t4"])
def test_at_most_five_in_a_hundred_honest_sensors_are_accused_within_2000_pairs(shape, seed):
    assert (first_alarms(honest(shape, seed), S) < 2000).mean() <= 0.05


@pytest.mark.slow
def test_without_the_declaration_about_half_of_them_are():
    assert 0.35 <= (first_alarms(honest("normal", 1), 0.0) < 2000).mean() <= 0.75


@pytest.mark.slow
@pytest.mark.parametrize("side", [-1.0, *further(1.0)])
@pytest.mark.parametrize(
    ("beyond", "median"),
    [
        (0.5, 110),
        pytest.param(1.0, 30, marks=pytest.mark.long),
        (2.0, 11),
        pytest.param(5.0, 5, marks=pytest.mark.long),
    ],
)
def test_a_bias_beyond_it_is_found(side, beyond, median):
    z = honest("normal", 5, (150, 900))
    z[:, 300:] = side * (MOST + beyond) + CHANCE * draws("normal", (150, 600), 6)

    alarm = first_alarms(z, S)

    late = alarm[alarm >= 300] - 299
    assert np.median(late) <= median
    assert (late < 600).mean() >= 0.97


@pytest.mark.slow
def test_a_spread_three_times_as_wide_is_found():
    z = honest("normal", 7, (150, 900))
    z[:, 300:] += 2.0 * CHANCE * draws("normal", (150, 600), 8) * np.sqrt(2.0)

    alarm = first_alarms(z, S)

    assert np.median(alarm[alarm >= 300] - 299) <= 40


def lives(before: float, after: float, usual: float) -> np.ndarray:
    """Return when the alert of a fault of pairs 200 to 300 ended, of sensors that were found."""
    count, length = 120, 600
    z = usual + CHANCE * draws("normal", (count, length), 9)
    z[:, 200:300] += before - usual
    z[:, 300:] += after - usual
    detector, ended = Detector(np.full(count, 1000.0)), np.full(count, length)
    detector.systematic[:] = S
    fired = np.zeros(count, bool)
    every, starts = np.arange(count), np.arange(count)
    for at in range(length):
        for each in detector.advance(every, starts, z[:, at].copy()):
            fired[each.series] |= each.after == "firing" and 200 <= at < 300
            if each.before == "firing" and at >= 300:
                ended[each.series] = min(ended[each.series], at)
    assert fired.mean() > 0.9
    return ended[fired] - 300


@pytest.mark.slow
@pytest.mark.parametrize("constant", [0.0, S, MOST, -MOST])
def test_an_alert_ends_soon_after_the_bias_is_within_the_tolerance_again(constant):
    ended = lives(MOST + 2.0, constant, constant)

    assert np.median(ended) <= 30
    assert (ended < 300).mean() >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("left", [MOST + 1.0, -MOST - 1.0])
def test_an_alert_does_not_end_while_the_bias_is_beyond_it(left):
    assert (lives(MOST + 3.0, left, 0.0) < 300).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 7, 64, 2000])
def test_neighbours_and_batches_change_no_bit(cut):
    z = honest("normal", 12, (6, 600))
    z[::2, 200:400] += 3.0
    shares = np.array([S, 0.0, 0.3, 0.0, 0.0, S])
    alone = []
    for row in range(6):
        one = Detector(np.full(1, 1000.0))
        one.systematic[:] = shares[row]
        one.advance(np.zeros(1, np.int64), np.zeros(1, np.int64), z[row])
        alone.append(one.bits(0))
    many = Detector(np.full(6, 1000.0))
    many.systematic[:] = shares

    for first in range(0, 600, cut):
        piece = z[:, first : first + cut]
        many.advance(np.arange(6), piece.shape[1] * np.arange(6), piece.ravel())

    assert [many.bits(row) for row in range(6)] == alone


def test_nothing_declared_is_the_same_bits_as_no_declaration():
    z = honest("t4", 13, (5, 800))
    z[1, 300:] += 2.0
    plain, beside = Detector(np.full(5, 1000.0)), Detector(np.full(6, 1000.0))
    beside.systematic[5] = S

    plain.advance(np.arange(5), 800 * np.arange(5), z.ravel())
    beside.advance(np.arange(6), 800 * np.arange(6), np.concatenate([z.ravel(), z[0]]))

    assert [beside.bits(row) for row in range(5)] == [plain.bits(row) for row in range(5)]


# --- through the network -------------------------------------------------------------------------


def recorded(count: int = 300, *, intervals: bool = False, error: float = 0.9) -> Records:
    """Return pairs of one series whose first states another u_ref than the rest."""
    random = np.random.default_rng(21)
    pairs = np.zeros(count, PAIR)
    pairs["id"] = pairs["reference_id"] = 1 + np.arange(count)
    pairs["time"] = 3600.0 * np.arange(count)
    pairs["reference"] = random.normal(100.0, 5.0, count)
    pairs["value"] = pairs["reference"] + 2.0 * (error * MOST + CHANCE * random.normal(size=count))
    pairs["u"] = 2.0
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    if intervals:
        half = 2.0 * 1.6448536269514722
        pairs["lower"], pairs["upper"] = pairs["value"] - half, pairs["value"] + half
        pairs["u"], pairs["p"] = np.nan, 0.9
    return pairs


def network_of(declared: Systematic) -> tuple[Network, InMemoryStore]:
    store = InMemoryStore()
    plan = CoreSettings(
        lambda _sensor, _quantity: SeriesRules(systematic=declared), limits=Limits(1, 1)
    )
    network = Network(plan, store)
    network.registry.add("s", "mass")
    return network, store


def delivered(pairs: Records, declared: Systematic, parts: list[np.ndarray]) -> Network:
    network, store = network_of(declared)
    for part in parts:
        store.append(Batch(pairs=pairs[part]))
        network.apply(pairs[part])
    network.evaluate(0.0)
    return network


def state_of(network: Network) -> str:
    return STATES[int(network.detector.states(np.zeros(1, np.int64))[0])]


@pytest.mark.parametrize("intervals", [False, True])
def test_a_series_is_right_within_its_declaration_and_accused_without_it(intervals):
    pairs, every = recorded(intervals=intervals), [np.arange(300)]

    states = [
        state_of(delivered(pairs, declared, every))
        for declared in (Systematic(), Systematic(share=S), Systematic(value=2.0 * S))
    ]

    assert states == ["firing", "ok", "ok"]


@pytest.mark.parametrize("intervals", [False, True])
def test_an_error_beyond_the_declaration_fires(intervals):
    pairs = recorded(intervals=intervals, error=3.5)

    network = delivered(pairs, Systematic(share=S), [np.arange(300)])

    assert state_of(network) == "firing"
