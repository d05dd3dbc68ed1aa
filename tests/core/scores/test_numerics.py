"""Figures against fifty digits, huge values that leave no trace, differences of near numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from harness.cases import further
from harness.examples import examples
from hypothesis import given
from hypothesis import strategies as st
from numerics.exact import calibration, exact, off, scores
from numerics.interval import solved_ends
from numerics.run import at_the_bounds, faults, not_finite, run

from monitor.core.analysis import remarks
from monitor.core.columns import Columns, columns
from monitor.core.model import PAIR
from monitor.core.scores.intervals import saddlepoint_zms
from monitor.core.scores.statistics import STATISTICS, compute, live_statistics
from monitor.core.windows.windows import Windows

LEVEL = 0.9
LENGTH = 201
PUBLISHED = sorted({*live_statistics("normal").values(), *live_statistics("tophat").values()})
Mp = mpmath.mpf


def made(value: np.ndarray, reference: np.ndarray, u: np.ndarray, u_ref: np.ndarray) -> Columns:
    """Return one series that states u."""
    none = np.full(value.size, np.nan)
    return columns(
        np.zeros(1, dtype=np.int64),
        time=np.arange(value.size, dtype=np.float64),
        value=value,
        reference=reference,
        u=u,
        lower=none,
        upper=none,
        p=none,
        u_ref=u_ref,
        level=LEVEL,
    )


def ordinary() -> Columns:
    random = np.random.default_rng(1)
    u = random.uniform(0.5, 2.0, LENGTH)
    truth = random.uniform(100.0, 600.0, u.size)
    return made(truth + u * random.normal(size=u.size), truth, u, np.full(u.size, 0.1))


def heavy() -> Columns:
    """Return uncertainties from 1e-10 to 1e10 in one window."""
    random = np.random.default_rng(2)
    u = 10.0 ** random.uniform(-10.0, 10.0, LENGTH)
    return made(u * random.standard_t(3, u.size), np.zeros(u.size), u, u / 7.0)


def far() -> Columns:
    """Return values near 1e9 that are right to 1e-3."""
    random = np.random.default_rng(3)
    truth = 1e9 + random.uniform(0.0, 1.0, LENGTH)
    value = truth + 1e-3 * random.normal(size=LENGTH)
    return made(value, truth, np.full(LENGTH, 1e-3), np.full(LENGTH, 1e-5))


def extreme() -> Columns:
    """Return what is still taken: 1e15 beside 1e-12."""
    value = np.array([1e15, -1e15, 1e-12, 3.0, 0.0, -7e-9, 5e14, 2.0, -1e15])
    reference = np.array([-1e15, 1e15, -1e-12, 3.0, 1e-12, 7e-9, 5e14, 1.0, 1e-12])
    u = np.array([1e15, 3e14, 1e-12, 1e-12, 1e15, 1e-8, 0.1, 1.0, 1e10])
    return made(value, reference, u, u / 3.0)


WINDOWS: dict[str, Callable[[], Columns]] = {
    "ordinary": ordinary,
    "heavy": heavy,
    "far": far,
    "extreme": extreme,
}


def rows(c: Columns) -> list[tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]]:
    """Return (error, u, u_eff) of each pair in fifty digits."""
    told = []
    for value, reference, u, u_ref in zip(c.value, c.reference, c.u, c.u_ref, strict=True):
        u_eff = mpmath.sqrt(Mp(float(u)) ** 2 + Mp(float(u_ref)) ** 2)
        told.append((Mp(float(value)) - Mp(float(reference)), Mp(float(u)), u_eff))
    return told


def crps(error: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Gneiting 2005, eq. 5."""
    z = error / u
    return u * (z * (2 * mpmath.ncdf(z) - 1) + 2 * mpmath.npdf(z) - 1 / mpmath.sqrt(mpmath.pi))


