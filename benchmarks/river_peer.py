"""river's rolling means of eight scores a series: seconds of processor time a pair, some rounds.

Run by benchmarks/engine_rows.py with the Python that has river: python river_peer.py ROUNDS
"""

from __future__ import annotations

import random
import sys
import time

from river import stats, utils

SERIES, WINDOW, SCORES, PAIRS = 1000, 100, 8, 10_000


def main() -> None:
    chance = random.Random(1)
    means = [[utils.Rolling(stats.Mean(), WINDOW) for _ in range(SCORES)] for _ in range(SERIES)]
    for _ in range(int(sys.argv[1])):
        pairs = [
            (chance.randrange(SERIES), chance.gauss(500.0, 5.0), 500.0, 5.0) for _ in range(PAIRS)
        ]
        began = time.process_time()
        for series, value, reference, u in pairs:
            error = value - reference
            z = error / u
            scores = (error, error * error, abs(error), z, z * z, abs(z), u, u * u)
            for mean, score in zip(means[series], scores, strict=True):
                mean.update(score)
        print((time.process_time() - began) / PAIRS)


if __name__ == "__main__":
    main()
