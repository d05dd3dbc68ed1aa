"""What the interface says, as plain values: one function a document.

Rules of this file: a number that is undefined is null; times are s since 1970 UTC, as they came.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import numpy as np

from monitor.alerts.transition import Transition
from monitor.alerts.transition import document as transition
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores import conventions
from monitor.core.scores.curves import Curve
from monitor.core.scores.proper_scores import SCORES
from monitor.core.scores.statistics import compute
from monitor.core.snapshot.details import Detail, Occasion, Origin
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http import plots, svg
from monitor.journal import DeadLetter

CSV_COLUMNS: Final = (
    *("time", "sensor", "quantity", "unit", "value", "sigma", "lower", "upper", "alpha"),
    *("reference", "reference_sigma", "key", "reference_time"),
)
# A spreadsheet takes a text that begins like this for a formula.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def entry(now: Snapshot, row: int) -> dict[str, Any]:
    """Return what the interface says of one series."""
    name = now.names[row]
    return {
        "sensor": name.sensor,
        "quantity": name.quantity,
        "unit": name.unit,
        "group": name.group,
        "state": now.states[row],
        "alerts": [alert for alert, active in now.alerts.items() if active[row]],
        "sentence": now.sentences[row],
        "advice": now.advice[row],
        "evidence": number(now.evidence[row]),
        "pairs": int(now.window_pairs[row]),
        "last_reading": number(now.last_reading[row]),
        "last_pair": number(now.last_pair[row]),
        "statistics": {
            statistic: number(values[row]) for statistic, values in now.statistics.items()
        },
    }


def alerts(now: Snapshot) -> list[dict[str, Any]]:
    """Return the alerts that fire."""
    return [
        {
            "sensor": now.names[row].sensor,
            "quantity": now.names[row].quantity,
            "group": now.names[row].group,
            "alert": alert,
            "evidence": number(now.evidence[row]),
            "sentence": now.sentences[row],
            "advice": now.advice[row],
        }
        for alert, active in now.alerts.items()
        for row in active.nonzero()[0].tolist()
    ]


def history(
    told: Iterable[Transition], most: int, sensor: str = "", quantity: str = ""
) -> list[dict[str, Any]]:
    """Return the last ``most`` changes of alerts, the newest first: of all series, or of some."""
    those = (
        each for each in told if sensor in ("", each.sensor) and quantity in ("", each.quantity)
    )
    return [transition(each) for each in islice(those, most)]


def pairs(detail: Detail, most: int) -> list[dict[str, Any]]:
    """Return the last ``most`` pairs, the newest first."""
    if detail.pairs is None:
        return []
    listed = _pairs(detail.pairs, detail.origins)
    return listed[: -most - 1 : -1]


def pairs_csv(detail: Detail) -> str:
    """Return the pairs as a file that ``monitor score`` reads, in event order."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(CSV_COLUMNS)
    name = detail.name
    for each in _pairs(detail.pairs, detail.origins) if detail.pairs is not None else ():
        told = (name.sensor, name.quantity, name.unit)
        numbers = [each[key] for key in ("value", "u", "lower", "upper")]
        alpha = round(1.0 - each["p"], 12)
        rest = (each["reference"], each["u_ref"], plain(each["key"]), each["reference_time"])
        table.writerow([_iso(each["time"]), *told, *numbers, alpha, *rest])
    return out.getvalue()


