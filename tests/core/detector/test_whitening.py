"""Dependence of errors: learnt whatever the fault."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.detector import whitening


def test_a_shape_is_unknown_before_it_is_learnt_and_after_an_event():
    z = np.random.default_rng(12).standard_normal(3000)
    q = np.clip(z, -4, 4)

    few, many = (whitening.learnt_from(*sums(q[:n])).flat[0] for n in (20, 3000))

    assert few < 0.4
    assert many == 1.0
    most = np.array([whitening.MIDDLE_MOST * 2998])
    assert whitening.learnt_from(*sums(q)[:5], most).flat[0] == 0.0


def sums(z):
    """Return the arguments of whitening for the whole of ``z``, written out."""
    q = np.clip(z, -4, 4)
    far = whitening.FAR
    return (
        np.sum((q[2:] - q[1:-1]) ** 2)[None],
        np.sum((q[2:] - q[:-2]) ** 2)[None],
        np.array([z.size - 2.0]),
        np.sum((q[far:] - q[:-far]) ** 2)[None],
        np.array([float(z.size - far)]),
        np.sum(whitening.middle_bet(q[2:]))[None],
    )


def autoregressive(rho, n, rng):
    z = rng.standard_normal(n)
    for t in range(1, n):
        z[t] = rho * z[t - 1] + np.sqrt(1 - rho * rho) * z[t]
    return z


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.6, 0.8])
@pytest.mark.parametrize(
    "fault",
    [
        lambda z: z,
        lambda z: z + 2 * (np.arange(z.size) > 1000),
        lambda z: 3 * z,
        lambda z: z + 0.001 * np.arange(z.size),
    ],
)
def test_autocorrelation_is_learnt_whatever_the_fault(rho, fault):
    z = autoregressive(rho, 2000, np.random.default_rng(3)) / 4  # unclipped after the fault

    learnt = whitening.learnt_from(*sums(fault(z)))

    assert learnt.rho[0] == pytest.approx(rho, abs=0.08)
    assert learnt.lower[0] <= learnt.rho[0] <= learnt.upper[0]


def test_variance_trusted_to_go_is_bounded_for_errors_that_forget_sooner():
    """A moving average has lag-1 autocorrelation 1/2 and none after: D2/D1 - 1 says 1."""
    noise = np.random.default_rng(4).standard_normal(3001)
    z = (noise[1:] + noise[:-1]) / np.sqrt(2)

    learnt = whitening.learnt_from(*sums(z))
    left = z[1:] - learnt.upper * z[:-1]

    claimed = 1 - 2 * learnt.upper * learnt.lower + learnt.upper**2
    assert np.var(left) <= 1.1 * claimed[0]
