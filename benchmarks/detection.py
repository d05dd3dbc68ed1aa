"""What the detector does on simulated sensors: false alarms, delays, attribution, cost.

Run ``python benchmarks/detection.py`` (about six minutes of one core): it prints the tables and
writes them between the markers of docs/detection.md. ``--only NAME`` runs one table, ``--quick``
takes a tenth of the streams and writes nothing, ``--peers`` runs the change detectors of river
(``pip install river==0.26.1``) on the same streams instead.
All seeds are fixed; times are the only numbers that change from run to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from monitor.core.bets import coverage_code
from monitor.core.columns import Columns, columns
from monitor.core.detection import Detector
from monitor.core.diagnosis import diagnose

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
            [
                name,
                f"{mean:,.0f}",
                f"{early:.1%}",
                str((alarm < length).sum()),
                judged(mean, atleast=wanted),
            ]
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
    return coverage_code(
        -z, np.full_like(z, -half), np.full_like(z, half), np.full_like(z, 1 - level)
    )


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


ATTRIBUTED: dict[str, tuple[str, float]] = {  # fault: (label it must get, share wanted at +20)
    "offset 0.5 u": ("offset", 0.9),
    "offset 1 u": ("offset", 0.9),
    "offset 2 u": ("offset", 0.9),
    "offset -1 u": ("offset", 0.9),
    "ramp 0.01 u/pair": ("offset", 0.9),
    "sd x 1.5": ("understated", 0.9),
    "sd x 2": ("understated", 0.9),
    "sd x 3": ("understated", 0.9),
    "sd / 2": ("overstated", 0.9),
    "sd / 3": ("overstated", 0.9),
    "gain 1.25": ("gain", 0.9),
    "gain 1.5": ("gain", 0.9),
    "stuck": ("stuck", 0.9),
    "5 % outliers": ("outliers", 0.9),
    "2 % outliers": ("outliers", 0.0),
}


def physical(name: str, draw: Draw, streams: int, length: int) -> dict[str, Float]:
    """Return columns [streams, length] of sensors in physical units, faulty from ONSET on."""
    rng = np.random.default_rng(20260112)
    shape = (streams, length)
    truth, u = rng.normal(100, 20, shape), 5 * np.exp(0.2 * rng.standard_normal(shape))
    error = u * draw(rng, shape)
    kind, *size = name.split(" ")
    now = np.arange(length) >= ONSET
    if kind == "offset":
        error = error + now * float(size[0]) * u
    elif kind == "ramp":
        error = error + 0.01 * np.maximum(np.arange(length) - ONSET + 1, 0) * u
    elif kind == "sd":
        factor = float(size[1]) if size[0] == "x" else 1 / float(size[1])
        error = np.where(now, factor, 1.0) * error
    elif kind == "gain":
        error = error + now * (float(size[0]) - 1) * (truth - 100)
    elif "outliers" in name:
        hit = now & (rng.random(shape) < float(kind) / 100)
        error = np.where(hit, np.where(rng.random(shape) < 0.5, 8, -8) * u, error)
    value = truth + error
    if kind == "stuck":
        value[:, ONSET:] = value[:, ONSET, None]
    reference = truth + rng.standard_normal(shape)
    return {"value": value, "reference": reference, "u": u, "u_ref": np.ones(shape)}


def attribution(share: float) -> str:
    streams, rows = max(60, round(300 * share)), []
    for name, (label, wanted) in ATTRIBUTED.items():
        cells = [name, label]
        for shape in ("normal", "t4", "AR(0.5)"):
            named, later = labels(physical(name, SHAPES[shape][0], streams, ONSET + 1200))
            right = [np.mean([found == label for found in part]) for part in (named, later)]
            cells.append(f"{right[0]:.2f} -> {right[1]:.2f}")
        cells.append(judged(float(cells[2][-4:]), atleast=wanted))
        rows.append(cells)
        progress(cells)
    return table(
        ["fault", "label", "right, normal", "t4", "AR(0.5)", "wanted at +20, normal"], rows
    )


def labels(world: dict[str, Float], later: int = 20) -> tuple[list[str], list[str]]:
    """Return the labels at each stream's alarm and ``later`` pairs after it."""
    z = (world["value"] - world["reference"]) / np.hypot(world["u"], world["u_ref"])
    streams, length = z.shape
    detector = Detector(np.full(streams, PATIENCE))
    running, alarm = np.arange(streams), np.full(streams, -1)
    family = [""] * streams
    found: tuple[list[str], list[str]] = ([], [])
    for t in range(length):
        changes = detector.advance(running, np.arange(running.size), z[running, t])
        for change in changes:
            if change.after == "firing" and alarm[change.series] < 0:
                alarm[change.series], family[change.series] = t, change.family
        for place, moment in enumerate((0, later)):
            for row in running[(alarm[running] >= ONSET) & (alarm[running] == t - moment)]:
                rho = float(detector.rho(np.array([row]))[0])
                window = one(world, row, max(0, t - 511), t + 1)
                at = int(alarm[row]) - max(0, t - 511)
                found[place].append(diagnose(window, rho, family[row], at).label)
        running = running[(alarm[running] < 0) | (alarm[running] > t - later)]
        if not running.size:
            break
    return found


def one(world: dict[str, Float], row: int, first: int, last: int) -> Columns:
    """Return one stream's pairs as columns."""
    part = {name: rows[row, first:last] for name, rows in world.items()}
    blank = np.full(last - first, np.nan)
    return columns(
        np.zeros(1, np.int64),
        time=np.arange(float(last - first)),
        lower=blank,
        upper=blank,
        p=blank,
        level=0.9,
        **part,
    )


