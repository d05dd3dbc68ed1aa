"""Tables of how incidents end: all-clears after a repair, or while still wrong; how often."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import numpy as np
from alarms_ours import Change, changes
from alarms_streams import SHAPES, Fault, Float, Sensors, classical, faulty
from alarms_table import judged, table

ONSET = 200
REPAIRED = {
    **{f"offset {size:g} u": Fault(offset=size) for size in (0.5, 1.0, 2.0, 5.0, 8.0, 20.0)},
    "sd x 2": Fault(scale=2.0),
    "sd / 2": Fault(scale=0.5),
}
CLEAR = {"normal": 30.0, "AR(0.7)": 150.0}  # pairs to the all-clear, of an offset from 1 u on
STILL = 300  # pairs after a change that is no repair
STEADY = 1000  # pairs of a steady fault

STILL_WRONG: dict[str, tuple[Fault, Fault]] = {
    "+1 u, then sd x 2": (Fault(offset=1.0), Fault(scale=2.0)),
    "2 u, then 0.5 u": (Fault(offset=2.0), Fault(offset=0.5)),
    "sd x 2.5, then sd x 1.4": (Fault(scale=2.5), Fault(scale=1.4)),
    "2 u, then -2 u": (Fault(offset=2.0), Fault(offset=-2.0)),
}
STEADY_FAULTS: dict[str, Fault | None] = {
    "offset 1 u": Fault(offset=1.0),
    "sd x 2": Fault(scale=2.0),
    "sd / 2": Fault(scale=0.5),
    "gain 1.25": Fault(gain=1.25),
    "5 % outliers of 6 u": Fault(outliers=0.05),
    "bursts": None,
}


def at(found: list[Change], pair: int) -> dict[int, bool]:
    """Return which sensors fire just before a pair."""
    state: dict[int, bool] = {}
    for change in found:
        if change.pair < pair:
            state[change.row] = change.fires
    return state


def ends(found: list[Change], rows: list[int], pair: int) -> dict[int, int]:
    """Return for each of some firing sensors when its alert ends, from a pair on."""
    end: dict[int, int] = {}
    for change in found:
        if change.pair >= pair and not change.fires and change.row in rows:
            end.setdefault(change.row, change.pair)
    return end


def repaired(job: tuple[str, str, int]) -> list[str]:
    shape, name, count = job
    fault = REPAIRED[name]
    lasting, after = 300, 2000 if shape.startswith("AR") else 600
    repair = ONSET + lasting
    rng = np.random.default_rng([20261201, len(shape)])
    s = classical(SHAPES[shape])(rng, (count, repair + after))
    found = changes(faulty(fault, s, ONSET, rng, repair))
    rows = [row for row, fires in at(found, repair).items() if fires]
    end = ends(found, rows, repair)
    pairs = np.array([end.get(row, repair + after) - repair + 1 for row in rows], float)
    again = [
        any(c.row == row and c.fires and end[row] < c.pair <= end[row] + STILL for c in found)
        for row in rows
        if end.get(row, repair + after) + STILL < repair + after
    ]
    cells = [f"{shape}, {name} repaired", str(len(rows))]
    if not rows:
        return [*cells, "", "", "", ""]
    middle, most = np.percentile(pairs, [50, 90])
    goal = judged(float(middle), atmost=CLEAR[shape]) if fault.offset >= 1.0 else ""
    return [*cells, f"{middle:.0f}", goal, f"{most:.0f}", f"{np.mean(again):.0%}" if again else ""]


def all_clears(share: float, pool: ProcessPoolExecutor) -> str:
    count = max(20, round(100 * share))
    rows = pool.map(repaired, [(shape, name, count) for shape in CLEAR for name in REPAIRED])
    head = ["repaired after 300 pairs", "firing then", "median pairs to the all-clear", "goal"]
    return table([*head, "90 %", f"fires again within {STILL}"], list(rows))


def changed(job: tuple[str, str, int]) -> list[str]:
    shape, name, count = job
    first, second = STILL_WRONG[name]
    change, length = ONSET + 200, ONSET + 200 + STILL
    rng = np.random.default_rng([20261202, len(shape)])
    honest = classical(SHAPES[shape])(rng, (count, length))
    s = faulty(first, honest, ONSET, rng, change)
    after = faulty(second, honest, change, rng)
    value = np.hstack([s.value[:, :change], after.value[:, change:]])
    found = changes(s._replace(value=value))
    rows = [row for row, fires in at(found, change).items() if fires]
    cleared = len(ends(found, rows, change)) / max(1, len(rows))
    name = f"{shape}, {name}"
    return [name, str(len(rows)), f"{cleared:.0%}", judged(cleared, atmost=0.05)]


def still_wrong(share: float, pool: ProcessPoolExecutor) -> str:
    count = max(20, round(100 * share))
    jobs = [(shape, name, count) for shape in SHAPES for name in STILL_WRONG]
    head = ["the fault changes", "firing then", f"all-clear within {STILL} pairs", "goal"]
    return table(head, list(pool.map(changed, jobs)))


def bursts(s: Sensors) -> Sensors:
    """Return sensors with 20 pairs of errors 4 times as wide in every 100, from the onset on."""
    pair = np.arange(s.value.shape[1])
    wide: Float = np.where((pair >= ONSET) & ((pair - ONSET) % 100 < 20), 4.0, 1.0)
    return s._replace(value=s.reference + wide * (s.value - s.reference))


def steady(job: tuple[str, str, int]) -> float:
    shape, name, count = job
    rng = np.random.default_rng([20261203, len(shape)])
    s = classical(SHAPES[shape])(rng, (count, ONSET + STEADY))
    fault = STEADY_FAULTS[name]
    found = changes(bursts(s) if fault is None else faulty(fault, s, ONSET, rng))
    return sum(each.fires and each.pair >= ONSET for each in found) / count


def incidents(share: float, pool: ProcessPoolExecutor) -> str:
    count = max(20, round(100 * share))
    jobs = [(shape, name, count) for name in STEADY_FAULTS for shape in SHAPES]
    found = list(pool.map(steady, jobs))
    rows = []
    for at, name in enumerate(STEADY_FAULTS):
        own = found[at * len(SHAPES) : (at + 1) * len(SHAPES)]
        rows.append([name, *(f"{each:.2f}" for each in own), judged(max(own), atmost=1.1)])
    return table([f"incidents in {STEADY} pairs of a steady fault", *SHAPES, "goal"], rows)
