"""Bets that the detector does not place, beside it at the same rate of false alarms.

    python benchmarks/alarms_tried.py [--share 0.1]

``ranks``: whitened z among all earlier ones of the series, in a histogram, randomised within its
bins; bets on the normal quantile of the rank, whose null is that the shape stays as it was. They
count only where the family is pending by the detector's own bets.

A sensor alarms when the detector does, or when such a bet's evidence reaches the patience over its
weight. "At that rate" is the detector with the lower patience that has the same rate.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from alarms_peers import between
from alarms_streams import FAULTS, HONEST, SHAPES, Float, Int, Sensors, classical, faulty
from alarms_table import table
from scipy.special import ndtri

from monitor.core.detector import e_values, whitening
from monitor.core.detector.detector import Detector
from monitor.core.detector.e_process import KEPT, EvidenceBlock
from monitor.core.detector.lifecycle import FIRING, STATES
from monitor.core.detector.series_state import STATE
from monitor.core.detector.usual_u import Inputs, StatedColumns

PATIENCE: Final = 1000.0
PENDING: Final = 100.0
PATIENCES: Final = (250.0, 350.0, 500.0, 700.0, PATIENCE)
LONGEST: Final = 600
BINS: Final = 64
RANKED_FROM: Final = 50  # pairs of history
OFFSETS: Final = np.array([0.3, 0.8, 2.2, -0.3, -0.8, -2.2])[:, None]
SPREADS: Final = np.array([1.7, 0.55])[:, None]
RANK_WEIGHTS: Final = np.array([0.7 / 6] * 6 + [0.15, 0.15])[:, None]
HONEST_ROWS: Final = (
    "AR(0.9)",
    "AR(0.7), then independent",
    "independent, then AR(0.7)",
    "cycle of 288 pairs",
    "10 % AR(0.99)",
    "half AR(0.99)",
    "rounded to 10 u, truth AR(0.999)",
    "predictive, R2 0.8",
)
FOUND: Final = ("offset 0.5 u", "offset 1 u", "sd x 2", "sd / 2", "gain 1.25", "gain 0.75")


def inputs_of(s: Sensors) -> Inputs:
    """Return what the detector takes of sensors, [pairs, sensors]."""
    u = np.hypot(s.unit, s.u_ref)
    return Inputs(_upright(s.z), StatedColumns(_upright(u), _upright(s.value)))


def _upright(rows: Float) -> Float:
    return np.ascontiguousarray(rows.T)


def detected(s: Sensors, patience: float) -> Int:
    """Return the pair of each sensor's first alarm, the number of pairs if there is none."""
    count, length = s.z.shape
    z, stated = inputs_of(s)
    firsts = np.arange(count)
    flat = StatedColumns(*(rows.T.ravel() for rows in stated))
    detector, alarm = Detector(np.full(count, patience)), np.full(count, length)
    for change in detector.advance(firsts, firsts * length, z.T.ravel(), flat):
        if change.after == STATES[FIRING]:
            pair = change.position - change.series * length
            alarm[change.series] = min(alarm[change.series], pair)
    return alarm


def block_of(s: Sensors) -> EvidenceBlock:
    """Return the detector's bets on whole streams, which begin with these pairs."""
    inputs = inputs_of(s)
    length, count = inputs.z.shape
    return EvidenceBlock(
        np.zeros(count, STATE),
        np.arange(inputs.z.size).reshape(inputs.z.shape),
        inputs,
        np.zeros((min(length, whitening.FAR), count)),
        np.full(count, np.inf),
        np.zeros(count, np.int64),
        np.zeros(count),
        KEPT,
    )


