"""The documents of the interface, made from snapshots and details: one function per document.

:mod:`monitor.http.models` has their members. An undefined number is null; times are in s since 1970
UTC, as received.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final, cast

import numpy as np

from monitor.alerts.transition import Transition, transition_document
from monitor.core.columns import Columns
from monitor.core.formatting import finite, instant, safe_cell
from monitor.core.scores import conventions
from monitor.core.scores.curves import Curve
from monitor.core.scores.proper_scores import SCORES
from monitor.core.scores.statistics import ASSUMED, compute
from monitor.core.snapshot.details import Detail, Occasion, Origin, StatedBy
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import document
from monitor.core.verdict.verdict_document import Verdict
from monitor.http import models, ucc_plots
from monitor.http.selection import evidence_shown
from monitor.journal.store import DeadLetter

CSV_COLUMNS: Final = (
    *("time", "sensor", "quantity", "unit", "value", "sigma", "lower", "upper", "alpha"),
    *("reference", "reference_sigma", "key", "reference_time", "crps_stated"),
)


def entry(now: Snapshot, row: int) -> models.SeriesEntry:
    """Return the interface's entry for one series; one that is withdrawn has no numbers.

    Extensions add keys of their own.
    """
    name, is_shown = now.names[row], not now.withdrawn[row]
    of_house = models.SeriesEntry(
        sensor=name.sensor,
        quantity=name.quantity,
        unit=name.unit,
        group=name.group,
        state=now.states[row],
        alerts=[alert for alert, active in now.alerts.items() if active[row]],
        sentence=now.sentences[row],
        advice=now.advice[row],
        withdrawn=not is_shown,
        evidence=finite(now.evidence[row]) if is_shown else None,
        pairs=int(now.window_pairs[row]),
        uncertainty="assumed" if _is_assumed(now, row) else "stated",
        last_reading=finite(now.last_reading[row]),
        last_pair=finite(now.last_pair[row]),
        verdict=verdict_of_row(now, row),
        statistics={
            name: finite(values[row]) if is_shown else None
            for name, values in now.statistics.items()
        },
    )
    added = [findings.document(now, row) for findings in now.additions.values()]
    whole = dict(chain(of_house.items(), *(each.items() for each in added)))
    return cast("models.SeriesEntry", whole)


def _is_assumed(now: Snapshot, row: int) -> bool:
    """Return whether the uncertainty of the last reading of a series is from the settings."""
    marks = now.statistics.get(ASSUMED.name)
    return marks is not None and bool(marks[row] == 1.0)


def verdict_of_row(now: Snapshot, row: int) -> Verdict:
    """Return the verdict on one series; a calm series is right, or not known yet."""
    return document(now.verdict(row), now.names[row].unit)


def alerts(now: Snapshot) -> list[models.Alert]:
    """Return the alerts that fire."""
    evidence = evidence_shown(now)
    return [
        models.Alert(
            sensor=now.names[row].sensor,
            quantity=now.names[row].quantity,
            group=now.names[row].group,
            alert=alert,
            evidence=finite(evidence[row]),
            sentence=now.sentences[row],
            advice=now.advice[row],
        )
        for alert, active in now.alerts.items()
        for row in active.nonzero()[0].tolist()
    ]


def history(
    changes: Iterable[Transition], most: int, sensor: str = "", quantity: str = ""
) -> list[models.Transition]:
    """Return the last ``most`` changes of alerts, the newest first: of all series, or of some."""
    wanted = (
        each for each in changes if sensor in ("", each.sensor) and quantity in ("", each.quantity)
    )
    return [transition_document(each) for each in islice(wanted, most)]


def pairs(detail: Detail, most: int) -> list[models.Pair]:
    """Return the last ``most`` pairs, the newest first."""
    if detail.pairs is None:
        return []
    listed = _pairs(detail.pairs, detail.origins, detail.stated_by)
    return listed[: -most - 1 : -1]


def pairs_csv(detail: Detail, most: int) -> str:
    """Return the last ``most`` pairs as a file that ``monitor score`` reads, in event order.

    What was not stated is left empty, as in every file of pairs.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(CSV_COLUMNS)
    name = detail.name
    for each in reversed(pairs(detail, most)):
        cells = map(safe_cell, (name.sensor, name.quantity, name.unit))
        by = each["stated_by"]
        u = None if by == "interval" else each["u"]
        interval = (each["lower"], each["upper"], round(1.0 - each["p"], 12))
        stated = (each["value"], u, *((None,) * 3 if by == "u" else interval))
        rest = (
            each["reference"],
            each["u_ref"],
            safe_cell(each["key"]),
            each["reference_time"],
            each["crps_stated"],
        )
        table.writerow([instant(each["time"], "microseconds"), *cells, *stated, *rest])
    return out.getvalue()


def ucc_document(detail: Detail, axes: str) -> models.Ucc:
    """Return the uncertainty characteristics curve on two axes and that of a constant band."""
    across, up = axes.split("-")
    document = models.Ucc(
        axes={"x": across, "y": up},
        unit=detail.name.unit,
        total=detail.total,
        pairs=0,
        statistics={},
        curve=[],
        constant=[],
    )
    if detail.pairs is None:
        return document
    statistics = compute(
        detail.pairs, ("auucc", "auucc_constant", "auucc_partial_gain", "scale_optimal")
    )
    document["pairs"] = int(detail.pairs.value.size)
    document["statistics"] = {name: finite(values[0]) for name, values in statistics.items()}
    curves = ucc_plots.characteristics(detail.pairs, float(statistics["scale_optimal"][0]))
    if curves is not None:
        document["curve"] = _points(curves.points, across, up)
        document["constant"] = _points(curves.constant, across, up)
        document["stated"] = _points(curves.stated, across, up)[0]
        document["optimal"] = _points(curves.optimal, across, up)[0]
    return document


