"""What the detector does on simulated sensors: false alarms, delays, attribution, cost.

Run ``python benchmarks/detection.py`` (about five minutes of one core): it prints the tables and
writes them between the markers of docs/detection.md. ``--only NAME`` runs one table, ``--quick``
takes a tenth of the streams and writes nothing, ``--peers`` adds the change detectors of river.
All seeds are fixed; times are the only numbers that change from run to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from monitor.core.bets import FAMILIES, coverage_code
from monitor.core.detection import Detector

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Float]

PATIENCE = 1000.0
BLOCK = 100  # pairs of each stream handed over at once
ONSET = 200
DOCS = Path(__file__).parents[1] / "docs" / "detection.md"


# --- honest errors: mean 0, standard deviation 1 -------------------------------------------------


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.standard_normal(shape)


def student(nu: float) -> Draw:
    return lambda rng, shape: rng.standard_t(nu, shape) / np.sqrt(nu / (nu - 2))


def laplace(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.laplace(0, np.sqrt(0.5), shape)


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return rng.exponential(1, shape) - 1


def contaminated(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    wide = np.where(rng.random(shape) < 0.05, 5.0, 1.0)
    return rng.standard_normal(shape) * wide / np.sqrt(0.95 + 0.05 * 25)


def autoregressive(rho: float, innovations: Draw = normal) -> Draw:
    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
        z = innovations(rng, shape)
        scale = np.sqrt(1 - rho * rho)
        for t in range(1, shape[1]):
            z[:, t] = rho * z[:, t - 1] + scale * z[:, t]
        return z

    return draw


def cyclic(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    phase = rng.uniform(0, 2 * np.pi, (shape[0], 1))
    wave = 0.7 * np.sin(2 * np.pi * np.arange(shape[1]) / 24 + phase)
    return wave + np.sqrt(1 - 0.245) * rng.standard_normal(shape)


def garch(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    z = rng.standard_normal(shape)
    variance = np.ones(shape[0])
    for t in range(shape[1]):
        z[:, t] *= np.sqrt(variance)
        variance = 0.1 + 0.1 * z[:, t] ** 2 + 0.8 * variance
    return z


def corner(rng: np.random.Generator, shape: tuple[int, int]) -> Float:
    return 0.1 + 1.1 * rng.standard_normal(shape)


# name: (draw, mean pairs between false alarms it must reach)
SHAPES: dict[str, tuple[Draw, float]] = {
    "normal": (normal, 40_000),
    "t4": (student(4), 30_000),
    "t3": (student(3), 2_500),
    "Laplace": (laplace, 15_000),
    "exponential - 1": (exponential, 15_000),
    "5 % N(0, 25) contaminated": (contaminated, 2_500),
    "AR(0.3)": (autoregressive(0.3), 30_000),
    "AR(0.5)": (autoregressive(0.5), 25_000),
    "AR(0.7)": (autoregressive(0.7), 18_000),
    "AR(0.9)": (autoregressive(0.9), 0),
    "AR(0.5), t4 innovations": (autoregressive(0.5, student(4)), 0),
    "24-pair cycle, amplitude 0.7": (cyclic, 0),
    "GARCH(0.1, 0.8)": (garch, 0),
    "bias 0.1 and sd 1.1": (corner, 2_000),
}

# name: (fault applied to z from its onset on, largest median delay or 0)
Fault = Callable[[Float], Float]


def ramp(slope: float) -> Fault:
    return lambda z: z + slope * np.arange(1, z.shape[1] + 1)


def gain(z: Float) -> Float:
    v = np.random.default_rng(20260102).standard_normal((1000, ONSET + 2500))
    return z + v[: z.shape[0], -z.shape[1] :]


def outliers(z: Float) -> Float:
    rng = np.random.default_rng(20260103)
    sign = np.where(rng.random(z.shape) < 0.5, -8.0, 8.0)
    return np.where(rng.random(z.shape) < 0.025, sign, z)


FAULTS: dict[str, tuple[Fault, float]] = {
    "offset 0.25 u": (lambda z: z + 0.25, 0),
    "offset 0.5 u": (lambda z: z + 0.5, 95),
    "offset 1 u": (lambda z: z + 1, 26),
    "offset 2 u": (lambda z: z + 2, 9),
    "ramp 0.002 u/pair": (ramp(0.002), 0),
    "ramp 0.01 u/pair": (ramp(0.01), 92),
    "ramp 0.05 u/pair": (ramp(0.05), 0),
    "sd x 1.5": (lambda z: z * 1.5, 52),
    "sd x 2": (lambda z: z * 2, 19),
    "sd x 3": (lambda z: z * 3, 9),
    "sd / 2": (lambda z: z / 2, 64),
    "gain, sd 1 u": (gain, 0),
    "2.5 % outliers": (outliers, 0),
}
DAY_ZERO = {"offset 0.5 u": 0, "offset 1 u": 40, "sd x 2": 23, "sd / 2": 0}


# --- running streams -----------------------------------------------------------------------------


def first_alarms(
    z: Float, *, coverage: bool = False, patience: float = PATIENCE
) -> tuple[Int, list[str]]:
    """Return the pair index and family of each stream's first alarm (length, "" if none)."""
    streams, length = z.shape
    detector = Detector(np.full(streams, patience), np.full(streams, coverage))
    alarm = np.full(streams, length)
    family = [""] * streams
    running = np.arange(streams)
    for first in range(0, length, BLOCK):
        block = z[running, first : first + BLOCK]
        starts = np.arange(running.size) * block.shape[1]
        for change in detector.advance(running, starts, block.ravel()):
            if change.after == "firing" and alarm[change.series] == length:
                alarm[change.series] = first + change.position % block.shape[1]
                family[change.series] = change.family
        running = running[alarm[running] == length]
        if not running.size:
            break
    return alarm, family