def fleet(share: float) -> str:
    """Return the share of alarmed sensors that are honest, every 24 pairs.

    Of evidence that runs on, so that an honest sensor's falls again, and of alerts until resolved.
    """
    sensors, bad, length = max(1000, round(10_000 * share)), max(10, round(100 * share)), 720
    kinds = ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 1.5", "sd x 2", "sd / 2")
    rows = []
    for shape, most in (("normal", 0.02), ("t4", 0.03), ("AR(0.5)", 0.08)):
        rng = np.random.default_rng(20260113)
        z = SHAPES[shape][0](rng, (sensors, length))
        for row, onset in enumerate(rng.integers(100, 400, bad).tolist()):
            part = z[row : row + 1, onset:]
            z[row, onset:] = FAULTS[kinds[row % len(kinds)]][0](part)[0]
        above, _ = reports(z, bad, lasting=False)
        firing, found = reports(z, bad, lasting=True)
        rows.append([shape, f"{above:.1%}", judged(above, atmost=most), f"{firing:.1%}"])
        rows[-1].append(f"{found:.2f}")
        progress(rows[-1])
    head = ["errors", "honest among S >= 1000", "wanted", "honest among firing alerts"]
    return table([*head, "bad sensors firing at the end"], rows)


def reports(z: Float, bad: int, *, lasting: bool) -> tuple[float, float]:
    """Return (share of honest sensors in reports 18 to 30, share of bad ones in the last)."""
    detector, every = Detector(np.full(z.shape[0], PATIENCE)), np.arange(z.shape[0])
    wrong, step = [], 24 if lasting else 1
    for last in range(step, z.shape[1] + 1, step):
        detector.advance(every, every * step, z[:, last - step : last].ravel())
        fires = (detector.states(every) == 2) & (detector.evidence(every) >= PATIENCE)
        if last % 24 == 0:
            wrong.append(fires[bad:].sum() / max(1, fires.sum()))
        rows = bad + np.flatnonzero(fires[bad:])
        if not lasting and rows.size:
            records = detector.records(rows)
            records["state"] = 0
            detector.restore(rows, records, np.arange(rows.size) * last, z[rows, :last].ravel())
    return float(np.mean(wrong[17:])), float(fires[:bad].mean())


def peers(share: float) -> str:
    """Return delays and misses of river's change detectors on the same streams."""
    try:
        drift = import_module("river.drift")
    except ImportError:
        sys.exit("river is not installed: pip install river==0.26.1, then run --peers again")
    watch = {
        "ADWIN z or z2": ([lambda: drift.ADWIN(0.03), lambda: drift.ADWIN(0.008)], 200),
        "PageHinkley z or z2": (
            [lambda: drift.PageHinkley(threshold=250), lambda: drift.PageHinkley(threshold=300)],
            200,
        ),
        "KSWIN z (15 streams)": ([lambda: drift.KSWIN(alpha=5e-5, seed=1)], 15),
    }
    honest = np.random.default_rng(20260101).standard_normal((1000, ONSET + 2500))
    rows = []
    for name in (*KNOWN_TO_PEERS, *(f"{name}, from day 0" for name in DAY_ZERO)):
        fault, day_zero = FAULTS[name.removesuffix(", from day 0")][0], name.endswith("day 0")
        onset = 0 if day_zero else ONSET
        start = ONSET if day_zero else 0
        z = honest[:200, start : start + onset + round(1000 * share)]
        z = np.concatenate([z[:, :onset], fault(z[:, onset:])], axis=1)
        cells = [name, median_and_misses(first_alarms(z)[0], onset, z.shape[1])]
        for made, streams in watch.values():
            alarm = np.array([first_drift(made, row) for row in z[:streams]])
            cells.append(median_and_misses(alarm, onset, z.shape[1]))
        rows.append(cells)
        progress(cells)
    return table(["median delay (missed within 1000)", "this detector", *watch], rows)


KNOWN_TO_PEERS = (
    *("offset 0.5 u", "offset 1 u", "offset 2 u"),
    *("sd x 1.5", "sd x 2", "sd x 3", "sd / 2"),
)


def first_drift(made: list[Callable[[], Any]], z: Float) -> int:
    """Return the index at which the first of the detectors (on z, on z squared) sees a drift."""
    detectors = [make() for make in made]
    for index, value in enumerate(z.tolist()):
        for power, detector in enumerate(detectors, start=1):
            detector.update(value**power)
            if detector.drift_detected:
                return index
    return int(z.size)


def median_and_misses(alarm: Int, onset: int, length: int) -> str:
    late = alarm[alarm >= onset]
    missed = float((late == length).mean())
    middle = "-" if missed >= 0.5 else f"{np.median(late) - onset + 1:.0f}"
    return f"{middle} ({missed:.0%})"


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
    "attribution": attribution,
    "fleet": fleet,
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
    parser.add_argument("--peers", action="store_true", help="only river's detectors beside ours")
    arguments = parser.parse_args()
    every = {"peers": peers} if arguments.peers else TABLES
    for name in arguments.only or every:
        print(f"{name}", file=sys.stderr)
        text = every[name](0.1 if arguments.quick else 1.0)
        print(text + "\n")
        if not arguments.quick:
            write(name, text)


if __name__ == "__main__":
    main()