def conventional(detail: Detail) -> models.Conventions:
    """Return the results of conventional rules: En, zeta's bands, Westgard, the chart."""
    document = models.Conventions(
        sensor=detail.name.sensor,
        quantity=detail.name.quantity,
        total=detail.total,
        pairs=0,
        en={},
        zeta={},
        westgard={},
        levey_jennings=[],
    )
    if detail.pairs is None:
        return document
    c = detail.pairs
    numbers, (warning, action) = conventions.en(c), conventions.performance_bands(c)
    broken = {rule: conventions.violations(c, rule) for rule in conventions.WESTGARD}
    document["pairs"] = int(c.z.size)
    document["en"] = {
        "last": finite(numbers[-1]),
        "beyond_1": int((np.abs(numbers) > 1.0).sum()),
        "expected": conventions.EN_EXPECTED * c.z.size,
    }
    document["zeta"] = {
        "last": finite(c.z[-1]),
        "warning": int(warning.sum()),
        "action": int(action.sum()),
    }
    document["westgard"] = {rule: int(found.sum()) for rule, found in broken.items()}
    rows = zip(c.time.tolist(), c.z.tolist(), numbers.tolist(), strict=True)
    document["levey_jennings"] = [
        models.Charted(
            time=time, z=z, en=en, rules=[rule for rule, found in broken.items() if found[at]]
        )
        for at, (time, z, en) in enumerate(rows)
    ]
    return document


def occasion(event: Occasion) -> models.Occasion:
    """Return all pairs of one occasion, in all series."""
    listed: list[models.NamedPair] = []
    if event.pairs is not None:
        pairs = _pairs(event.pairs, event.origins, event.stated_by)
        listed = [
            models.NamedPair(
                **pair,
                sensor=name.sensor,
                quantity=name.quantity,
                unit=name.unit,
                crps=scores["crps"],
                quadratic=scores["quadratic"],
                interval=scores["interval"],
            )
            for name, pair, scores in zip(event.names, pairs, scored(event), strict=True)
        ]
        listed.sort(key=lambda each: (each["quantity"], each["crps"] is None, each["crps"] or 0.0))
    quantities = dict.fromkeys(each["quantity"] for each in listed)
    sentences = [_nearest([each for each in listed if each["quantity"] == of]) for of in quantities]
    return models.Occasion(key=event.key, time=event.time, sentences=sentences, pairs=listed)


def scored(event: Occasion) -> list[dict[str, float | None]]:
    """Return the three scores of each pair by the density of its sensor."""
    if event.pairs is None:
        return []
    columns = {}
    hats = np.array([density == "tophat" for density in event.densities], dtype=np.bool_)
    for name in ("crps", "quadratic"):
        normal, tophat = (SCORES[f"{name}{hat}"].rows(event.pairs) for hat in ("", "_tophat"))
        columns[name] = np.where(hats, tophat, normal)
    columns["interval"] = SCORES["interval"].rows(event.pairs)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [{name: finite(value) for name, value in zip(columns, row, strict=True)} for row in rows]


def _nearest(listed: list[models.NamedPair]) -> str:
    """Say in words who read one quantity of one occasion best."""
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


def dead_letter(letter: DeadLetter) -> models.DeadLetter:
    """Return one unusable message; bytes of its payload that are not text are escaped."""
    return models.DeadLetter(
        received=letter.received,
        topic=letter.topic,
        reason=letter.reason,
        detail=letter.detail,
        place=letter.place,
        payload=letter.payload.decode("utf-8", "backslashreplace"),
    )


def concerns(letter: DeadLetter, sensor: str) -> bool:
    """Return whether a level of a message's topic is the sensor's name."""
    return not sensor or sensor in letter.topic.split("/")


def _pairs(
    c: Columns, origins: tuple[Origin, ...], forms: tuple[StatedBy, ...]
) -> list[models.Pair]:
    stated = np.full(c.time.size, np.nan) if c.stated_crps is None else c.stated_crps
    columns = (c.time, c.value, c.u, c.lower, c.upper, c.p, c.reference, c.u_ref, c.error, c.z)
    numbers = (values.tolist() for values in (*columns, c.inside, stated))
    rows = zip(*numbers, forms, strict=True)
    return [
        models.Pair(
            time=time,
            value=finite(value),
            u=finite(u),
            lower=finite(low),
            upper=finite(high),
            p=p,
            stated_by=by,
            reference=finite(reference),
            u_ref=finite(u_ref),
            error=finite(error),
            z=finite(z),
            inside=hit,
            crps_stated=finite(crps),
            key=origin.key,
            identity=origin.identity,
            subject=origin.subject,
            reference_time=finite(origin.time),
        )
        for (time, value, u, low, high, p, reference, u_ref, error, z, hit, crps, by), origin in (
            zip(rows, origins, strict=True)
        )
    ]


def _points(points: Curve, across: str, up: str) -> list[models.Point]:
    columns = (points.scale, getattr(points, across), getattr(points, up))
    return [
        models.Point(scale=finite(scale), x=finite(x), y=finite(y))
        for scale, x, y in zip(*(column.tolist() for column in columns), strict=True)
    ]
