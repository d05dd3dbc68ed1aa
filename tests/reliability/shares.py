"""How much of each trial: a share that fits into continuous integration, or all of it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Share(NamedTuple):
    """How often each thing is done; ``keepalive`` s is the connection's.

    ``pairs`` pass through windows, ``cases`` are scored; steady work takes ``long_seconds``,
    late references ``late_seconds``. Seeds and inputs are those of one portion.
    """

    kills: int
    points: int
    terminations: int
    restarts: int
    cuts: int
    partitions: int
    traced: int
    flood_seconds: float
    backlog: int
    invented: int
    rubbish: int
    slow_clients: int
    slow_seconds: float
    silent: int
    crowd_seconds: float
    seeds: int
    inputs: int
    flips: int
    keepalive: int
    pairs: int
    cases: int
    long_seconds: float
    late_seconds: float
    portions: int = 1
    portion: int = 0

    def each_portion(self) -> list[Share]:
        """Return what of it is done at a time."""
        return [self._replace(portion=number) for number in range(self.portions)]


SHARES: Final[dict[str, Share]] = {
    "smallest": Share(
        4, 8, 2, 1, 3, 1, 500, 1.0, 2_000, 2_000, 300, 200, 1.0, 100, 4.0, 40,
        2_000, 40, 3, 100_000, 20_000, 10.0, 6.0,
    ),
    "ci": Share(
        40, 60, 10, 3, 20, 2, 5_000, 10.0, 50_000, 50_000, 5_000, 500, 10.0, 1_000, 10.0,
        2_000, 20_000, 300, 5, 1_000_000, 100_000, 60.0, 20.0,
    ),
    "full": Share(
        1_000, 500, 50, 50, 500, 5, 50_000, 60.0, 200_000, 1_000_000, 50_000, 500, 60.0, 10_000,
        60.0, 1_000, 500_000, 10_000, 15, 100_000_000, 1_000_000, 2_400.0, 3_600.0, 20,
    ),
}  # fmt: skip