def plain(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def ucc(detail: Detail, axes: str) -> dict[str, Any]:
    """Return the uncertainty characteristics curve on two axes, beside that of a constant band."""
    across, up = axes.split("-")
    document: dict[str, Any] = {"axes": {"x": across, "y": up}, "unit": detail.name.unit}
    if detail.pairs is None:
        return {**document, "pairs": 0, "curve": [], "constant": [], "statistics": {}}
    statistics = compute(detail.pairs, ("auucc", "auucc_constant", "auucc_gain", "scale_optimal"))
    told = {name: number(values[0]) for name, values in statistics.items()}
    found = plots.characteristics(detail.pairs, float(statistics["scale_optimal"][0]))
    document |= {"pairs": int(detail.pairs.value.size), "statistics": told}
    if found is None:
        return {**document, "curve": [], "constant": []}
    return document | {
        "curve": _points(found.points, across, up),
        "constant": _points(found.constant, across, up),
        "stated": _points(found.stated, across, up)[0],
        "optimal": _points(found.optimal, across, up)[0],
    }


def conventional(detail: Detail) -> dict[str, Any]:
    """Return what conventions say of the pairs: En, zeta's bands, Westgard's rules, the chart."""
    name = detail.name
    document: dict[str, Any] = {"sensor": name.sensor, "quantity": name.quantity, "pairs": 0}
    if detail.pairs is None:
        return document | {"en": {}, "zeta": {}, "westgard": {}, "levey_jennings": []}
    c = detail.pairs
    numbers, (warning, action) = conventions.en(c), conventions.bands(c)
    broken = {rule: conventions.violations(c, rule) for rule in conventions.WESTGARD}
    rows = zip(c.time.tolist(), c.z.tolist(), numbers.tolist(), strict=True)
    return document | {
        "pairs": int(c.z.size),
        "en": {
            "last": number(numbers[-1]),
            "beyond_1": int((np.abs(numbers) > 1.0).sum()),
            "expected": conventions.EN_EXPECTED * c.z.size,
        },
        "zeta": {
            "last": number(c.z[-1]),
            "warning": int(warning.sum()),
            "action": int(action.sum()),
        },
        "westgard": {rule: int(found.sum()) for rule, found in broken.items()},
        "levey_jennings": [
            {
                "time": time,
                "z": z,
                "en": value,
                "rules": [rule for rule, found in broken.items() if found[at]],
            }
            for at, (time, z, value) in enumerate(rows)
        ],
    }


def occasion(found: Occasion) -> dict[str, Any]:
    """Return what all series said of one thing."""
    listed: list[dict[str, Any]] = []
    if found.pairs is not None:
        names = (
            {"sensor": name.sensor, "quantity": name.quantity, "unit": name.unit}
            for name in found.names
        )
        told = zip(names, _pairs(found.pairs, found.origins), scored(found), strict=True)
        listed = [{**name, **each, **scores} for name, each, scores in told]
        listed.sort(key=lambda each: (each["quantity"], each["crps"] is None, each["crps"]))
    quantities = dict.fromkeys(each["quantity"] for each in listed)
    said = [_nearest([each for each in listed if each["quantity"] == of]) for of in quantities]
    return {"key": found.key, "time": found.time, "sentences": said, "pairs": listed}


def scored(found: Occasion) -> list[dict[str, float | None]]:
    """Return the three scores of each pair by the density of its sensor."""
    if found.pairs is None:
        return []
    columns = {}
    hats = np.array([density == "tophat" for density in found.densities], dtype=np.bool_)
    for name in ("crps", "quadratic"):
        normal, tophat = (SCORES[f"{name}{hat}"].rows(found.pairs) for hat in ("", "_tophat"))
        columns[name] = np.where(hats, tophat, normal)
    columns["interval"] = SCORES["interval"].rows(found.pairs)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{name: number(value) for name, value in zip(columns, row, strict=True)} for row in rows]


def _nearest(listed: list[dict[str, Any]]) -> str:
    """Return in words who read one quantity of one thing best."""
    best, held = listed[0], sum(each["inside"] for each in listed)
    if len(listed) == 1:
        does = "holds" if held else "misses"
        return (
            f"Only {best['sensor']} saw its {best['quantity']}; its interval {does} the reference."
        )
    return (
        f"{best['sensor']} read its {best['quantity']} best; "
        f"{held} of {len(listed)} intervals hold the reference."
    )


def dead_letter(letter: DeadLetter) -> dict[str, Any]:
    """Return one message that could not be used; of its payload, bytes that are no text escaped."""
    return {
        "received": letter.received,
        "topic": letter.topic,
        "reason": letter.reason,
        "detail": letter.detail,
        "payload": letter.payload.decode("utf-8", "backslashreplace"),
    }


def concerns(letter: DeadLetter, sensor: str) -> bool:
    """Return whether a message came on a topic of which a level is the sensor's name."""
    return not sensor or sensor in letter.topic.split("/")


def number(value: float) -> float | None:
    """Return a number, None for what is not finite."""
    return float(value) if math.isfinite(value) else None


def _pairs(c: Columns, origins: tuple[Origin, ...]) -> list[dict[str, Any]]:
    columns: Mapping[str, Float] = {
        "time": c.time,
        "value": c.value,
        "u": c.u,
        "lower": c.lower,
        "upper": c.upper,
        "p": c.p,
        "reference": c.reference,
        "u_ref": c.u_ref,
        "error": c.error,
        "z": c.z,
        "inside": c.inside.astype(np.float64),
        "crps_stated": np.full(c.time.size, np.nan) if c.stated_crps is None else c.stated_crps,
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    listed = []
    for row, origin in zip(rows, origins, strict=True):
        each = {name: number(value) for name, value in zip(columns, row, strict=True)}
        each["inside"] = bool(each["inside"])
        told = {"key": origin.key, "identity": origin.identity, "subject": origin.subject}
        listed.append({**each, **told, "reference_time": number(origin.time)})
    return listed


def _points(points: Curve, across: str, up: str) -> list[dict[str, float | None]]:
    columns = (points.scale, getattr(points, across), getattr(points, up))
    return [
        {"scale": number(scale), "x": number(x), "y": number(y)}
        for scale, x, y in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _iso(time: float) -> str:
    return svg.moment(time, "%Y-%m-%dT%H:%M:%S.%fZ")
