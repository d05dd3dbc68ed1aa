"""Tables of many sensors: references that are wrong, and who is shown first of ten thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from alarms_ours import BEGAN, STEP, records
from alarms_streams import PIVOT, SHAPES, Fault, Float, Sensors, autoregressive, classical, faulty
from alarms_table import judged, table

from monitor.core.model import Reading, Reference
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.verdict import FAULTS
from monitor.http.selection import SeriesQuery, select
from monitor.journal.in_memory import InMemoryStore

# --- references ----------------------------------------------------------------------------------

SENSORS = 50
U_REF = 0.2
BEFORE, AFTER = 30, 40  # rounds
WRONG, REPAIRED = 20, 60
Wrong = Callable[[Float, Float], Float]  # (truth, its own error) from the onset on -> its values

REFERENCES: dict[str, Wrong | None] = {
    "all honest": None,
    "offset 1 u": lambda truth, error: truth + error + 1.0,
    "noise x 5": lambda truth, error: truth + 5.0 * error,
    "noise x 10": lambda truth, error: truth + 10.0 * error,
    "stuck": lambda truth, error: np.full_like(truth, truth[0] + error[0]),
    "gain 1.5": lambda truth, error: PIVOT + 1.5 * (truth - PIVOT) + error,
    "one sensor off by 2 u": None,
}


def blamed(now: Snapshot) -> int:
    """Return how many series have an alert of a fault of their own."""
    return int(np.logical_or.reduce([now.alerts[fault] for fault in FAULTS]).sum())


class Met(NamedTuple):
    """Sensors of one reference: [rounds, sensors], and the reference's own."""

    rng: np.random.Generator
    value: Float
    reference: Float


def meetings(kind: str, seed: int, wrong_for: int = AFTER, repaired_for: int = 0) -> Met:
    """Return sensors whose reference is wrong for some rounds after 30, and right again later."""
    rng = np.random.default_rng([20261210, seed])
    until = BEFORE + wrong_for
    rounds = until + repaired_for
    truth = PIVOT + 3.0 * rng.standard_normal(rounds)
    error = U_REF * rng.standard_normal(rounds)
    reference, wrong = truth + error, REFERENCES[kind]
    if wrong:
        reference[BEFORE:until] = wrong(truth[BEFORE:until], error[BEFORE:until])
    value = truth[:, None] + rng.standard_normal((rounds, SENSORS))
    return Met(rng, value, reference)


def fed(of: Met) -> Iterator[tuple[int, Callable[[], Snapshot]]]:
    """Feed rounds to a network and yield each with what takes a look at it."""
    rules = SeriesRules(pairing=Rules("nearest", 30.0), window_pairs=100)
    plan = CoreSettings(
        lambda *_: rules,
        lambda _: [Concern("bench")],
        limits=Limits(SENSORS, SENSORS),
        window_pairs_max=100,
    )
    network = Network(plan, InMemoryStore())
    for at, (value, reference) in enumerate(zip(of.value, of.reference, strict=True)):
        time = BEGAN + STEP * at
        seen: list[Reading | Reference] = [Reference("bench", "q", time, reference, u=U_REF)]
        order = of.rng.permutation(SENSORS).tolist()
        seen += [
            Reading(f"s{i}", "q", time + 0.1 * n, value[i], u=1.0) for n, i in enumerate(order)
        ]
        network.apply(network.observe(seen, time + 10.0).pairs)
        yield at, partial(network.evaluate, time + 10.0)


def met(kind: str, seed: int) -> tuple[float, bool, int]:
    """Return (rounds until suspected, whether in the end, most sensors blamed at any look since).

    Before it is suspected every round is looked at, later every fifth.
    """
    of = meetings(kind, seed)
    if kind.startswith("one sensor"):
        of.value[BEFORE:, 0] += 2.0
    found, is_suspect, most = np.inf, False, 0
    last = BEFORE + AFTER - 1
    for at, look in fed(of):
        if at < BEFORE or (np.isfinite(found) and (last - at) % 5):
            continue
        now = look()
        is_suspect, most = bool(now.suspects), max(most, blamed(now))
        if is_suspect and np.isinf(found):
            found = at - BEFORE + 1.0
    return float(found), is_suspect, most


def repaired(kind: str, seed: int) -> tuple[int, int, float]:
    """Return what is said once a reference is right again after 20 rounds.

    Most honest sensors blamed, how many of them still 60 rounds later, and the rounds until one is
    that is off by 2 u from the repair on.
    """
    of = meetings(kind, seed, WRONG, REPAIRED)
    of.value[BEFORE + WRONG :, 0] += 2.0
    most, left, own = 0, 0, np.inf
    for at, look in fed(of):
        if at < BEFORE + WRONG or at % 2 == 0:
            continue
        now = look()
        row = [each.sensor for each in now.names].index("s0")
        is_own = any(bool(now.alerts[fault][row]) for fault in FAULTS)
        left = blamed(now) - is_own
        most = max(most, left)
        if is_own and np.isinf(own):
            own = at - BEFORE - WRONG + 1.0
    return most, left, float(own)