def quadratic(error: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Gneiting and Raftery 2007, section 4.1: the integral of q squared less twice q(x)."""
    return 1 / (2 * u * mpmath.sqrt(mpmath.pi)) - 2 * mpmath.npdf(error / u) / u


def norm(error: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Martin et al., section III.B: half of z squared, and the logarithm of u."""
    return (error / u) ** 2 / 2 + mpmath.log(u)


def interval(error: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    """Gneiting and Raftery 2007, eq. 43."""
    half = mpmath.sqrt(2) * mpmath.erfinv(Mp(LEVEL)) * u
    return 2 * half + 2 / (1 - Mp(LEVEL)) * max(Mp(0), abs(error) - half)


def tolerance(name: str, c: Columns) -> mpmath.mpf:
    """Return 1e-12, or for what reads lower and upper the spacing of the values beside u."""
    if name != "interval":
        return Mp("1e-12")
    return Mp("1e-12") + Mp(float(np.max(np.spacing(np.abs(c.value)) / c.u)))


def nll(error: mpmath.mpf, u: mpmath.mpf) -> mpmath.mpf:
    return ((error / u) ** 2 + mpmath.log(u**2) + mpmath.log(2 * mpmath.pi)) / 2


SCORES = {"crps": crps, "quadratic": quadratic, "norm": norm, "interval": interval}
MEANS: dict[str, Callable] = {
    **{name: lambda e, u, _eff, score=score: score(e, u) for name, score in SCORES.items()},
    "bias": lambda e, _u, _eff: e,
    "mae": lambda e, _u, _eff: abs(e),
    "z_mean": lambda e, _u, eff: e / eff,
    "zms": lambda e, _u, eff: (e / eff) ** 2,
    "nll": lambda e, u, _eff: nll(e, u),
}


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", MEANS)
def test_a_mean_is_that_of_fifty_digits(name, window):
    """To 1e-12 of the mean absolute term: a bias near zero has no relative error."""
    c = WINDOWS[window]()
    with mpmath.workdps(50):
        terms = [MEANS[name](*row) for row in rows(c)]
        wanted = sum(terms) / len(terms)
        scale = sum(map(abs, terms)) / len(terms)
        found = Mp(float(compute(c, [name])[name][0]))
        assert abs(found - wanted) <= tolerance(name, c) * scale


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", SCORES)
def test_a_median_is_that_of_fifty_digits(name, window):
    c = WINDOWS[window]()
    with mpmath.workdps(50):
        terms = sorted(SCORES[name](error, u) for error, u, _ in rows(c))
        wanted = terms[len(terms) // 2]
        scale = abs(wanted) if name != "norm" else max(abs(wanted), Mp(1))
        found = Mp(float(compute(c, [f"{name}_median"])[f"{name}_median"][0]))
        assert abs(found - wanted) <= tolerance(name, c) * scale


@pytest.mark.parametrize("window", WINDOWS)
def test_roots_and_ratios_are_those_of_fifty_digits(window):
    c = WINDOWS[window]()
    found = compute(c, ["rmse", "rce", "coverage"])
    with mpmath.workdps(50):
        told = rows(c)
        rmse = mpmath.sqrt(sum(error**2 for error, _, _ in told) / len(told))
        rmv = mpmath.sqrt(sum(eff**2 for _, _, eff in told) / len(told))
        factor = mpmath.sqrt(2) * mpmath.erfinv(Mp(LEVEL))
        held = sum(abs(error) <= factor * u for error, u, _ in told)
        assert abs(Mp(float(found["rmse"][0])) - rmse) <= Mp("1e-12") * rmse
        scale = (rmv + rmse) / rmv
        assert abs(Mp(float(found["rce"][0])) - (rmv - rmse) / rmv) <= Mp("1e-12") * scale
        assert found["coverage"][0] == held / len(told)


# -- all of them --------------------------------------------------------------------------------


def with_stated_crps(c: Columns) -> Columns:
    """Return the pairs, every third with the score of a distribution that was stated."""
    stated = np.where(np.arange(c.value.size) % 3 == 0, c.u / 3.0, np.nan)
    return replace(c, stated_crps=stated)


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_every_figure_is_that_of_fifty_digits(window):
    """From the doubles of the window, to 1e-12 of the size of a figure's terms."""
    c = with_stated_crps(WINDOWS[window]())
    wanted = exact(c)
    found = compute(c, STATISTICS)

    assert {name: off(each, found[name][0]) for name, each in wanted.items()} == pytest.approx(
        dict.fromkeys(wanted, 0.0), abs=1e-12
    )
    if window != "extreme":  # nine pairs have no bins and no interval
        assert set(PUBLISHED) <= wanted.keys()


@pytest.mark.slow
def test_what_is_wrong_in_the_eleventh_digit_is_seen():
    c = ordinary()
    wanted = exact(c)
    for name, each in wanted.items():
        if name != "log_infinite_count":
            assert off(each, float(each.value) + 1e-11 * float(each.size)) > 1e-12, name


@pytest.mark.slow
@pytest.mark.parametrize("window", ["ordinary", "heavy", "far"])
def test_the_interval_of_zms_ends_where_its_equation_holds(window):
    """The search stops where the end is right to 1e-3 of a normal quantile."""
    c = WINDOWS[window]()
    found = saddlepoint_zms(c)
    with mpmath.workdps(30):
        lower, upper = solved_ends([(error / eff) ** 2 for error, _, eff in rows(c)])
    width = float(upper - lower)
    assert abs(found.lower[0] - float(lower)) < 5e-4 * width
    assert abs(found.upper[0] - float(upper)) < 5e-4 * width


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [164.0, 165.0, *further(1.0, 40.0, 60.0, 400.0, 1e4, 1e12)],
)
def test_a_reference_far_less_certain_than_the_interval_keeps_its_digits(noise):
    """Where the interval is a point beside the reference, near cubes would cancel."""
    c = ordinary()
    found = exact(replace(c, u_ref=c.u * noise), [scores])
    name = "crps_tophat_expected_ratio"
    assert off(found[name], compute(replace(c, u_ref=c.u * noise), [name])[name][0]) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("place", [-1, *further(0)])
def test_one_gross_error_at_an_end_leaves_the_correlation_its_digits(place):
    c = ordinary()
    for size in (1e2, 1e4, 1e5):
        c.value[place] = c.reference[place] + size * c.u[place]
        one = replace(c)
        assert (
            off(exact(one, [calibration])["z_lag1"], compute(one, ["z_lag1"])["z_lag1"][0]) < 1e-12
        )


@pytest.mark.slow
def test_a_long_run_ends_within_1e_12_and_with_the_bits_of_a_short_one():
    found = run(200_000, compared=4)

    assert found.within == found.figures > 200, found
    assert found.same_bits == found.series


# -- huge values --------------------------------------------------------------------------------


def pairs_of(c: Columns) -> np.ndarray:
    made_of = np.zeros(c.value.size, dtype=PAIR)
    made_of["id"] = np.arange(1, c.value.size + 1)
    made_of["time"], made_of["value"], made_of["reference"] = c.time, c.value, c.reference
    made_of["u"], made_of["u_ref"] = c.u, c.u_ref
    made_of["lower"] = made_of["upper"] = made_of["p"] = np.nan
    return made_of


@pytest.mark.parametrize("huge", [1e20, 1e308, -1e308])
def test_a_huge_value_that_has_left_the_window_leaves_no_trace(huge):
    c = ordinary()
    spoilt = pairs_of(c)
    spoilt["value"][3] = huge
    last = [_last(each, LENGTH // 2) for each in (pairs_of(c), spoilt)]
    for name in PUBLISHED:
        wanted, found = (compute(each, [name])[name].tobytes() for each in last)
        assert wanted == found, name
    held = compute(_last(spoilt, LENGTH), ["bias"])["bias"][0]
    assert abs(held) > 1e17


def _last(pairs: np.ndarray, size: int) -> Columns:
    """Return what a window of so many pairs holds after all, taken one by one."""
    windows = Windows(1, size, lambda _: pairs[:0])
    for at in range(pairs.size):
        windows.apply(pairs[at : at + 1])
    _, kept = windows.gather(np.array([0]), np.array([size]), np.array([np.inf]))
    return made(kept["value"], kept["reference"], kept["u"], kept["u_ref"])


# The square of what is smaller than 1e-130 is no double; beside the least u it is nothing.
numbers = st.floats(-1e15, 1e15).map(lambda x: x if abs(x) > 1e-130 else 0.0) | st.sampled_from(
    [0.0, 1e15, -1e15, 1e-100]
)
scales = st.floats(1e-12, 1e15) | st.sampled_from([1e-12, 1e15])


@given(
    window=st.lists(
        st.tuples(numbers, numbers, scales, st.just(0.0) | scales), min_size=1, max_size=12
    )
)
@examples(60)
def test_whatever_is_taken_gives_the_figures_of_fifty_digits(window):
    """Nothing over- or underflows: what is defined is there."""
    c = made(*(np.array(column) for column in zip(*window, strict=True)))
    found = compute(c, STATISTICS)
    for name, wanted in exact(c).items():
        assert np.isfinite(found[name][0]), name
        assert off(wanted, found[name][0]) < 1e-9, (name, found[name][0], wanted)


def test_no_score_of_what_is_taken_is_without_a_number():
    assert faults(40_000) == []


def test_a_number_beyond_the_bounds_would_be_seen():
    c = at_the_bounds(2000)
    c.u[7] = 1e-320
    assert not_finite(c)["norm"]


# -- near numbers -------------------------------------------------------------------------------


def test_z_is_taken_of_the_difference_and_is_right_to_the_inputs_spacing():
    """The difference of doubles within a factor of two is exact (Sterbenz)."""
    c = far()
    with mpmath.workdps(50):
        z = [error / eff for error, _, eff in rows(c)]
        found = compute(c, ["z_mean", "zms"])
        assert abs(Mp(float(found["z_mean"][0])) - sum(z) / len(z)) < Mp("1e-12")
        assert abs(Mp(float(found["zms"][0])) - sum(each**2 for each in z) / len(z)) < Mp("1e-12")


def test_values_too_large_beside_their_uncertainty_are_remarked():
    random = np.random.default_rng(0)
    said = "so large beside u"
    for offset, u, is_coarse in ((1e9, 1e-5, True), (1e9, 1e-3, False), (0.0, 1e-9, False)):
        truth = offset + random.uniform(0.0, u, 60)
        c = made(truth, truth + u * random.normal(size=60), np.full(60, u), np.zeros(60))
        assert (said in " ".join(remarks.remarks(c, random))) is is_coarse
