"""What the detector does on simulated sensors: false alarms, delays, cost.

Run ``python benchmarks/detection.py`` (about fifteen minutes of one core): it prints the tables and
writes them between the markers of docs/evidence/detection.md. ``--only NAME`` runs one table,
``--quick`` takes a tenth of the streams and writes nothing, ``--peers`` runs the change detectors
of river (``pip install river==0.26.1``) on the same streams instead. All seeds are fixed; times are
the only numbers that change from run to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from detection_charts import charts
from detection_faults import fleet
from detection_limits import conventional, thresholds
from detection_peers import peers
from detection_references import references
from detection_streams import (
    DAY_ZERO,
    FAULTS,
    ONSET,
    PATIENCE,
    SHAPES,
    between_alarms,
    codes,
    first_alarms,
    judged,
    progress,
    student,
    table,
)

from monitor.core.detector.detector import Detector

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]

DOCS = Path(__file__).parents[1] / "docs" / "evidence" / "detection.md"


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
        for name in ("normal", "t4", "AR(0.5)"):
            z = SHAPES[name][0](np.random.default_rng(20260110), (streams, 5000))
            # t4 errors get the interval that is honest for them.
            half = float(np.quantile(np.abs(z), level)) if name == "t4" else k
            alarm, _ = first_alarms(codes(z, half, level), coverage=True)
            cells = [f"{level:.0%} intervals, {name}", f"{between_alarms(alarm, 5000):,.0f}"]
            for fault in ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 2", "sd / 2"):
                faulty = np.concatenate([z[:, :ONSET], FAULTS[fault][0](z[:, ONSET:2000])], axis=1)
                alarm, _ = first_alarms(codes(faulty, half, level), coverage=True)
                cells.append(f"{np.median(alarm[alarm >= ONSET] - ONSET + 1):.0f}")
            rows.append(cells)
            progress(cells)
        for u_ref in (0.5, 1.0):
            rng = np.random.default_rng(20260110)
            z, noise = rng.standard_normal((2, streams, 5000))
            half = k * np.sqrt(1.0 + u_ref * u_ref)  # what Columns.widened makes of k
            alarm, _ = first_alarms(codes(z + u_ref * noise, half, level), coverage=True)
            cells = [f"{level:.0%} intervals, normal, u_ref {u_ref:g} u"]
            cells.append(f"{between_alarms(alarm, 5000):,.0f}")
            for fault in ("offset 0.5 u", "offset 1 u", "offset 2 u", "sd x 2", "sd / 2"):
                faulty = np.concatenate([z[:, :ONSET], FAULTS[fault][0](z[:, ONSET:2000])], axis=1)
                seen = faulty + u_ref * noise[:, :2000]
                alarm, _ = first_alarms(codes(seen, half, level), coverage=True)
                cells.append(f"{np.median(alarm[alarm >= ONSET] - ONSET + 1):.0f}")
            rows.append(cells)
            progress(cells)
    head = ["interval-only sensors", "mean pairs between false alarms"]
    return table([*head, "0.5 u", "1 u", "2 u", "sd x 2", "sd / 2"], rows)


def life_cycle(share: float) -> str:
    streams, fault_length, length = max(60, round(400 * share)), 1200, 2000
    rows = []
    wanted = {"offset 0.5 u": 75, "offset 1 u": 30, "offset 2 u": 30}
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
        began = time.process_time()
        for batch in batches:
            detector.advance(rows, starts, batch)
        pairs = sum(batch.size for batch in batches)
        timed[name] = 1e6 * (time.process_time() - began) / pairs
    rows = [[name, f"{microseconds:.2f}"] for name, microseconds in timed.items()]
    return table(["batch", "microseconds of a processor, a pair"], rows)


TABLES: dict[str, Callable[[float], str]] = {
    "false-alarms": false_alarms,
    "delays": delays,
    "coverage": coverage,
    "life-cycle": life_cycle,
    "fleet": fleet,
    "references": references,
    "thresholds": thresholds,
    "conventions": conventional,
    "charts": charts,
    "cost": cost,
}


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