def ranks(s: Sensors) -> Float:
    """Return the evidence of ranks, [pairs, sensors], where the detector's own is pending."""
    block = block_of(s)
    every, noise = np.arange(block.size), np.random.default_rng(5)
    up_to = np.zeros((block.size, BINS), np.int64)  # earlier z in each bin or a lower one
    fair, ranked = np.zeros((e_values.BETS, block.size)), np.zeros((8, block.size))
    evidence = np.zeros((block.ranks, block.size))
    for pair in range(1, block.ranks):
        z, previous = block.z[pair], block.z[pair - 1]
        x = whitening.whitened(z, previous, block.learnt(pair - 1, every))
        place = np.clip(((x + 4.0) * (BINS / 8.0)).astype(np.int64), 0, BINS - 1)
        fair = (fair + block.weights) * block.bets[:, pair]
        if pair > RANKED_FROM:
            below = np.where(place > 0, up_to[every, place - 1], 0)
            within = noise.random(block.size) * (up_to[every, place] - below + 1)
            q = ndtri((below + within) / pair)
            ceilings = block.scales.at(pair - 1, every)
            shifted = (OFFSETS * q - 0.5 * OFFSETS * OFFSETS) / ceilings.offset
            wide = (0.5 * (1.0 - SPREADS**-2.0) * q * q - np.log(SPREADS)) / ceilings.spread
            ranked = (ranked + RANK_WEIGHTS) * np.exp(np.concatenate([shifted, wide]))
            families = np.array([ranked[:6].sum(axis=0), ranked[6], ranked[7]])
            is_pending = e_values.families_of(fair)[:3] >= PENDING
            evidence[pair] = np.where(is_pending, families, 0.0).max(axis=0)
        up_to += np.arange(BINS) >= place[:, None]
    return evidence


class Tried(NamedTuple):
    """Bets, and their weight beside the detector's."""

    evidence: Callable[[Sensors], Float]
    weight: float

    def alarms(self, s: Sensors, detector: Int) -> Int:
        """Return the pair of each sensor's first alarm, by them or by the detector."""
        reaches = self.evidence(s) >= PATIENCE / self.weight
        first = np.where(reaches.any(axis=0), reaches.argmax(axis=0), s.z.shape[1])
        return np.minimum(first, detector)


TRIED: Final = {"ranks": Tried(ranks, 0.1)}


def rates(shape: str, streams: int) -> tuple[list[float], list[float]]:
    """Return pairs to a false alarm of the detector by patience, and of what was tried."""
    s = classical(SHAPES[shape])(np.random.default_rng([20261128, len(shape)]), (streams, 4000))
    own = [detected(s, patience) for patience in PATIENCES]
    return [between(each, 4000) for each in own], [
        between(each.alarms(s, own[-1]), 4000) for each in TRIED.values()
    ]


def delays(streams: int) -> str:
    """Return mean delays of the detector, and of what was tried beside it at its rate."""
    head = ["errors, fault", "pairs before", "detector"]
    rows = []
    for shape in SHAPES:
        own_rates, tried_rates = rates(shape, 5 * streams)
        rate = " / ".join(f"{each:,.0f}" for each in tried_rates)
        rows.append([f"{shape}: pairs to a false alarm", "", f"{own_rates[-1]:,.0f}", rate, ""])
        for onset in (1000, 100):
            for name in FOUND:
                rng = np.random.default_rng([20261129, onset, len(shape)])
                size = (streams, onset + LONGEST)
                s = faulty(FAULTS[name], classical(SHAPES[shape])(rng, size), onset, rng)
                own = [detected(s, patience) for patience in PATIENCES]
                means = [late(each, onset) for each in own]
                cells = []
                for each, rate_of in zip(TRIED.values(), tried_rates, strict=True):
                    beside = late(each.alarms(s, own[-1]), onset)
                    same = np.interp(np.log(rate_of), np.log(own_rates), means)
                    cells.append(f"{beside:.1f} ({same:.1f})")
                rows.append([f"{shape}, {name}", str(onset), f"{means[-1]:.1f}", *cells])
    return table([*head, *(f"with {each} (detector at that rate)" for each in TRIED)], rows)


def late(alarm: Int, onset: int) -> float:
    """Return the mean delay from the onset, cut off."""
    return float(np.minimum(alarm[alarm >= onset] - onset + 1, LONGEST).mean())


def honest(streams: int) -> str:
    """Return pairs to a false alarm where errors depend on each other."""
    rows = []
    for name in HONEST_ROWS:
        make, least = HONEST[name]
        s = make(np.random.default_rng([20261130, len(name)]), (3 * streams, 3500))
        own = detected(s, PATIENCE)
        alarms = [own, *(each.alarms(s, own) for each in TRIED.values())]
        counted = [each[each >= s.changed] - s.changed for each in alarms]
        figures = [f"{between(each, 3500 - s.changed):,.0f}" for each in counted]
        rows.append([name, f"{least:,.0f}", *figures])
    return table(["honest sensors", "goal", "detector", *(f"with {each}" for each in TRIED)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the streams")
    streams = max(10, round(100 * parser.parse_args().share))
    print(honest(streams), delays(streams), sep="\n\n")


if __name__ == "__main__":
    main()