def references(share: float, pool: ProcessPoolExecutor) -> str:
    runs = max(2, round(10 * share))
    jobs = [(kind, seed) for kind in REFERENCES for seed in range(runs)]
    found = list(pool.map(met, *zip(*jobs, strict=True)))
    rows = []
    for at, kind in enumerate(REFERENCES):
        own = np.array(found[at * runs : (at + 1) * runs])
        middle, most = float(np.median(own[:, 0])), float(own[:, 2].max())
        shown = f"{middle:.0f}" if np.isfinite(middle) else f"> {AFTER}"
        ever, still = float(np.isfinite(own[:, 0]).mean()), float(own[:, 1].mean())
        goal = judged(middle, atmost=20) if REFERENCES[kind] else judged(ever, atmost=0.05)
        rows.append(
            [
                *(kind, f"{ever:.0%}", shown, goal, f"{still:.0%}", f"{own[:, 2].mean():.1f}"),
                *(f"{most:.0f}", judged(most, atmost=2)),
            ]
        )
    head = [f"{SENSORS} sensors, one reference", "suspected", "median rounds until then", "goal"]
    more = [f"still after {AFTER} rounds", "most sensors blamed, mean", "worst", "goal"]
    return table([*head, *more], rows) + "\n\n" + of_repairs(runs, pool)


def of_repairs(runs: int, pool: ProcessPoolExecutor) -> str:
    kinds = [kind for kind, wrong in REFERENCES.items() if wrong]
    found = list(
        pool.map(repaired, *zip(*((k, s) for k in kinds for s in range(runs)), strict=True))
    )
    rows = []
    for at, kind in enumerate(kinds):
        own = np.array(found[at * runs : (at + 1) * runs])
        most = float(own[:, 0].max())
        figures = f"{own[:, 0].mean():.1f}", f"{most:.0f}", judged(most, atmost=2)
        rows.append([kind, *figures, f"{own[:, 1].mean():.1f}", f"{np.median(own[:, 2]):.0f}"])
    head = [f"right again after {WRONG} rounds", "most honest sensors blamed since, mean", "worst"]
    more = ["goal", f"after {REPAIRED} rounds", "rounds until one is that is off by 2 u since then"]
    return table([*head, *more], rows)


# --- a fleet -------------------------------------------------------------------------------------

FLEET, BAD = 10_000, 200
LENGTH, LOOKS = 720, (408, 504, 600, 720)
SHOWN = 100
FLEET_SHAPES = {**SHAPES, "AR(0.5)": autoregressive(0.5)}
KINDS = (
    *(Fault(offset=size) for size in (0.5, 1.0, 2.0)),
    *(Fault(scale=size) for size in (1.5, 2.0, 0.5)),
)


def some_bad(shape: str, count: int, bad: int) -> Sensors:
    """Return a fleet whose first sensors are bad from some pair of 100 to 400 on."""
    rng = np.random.default_rng([20261211, len(shape)])
    s = classical(FLEET_SHAPES[shape])(rng, (count, LENGTH))
    for row in range(bad):
        one = Sensors(*(each[row : row + 1] for each in s[:6]))
        wrong = faulty(KINDS[row % len(KINDS)], one, int(rng.integers(100, 400)), rng)
        s.value[row] = wrong.value[0]
    return s


def looked_at(job: tuple[str, int, int]) -> list[str]:
    """Return what a person sees of a fleet, means of a few looks."""
    shape, count, bad = job
    pairs = records(some_bad(shape, count, bad))
    plan = CoreSettings(
        lambda *_: SeriesRules(window_pairs=100, stale_after_seconds=np.inf),
        limits=Limits(count, count),
        window_pairs_max=100,
        replay_in_windows=False,
    )
    network = Network(plan, InMemoryStore())
    names = np.random.default_rng(20261212).permutation(count)
    for row in range(count):
        network.registry.add(f"sensor {names[row]:05d}", "q")
    looks = []
    for first in range(0, LENGTH, 24):
        network.apply(pairs[:, first : first + 24].ravel())
        if first + 24 in LOOKS:
            looks.append(_seen(network.evaluate(BEGAN + STEP * (first + 24)), bad))
    wrong, warned, found, paged, called = np.mean(looks, axis=0)
    goals = judged(wrong, atmost=0.05), judged(paged, atmost=0.01)
    figures = f"{wrong:.1%}", goals[0], f"{warned:.1%}", f"{found:.0%}"
    return [shape, *figures, f"{paged:.1%}", goals[1], f"{called:.0%}"]


def _seen(now: Snapshot, bad: int) -> tuple[float, ...]:
    """Return the honest share of the first shown, of warnings, and of pages, and what is found."""
    warned = np.logical_or.reduce([now.alerts[fault] for fault in FAULTS])
    first = select(now, SeriesQuery(rows=SHOWN)).rows[: max(1, min(SHOWN, int(warned.sum())))]
    paged = now.paged if now.paged is not None else np.zeros(warned.size, np.bool_)
    return (
        float((first >= bad).mean()),
        float(warned[bad:].sum() / max(1, warned.sum())),
        float(warned[:bad].mean()),
        float(paged[bad:].sum() / max(1, paged.sum())),
        float(paged[:bad].mean()),
    )


def fleet(share: float, pool: ProcessPoolExecutor) -> str:
    count, bad = max(1000, round(FLEET * share)), max(20, round(BAD * share))
    rows = list(pool.map(looked_at, [(shape, count, bad) for shape in ("normal", "t4", "AR(0.5)")]))
    head = [f"{count:,} sensors, {bad} wrong", f"honest among the first {SHOWN} shown", "goal"]
    more = ["honest among warnings", "wrong ones warned of", "honest among pages", "goal"]
    return table([*head, *more, "wrong ones paged"], rows)
