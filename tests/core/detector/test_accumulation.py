"""Evidence, against its definition written out pair by pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from monitor.core.detector import detector as detection
from monitor.core.detector.usual_u import StatedColumns
from tests.core.detector.test_detector import ONE, detector


def learnt_by_hand(h):
    """Return (rho, a, l, how narrow z may be) from all of ``h``, written out pair by pair."""
    q = [min(max(z, -4.0), 4.0) for z in h]
    if len(q) < 3:
        return 0.0, 0.0, 0.0, 1.0

    def faded(steps):
        return sum(step * 0.9975**age for age, step in enumerate(reversed(steps)))

    n = faded([1.0] * (len(q) - 2))
    d1 = faded([(q[t] - q[t - 1]) ** 2 for t in range(2, len(q))])
    d2 = faded([(q[t] - q[t - 2]) ** 2 for t in range(2, len(q))])
    r, se = n * (d2 / d1 - 1) / (n + 20), 1 / math.sqrt(n + 20)
    low, n_far = r - se, faded([1.0] * (len(q) - 12))
    if n_far >= 20:
        far = faded([(q[t] - q[t - 12]) ** 2 for t in range(12, len(q))])
        low = min(low, 1 - (d1 / n) / (far / n_far) + 1.5 / math.sqrt(n_far))
    upper = min(max(r + se * min(1, 30 / (n + 20)), 0), 0.95)
    rho = min(max(r, 0), 0.95)
    mean = faded([math.exp(-(1 / 0.57**2 - 1) / 2 * (z / 0.9) ** 2) / 0.57 for z in q[2:]]) / n
    chance = 1.1 * math.sqrt((1 + rho**2) / (1 - rho**2)) + 1.5 * rho / (1 - rho**2)
    narrow = min(math.log(max(mean + chance / math.sqrt(n), 1)) / math.log(1.1399), 1)
    return rho, upper, min(max(low, 0), 0.95), narrow


def ceilings_by_hand(x):
    """Return the ceilings (offset, spread) after the whitened pairs ``x``, written out."""
    seen, counts = [], []
    for length in (2, 8, 32, 128):
        sums = [sum(x[i : i + length]) for i in range(0, len(x) - length + 1, length)]
        steps = n = 0.0
        for one, two in itertools.pairwise(sums):
            step = min((two - one) ** 2 / (2 * length), 5 * max(steps / max(n, 1), 1))
            steps = steps * math.exp(-length / 1024) + step
            n = n * math.exp(-length / 1024) + 1
        seen.append(steps / max(n, 1))
        counts.append(n)
    least = [1 + 1.8 * math.sqrt(3 / max(n, 1)) for n in counts]
    known = [(s, w) for s, w, n in zip(seen, least, counts, strict=True) if n > 1.5]
    local = max(seen[0], 1)
    spare = max(0.9 - seen[0] * (1 + math.sqrt(3 / max(counts[0], 1))), 0)
    span = counts[0] / 64
    slow = 1 + min(1000 * spare**2, 15) * span**2 / (1 + span**3)
    offset = max([slow, *(s for s, w in known if s > w)])
    return offset, max([slow, *(s / local for s, w in known if s > w * local)])


def bets_by_hand(z, before, learnt, ceilings):
    """Return the (weight, bet) of one pair that are not on a gain, written out."""
    _, a, lower, shape = learnt
    scale = math.sqrt(1 - 2 * a * lower + a * a)
    x = min(max((z - a * before) / scale, -4.0), 4.0)
    plain, power = (z - a * before) / math.sqrt(1 - a * a), (1 - a * a) / (1 + a * a)
    found = []
    for side in (1, -1):
        w = (side * x - 0.1 * (1 - a) / scale) / 1.1 / math.sqrt(ceilings[0])
        for b, c in ((0.2495, 0.0345), (0.4892, 0.1038), (0.8470, 0.3136), (0.9211, 0.6928)):
            found.append((0.45 / 8, 1 + c * (w * w - 1) + b * w))
    rates = (c / ceilings[1] for c in (0.12, 0.25, 0.45, 0.70))
    found += [(0.30 / 4, 1 + c * (x * x / 1.22 - 1)) for c in rates]
    for k, g in ((0.78, 1.0515), (0.57, 1.1399), (0.37, 1.2817)):
        narrow = math.exp(-(1 / k**2 - 1) / 2 * (plain / 0.9) ** 2)
        narrow /= k * g ** (1 if ceilings[0] > 1 else shape)
        found.append((0.05, narrow**power))
    return found + [(0.05, p / 0.01 if abs(z) > 4 else (1 - p) / 0.99) for p in (0.03, 0.10)]


def gains_by_hand(pairs, learnt, ceilings):
    """Return the 4 (weight, bet) on a gain of the last of ``pairs`` (z, u, value), written out."""
    earlier = [value - z * u for z, u, value in pairs[:-1]]
    (z, u, value), (z1, u1, value1) = pairs[-1], pairs[-2] if len(pairs) > 1 else (0.0, 0.0, 0.0)
    _, a, lower, _ = learnt
    scale = math.sqrt(1 - 2 * a * lower + a * a)
    x = min(max((z - a * z1) / scale, -4.0), 4.0)
    found = []
    for sign, now, last in ((1, value - z * u, value1 - z1 * u1), (-1, value, value1)):
        moved = 0.0
        if len(earlier) >= 10:
            spread = max(np.std(earlier), 0.5 * u)
            moved = ((now - np.mean(earlier)) - a * (last - np.mean(earlier))) / spread / scale
            moved = min(max(moved, -4.0), 4.0)
        w = (sign * np.sign(moved) * x - 0.1 * (1 - a) / scale) / 1.1 / math.sqrt(ceilings[0])
        for slope in (0.35, 1.0):
            d = max(slope * abs(moved), 0.2)
            b = d * min(2 + 0.54 * d * d, 2.8) / (d * d + 2)
            c = d * d / (d * d + 2)
            w_least = max(w, -0.5 * b / c)
            found.append((0.05, 1 + c * (w_least * w_least - 1) + b * w_least))
    return found


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("gain", [0.6, 1.0, 1.3])
def test_evidence_with_levels_equals_the_definition_written_out_pair_by_pair(rho, gain):
    rng = np.random.default_rng(12)
    z, truth = rng.standard_normal((2, 100))
    for t in range(1, 100):
        z[t] = rho * z[t - 1] + math.sqrt(1 - rho * rho) * z[t]
        truth[t] = rho * truth[t - 1] + truth[t]
    value = 50.0 + gain * (6.0 * truth + 2.0 * z)
    z = (value - 50.0 - 6.0 * truth) / 2.0
    pairs = [(float(each), 2.0, float(shown)) for each, shown in zip(z, value, strict=True)]
    made, m, x = detector(patience=1e300), [0.0] * 21, []

    for t in range(100):
        stated = StatedColumns(np.array([2.0]), value[t : t + 1])
        made.advance(ONE, ONE, z[t : t + 1], stated)
        known = learnt_by_hand(z[:t]) if t else (0.0, 0.0, 0.0, 1.0)
        before, ceilings = z[t - 1] if t else 0.0, ceilings_by_hand(x)
        now = [(0.8 * w, e) for w, e in bets_by_hand(z[t], before, known, ceilings)]
        now += gains_by_hand(pairs[: t + 1], known, ceilings)
        plain = (z[t] - known[0] * before) / math.sqrt(1 - known[0] ** 2)
        x.append(min(max(plain, -4.0), 4.0))
        m = [(old + 1) * e for old, (_, e) in zip(m, now, strict=True)]
        wanted = sum(w * each for each, (w, _) in zip(m, now, strict=True))

        assert made.evidence(ONE)[0] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("shape", ["normal", "t3"])
def test_evidence_equals_the_definition_written_out_pair_by_pair(rho, shape):
    rng = np.random.default_rng(11)
    z = rng.standard_normal(120) if shape == "normal" else rng.standard_t(3, 120)
    for t in range(1, 120):
        z[t] += rho * z[t - 1]
    z = 0.6 * z
    made, m, x = detector(patience=1e300), [0.0] * 17, []

    for t in range(120):
        made.advance(ONE, ONE, z[t : t + 1])
        known = learnt_by_hand(z[:t]) if t else (0.0, 0.0, 0.0, 1.0)
        before, rho_known = z[t - 1] if t else 0.0, known[0]
        now = bets_by_hand(z[t], before, known, ceilings_by_hand(x))
        plain = (z[t] - rho_known * before) / math.sqrt(1 - rho_known**2)
        x.append(min(max(plain, -4.0), 4.0))
        m = [(old + 1) * e for old, (_, e) in zip(m, now, strict=True)]
        wanted = sum(w * value for value, (w, _) in zip(m, now, strict=True))

        assert made.evidence(ONE)[0] == pytest.approx(wanted, rel=1e-9)


def test_pending_at_a_tenth_of_the_patience_and_firing_at_the_patience(shifted):
    made = detector()
    states = []
    for z in shifted:
        made.advance(ONE, ONE, np.array([z]))
        states.append((float(made.evidence(ONE)[0]), made.states(ONE)[0]))

    assert all(state == (evidence >= 100) + (evidence >= 1000) for evidence, state in states[:235])
    assert states[-1][1] == detection.FIRING


def test_the_fault_of_an_alert_has_all_its_pairs_from_the_first():
    made = detector()
    made.advance(ONE, ONE, np.tile([-0.8, 0.8], 30))
    faulty = 0

    while made.states(ONE)[0] != detection.FIRING:
        made.advance(ONE, ONE, np.array([3.0]))
        faulty += 1

    assert made._state["moments"][0].tolist() == [faulty, 3.0 * faulty, 9.0 * faulty]