def between_alarms(alarm: Int, length: int) -> float:
    """Return mean pairs to a false alarm, streams without one censored at their length."""
    return float((np.minimum(alarm + 1, length)).sum() / max(1, (alarm < length).sum()))


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def judged(value: float, *, atleast: float = 0, atmost: float = 0) -> str:
    if atleast and value < atleast:
        return f"FAIL (>= {atleast:,g})"
    if atmost and value > atmost:
        return f"FAIL (<= {atmost:,g})"
    return f">= {atleast:,g}" if atleast else (f"<= {atmost:,g}" if atmost else "")


# --- tables --------------------------------------------------------------------------------------


def false_alarms(share: float) -> str:
    streams, length = max(30, round(300 * share)), 20_000
    rows = []
    for name, (draw, wanted) in SHAPES.items():
        z = draw(np.random.default_rng(20260107), (streams, length))
        alarm, _ = first_alarms(z)
        mean = between_alarms(alarm, length)
        early = float((alarm < 100).mean())
        rows.append(
            [name, f"{mean:,.0f}", f"{early:.1%}", str((alarm < length).sum())]
            + [judged(mean, atleast=wanted)]
        )
        progress(rows[-1])
    head = ["honest errors", "mean pairs between false alarms", "alarm in the first 100 pairs"]
    return table([*head, "alarms seen", "wanted"], rows)


def delays(share: float) -> str:
    streams = max(100, round(1000 * share))
    honest = np.random.default_rng(20260101).standard_normal((1000, ONSET + 2500))[:streams]
    t4 = student(4)(np.random.default_rng(20260101), (1000, ONSET + 2500))[:streams]
    rows = []
    for name, (fault, wanted) in FAULTS.items():
        cells = [name]
        for z in (honest, t4):
            faulty = np.concatenate([z[:, :ONSET], fault(z[:, ONSET:])], axis=1)
            alarm, _ = first_alarms(faulty)
            late = alarm[alarm >= ONSET] - ONSET + 1
            cells += [f"{np.median(late):.0f}", f"{(late > 2000).mean():.1%}"]
        cells.append(judged(float(cells[1]), atmost=wanted))
        if name in DAY_ZERO:
            alarm, _ = first_alarms(fault(honest[:, ONSET:]))
            median = float(np.median(alarm + 1))
            cells += [f"{median:.0f}", judged(median, atmost=DAY_ZERO[name])]
        rows.append(cells + [""] * (8 - len(cells)))
        progress(rows[-1])
    head = ["fault", "median delay, normal", "missed within 2000", "median delay, t4"]
    return table([*head, "missed", "wanted (normal)", "from day 0, normal", "wanted"], rows)


def coverage(share: float) -> str:
    streams = max(100, round(400 * share))
    rows = []
    for level, k in ((0.9, 1.6448536), (0.95, 1.959964), (0.68, 0.9944579)):
        for name, draw in (("normal", normal), ("t4", student(4))):
            z = draw(np.random.default_rng(20260110), (streams, 5000))
            if name == "t4":  # an interval that is honest for t4 errors
                sorted_z = np.sort(np.abs(z).ravel())
                half = float(sorted_z[int(level * sorted_z.size)])
            else:
                half = k
            alarm, _ = first_alarms(codes(z, half, level), coverage=True)
            cells = [f"{level:.0%} intervals, {name}", f"{between_alarms(alarm, 5000):,.0f}"]
            for fault in ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 2", "sd / 2"):
                faulty = np.concatenate([z[:, :ONSET], FAULTS[fault][0](z[:, ONSET:2000])], axis=1)
                alarm, _ = first_alarms(codes(faulty, half, level), coverage=True)
                cells.append(f"{np.median(alarm[alarm >= ONSET] - ONSET + 1):.0f}")
            rows.append(cells)
            progress(cells)
    head = ["interval-only sensors", "mean pairs between false alarms"]
    return table([*head, "0.5 u", "1 u", "2 u", "sd x 2", "sd / 2"], rows)


def codes(z: Float, half: float, level: float) -> Float:
    return coverage_code(-z, np.full_like(z, -half), np.full_like(z, half), np.full_like(z, 1 - level))


def life_cycle(share: float) -> str:
    streams, fault_length, length = max(60, round(400 * share)), 1200, 2000
    rows = []
    wanted = {"offset 0.5 u": 75, "offset 1 u": 26, "offset 2 u": 9}
    for shape in ("normal", "t4", "AR(0.5)"):
        z = SHAPES[shape][0](np.random.default_rng(20260111), (streams, length))
        for name in ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 1.5", "sd x 2", "sd / 2"):
            faulty = z.copy()
            span = slice(ONSET, ONSET + fault_length)
            faulty[:, span] = FAULTS[name][0](z[:, span])
            after, flaps, pairs = resolutions(faulty, ONSET, ONSET + fault_length)
            median = float(np.median(after)) if after.size else np.nan
            verdict = judged(median, atmost=wanted.get(name, 0) if shape == "normal" else 0)
            rows.append([shape, name, f"{median:.0f}", f"{1000 * flaps / pairs:.2f}", verdict])
            progress(rows[-1])
    head = ["errors", "fault", "median pairs from repair to resolved"]
    return table([*head, "false resolutions per 1000 faulty pairs", "wanted"], rows)


def resolutions(z: Float, onset: int, repaired: int) -> tuple[Int, int, int]:
    """Return (pairs from repair to resolved, false resolutions, firing pairs) over streams."""
    streams, length = z.shape
    detector = Detector(np.full(streams, PATIENCE))
    rows = np.arange(streams)
    changes = detector.advance(rows, rows * length, z.ravel())
    since = np.full(streams, -1)
    after, flaps, pairs = [], 0, 0
    for change in changes:
        at = change.position % length
        if change.after == "firing":
            since[change.series] = at
        elif change.before == "firing":
            began = since[change.series]
            if at < repaired:
                flaps += began >= onset
                pairs += at - began
            elif began < repaired:
                after.append(at - repaired + 1)
                pairs += repaired - began
    return np.array(after), flaps, pairs


def cost(_: float) -> str:
    sensors = np.arange(10_000)
    detector = Detector(np.full(sensors.size, PATIENCE))
    rng = np.random.default_rng(1)
    rounds = rng.standard_normal((20, sensors.size))
    one = np.zeros(1, np.int64)
    timed = {}
    for name, batches, rows, starts in (
        ("10 000 sensors, one pair each", list(rounds), sensors, sensors),
        ("10 000 sensors, 20 pairs each", [rounds.T.ravel()] * 2, sensors, sensors * 20),
        ("one sensor, 20 000 pairs", [rounds[:2].ravel()], one, one),
        ("one sensor, one pair", list(rounds[0, :2000, None]), one, one),
    ):
        detector.advance(rows, starts, batches[0])
        began = time.perf_counter()
        for batch in batches:
            detector.advance(rows, starts, batch)
        pairs = sum(batch.size for batch in batches)
        timed[name] = 1e6 * (time.perf_counter() - began) / pairs
    rows = [[name, f"{microseconds:.2f}"] for name, microseconds in timed.items()]
    return table(["batch", "microseconds a pair"], rows)


TABLES: dict[str, Callable[[float], str]] = {
    "false-alarms": false_alarms,
    "delays": delays,
    "coverage": coverage,
    "life-cycle": life_cycle,
    "cost": cost,
}


def progress(cells: list[str]) -> None:
    print("  " + "  ".join(cells), file=sys.stderr, flush=True)


def write(name: str, text: str) -> None:
    """Put ``text`` between the markers of table ``name`` in the document."""
    document = DOCS.read_text(encoding="utf-8")
    opening, closing = f"<!-- table {name} -->", f"<!-- end {name} -->"
    before, rest = document.split(opening)
    _, after = rest.split(closing)
    DOCS.write_text(f"{before}{opening}\n{text}\n{closing}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=[*TABLES], action="append")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    for name in arguments.only or TABLES:
        print(f"{name}", file=sys.stderr)
        text = TABLES[name](0.1 if arguments.quick else 1.0)
        print(text + "\n")
        if not arguments.quick:
            write(name, text)


if __name__ == "__main__":
    main()
