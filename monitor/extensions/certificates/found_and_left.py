"""The as-found / as-left record of a sensor: its pairs before and after it was adjusted.

Rules of this file: a record is plain values, a function of the pairs, the events and the request;
verdict and remedy are those of ``monitor score`` over the same pairs, and so are statistics, but
without the pairs that hold an error code which the verdict names. As found is the
sensor before the first event of that time (adjusted, moved, replaced), as left the sensor after the
last. The record contains everything needed to select the pairs again, and the SHA-256 of the pairs,
so that anybody who has the journal can make it again (:func:`differences`).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np

from monitor import __version__
from monitor.core.analysis.adjustments import suggestions, unweighted_offset
from monitor.core.columns import Columns
from monitor.core.formatting import amount, finite, instant
from monitor.core.model import Event, Records
from monitor.core.pairing.series_rules import COVERAGE_FACTOR, SeriesRules, Systematic
from monitor.core.scores.statistics import compute
from monitor.core.verdict.error_codes import coded_pairs
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.verdict import NORMAL_QUANTILE, Estimate, Verdict
from monitor.core.verdict.words import counted
from monitor.report.recorded import replayed
from monitor.report.scored import Scored

FORM: Final = 1
_MOST: Final = 1e15
# When and by which version a record was made, which does not follow from the pairs.
_OF_THE_MAKING: Final = ("made", "monitor")


class Issuer(NamedTuple):
    """The issuer of a record: an organisation, a person, and the country (ISO 3166-1)."""

    laboratory: str
    person: str
    country: str


class RecordScope(NamedTuple):
    """The scope of a record: a series from ``start`` to before ``end`` (s since 1970 UTC).

    ``references`` are the certificates of the references as plain values, with their u in the unit
    of the series; ``dsi_unit`` is that unit in D-SI, "" if it has none.
    """

    sensor: str
    quantity: str
    unit: str
    dsi_unit: str
    start: float
    end: float
    level: float
    patience: float
    systematic: Systematic
    references: tuple[Mapping[str, Any], ...]
    issuer: Issuer


def record_of(
    asked: RecordScope, pairs: Records, events: Sequence[Event], made: float
) -> dict[str, Any]:
    """Return the record; ``pairs`` are all of the series in event order, ``events`` all events."""
    wanted = pairs[(pairs["time"] >= asked.start) & (pairs["time"] < asked.end)].copy()
    wanted["series"] = 0
    marks = [
        each
        for each in events
        if each.sensor == asked.sensor
        and each.concerns(asked.quantity)
        and asked.start < each.time < asked.end
    ]
    as_found = wanted if not marks else wanted[wanted["time"] < marks[0].time]
    left = wanted[:0] if not marks else wanted[wanted["time"] >= marks[-1].time]
    parts = {"as_found": _part(asked, as_found), "as_left": _part(asked, left)}
    record = {
        "form": FORM,
        "sensor": asked.sensor,
        "quantity": asked.quantity,
        "unit": asked.unit,
        "dsi_unit": asked.dsi_unit,
        "from": instant(asked.start),
        "to": instant(asked.end),
        "level": asked.level,
        "patience": asked.patience,
        "u_systematic": {
            part: u for part, u in asked.systematic._asdict().items() if u is not None
        },
        "references": [dict(each) for each in asked.references],
        "issuer": asked.issuer._asdict(),
        "events": [
            {"time": instant(each.time), "event": each.event, "note": _printable(each.note)}
            for each in marks
        ],
        "pairs": int(wanted.size),
        "pairs_sha256": _digest(wanted),
        **parts,
        "sentence": _sentence(asked, marks, parts),
        "made": instant(made, "seconds"),
        "monitor": __version__,
    }
    identifier = hashlib.sha256(canonical(_of_the_pairs(record)).encode()).hexdigest()[:16]
    return {"identifier": f"{asked.sensor}/{asked.quantity}/{identifier}", **record}


def scope_of(record: Mapping[str, Any]) -> RecordScope:
    """Return the scope in a record; raises ValueError if it is incomplete."""
    try:
        references = tuple(dict(each) for each in record["references"])
        for each in references:
            _within("u", each["u"], 0.0, _MOST)
        return RecordScope(
            sensor=str(record["sensor"]),
            quantity=str(record["quantity"]),
            unit=str(record["unit"]),
            dsi_unit=str(record["dsi_unit"]),
            start=_time(record["from"]),
            end=_time(record["to"]),
            level=_within("level", record["level"], 0.01, 0.9999),
            patience=_within("patience", record["patience"], 2.0, 1e9),
            systematic=Systematic(
                **{key: _within(key, u, 0.0, _MOST) for key, u in record["u_systematic"].items()}
            ),
            references=references,
            issuer=Issuer(**record["issuer"]),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{error} is missing or of another kind") from error


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _within(name: str, number: float, least: float, most: float) -> float:
    if not least <= number <= most:
        raise ValueError(f"{name} is {number}")
    return float(number)


def canonical(record: Mapping[str, Any]) -> str:
    """Return a record as one text: JSON with sorted keys."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def differences(record: Mapping[str, Any], again: Mapping[str, Any]) -> list[str]:
    """Return how a record differs from the one that the journal gives now, a sentence each."""
    was, now = _flat(_of_the_pairs(record)), _flat(_of_the_pairs(again))
    return [
        f"{key} is {_shown(was.get(key))} in the record, {_shown(now.get(key))} by the journal"
        for key in sorted({*was, *now})
        if was.get(key) != now.get(key)
    ]


def _of_the_pairs(record: Mapping[str, Any]) -> dict[str, Any]:
    out = (*_OF_THE_MAKING, "identifier")
    return {key: each for key, each in record.items() if key not in out}


def _flat(value: object, path: str = "") -> dict[str, object]:
    if isinstance(value, Mapping):
        return {
            place: each
            for key, below in value.items()
            for place, each in _flat(below, f"{path}.{key}" if path else str(key)).items()
        }
    return {path: value}


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)[:100]


def _digest(pairs: Records) -> str:
    return hashlib.sha256(pairs.tobytes()).hexdigest()


def _part(asked: RecordScope, pairs: Records) -> dict[str, Any] | None:
    """Return the part of a record on the pairs of one epoch, None without pairs."""
    if not pairs.size:
        return None
    rules = SeriesRules(
        unit=asked.unit, level=asked.level, patience=asked.patience, systematic=asked.systematic
    )
    recorded = replayed([(asked.sensor, asked.quantity)], pairs, lambda *_: rules)
    scored = Scored(recorded, asked.level)
    one = scored.windows
    document = scored.series[0]
    verdict, counting = scored.verdicts[0], _without_codes(one, scored.verdicts[0])
    statistics = compute(counting, ("rmse", "zms", "coverage"))
    return {
        "from": instant(float(one.time[0])),
        "to": instant(float(one.time[-1])),
        "pairs": int(one.value.size),
        "references": int(np.unique(pairs["reference_id"]).size),
        "reference_least": finite(float(counting.reference.min())),
        "reference_most": finite(float(counting.reference.max())),
        "u": finite(float(np.median(counting.u))),
        "u_reference": finite(float(np.median(counting.u_ref))),
        "bias": finite(float(np.mean(counting.value - counting.reference))),
        "bias_expanded": _expanded(
            asked, unweighted_offset(counting), float(np.median(counting.u_ref))
        ),
        "bias_note": _bias_note(asked, verdict, counting.value.size, one.value.size),
        "u_factor": _estimate(verdict.scale),
        "gain": _estimate(suggestions(counting)["gain"]),
        **{name: finite(float(each[0])) for name, each in statistics.items()},
        "verdict": document["verdict"],
        "pairs_sha256": _digest(pairs),
    }


def _without_codes(one: Columns, verdict: Verdict) -> Columns:
    """Return the pairs that count: all but those with the error code that the verdict names."""
    coded = None if verdict.code is None else coded_pairs(Pairs.of(one))
    return one if coded is None else one.select(coded.others, one.starts)


def _bias_note(asked: RecordScope, verdict: Verdict, counting: int, pairs: int) -> str:
    """Return the words that the bias needs where it is not the error of one state of the sensor.

    It is a mean over a changing error where the verdict judges a part of the pairs, or a drift.
    """
    notes, level = [], verdict.level
    if verdict.pairs < counting or verdict.fault == "drift":
        now = ""
        if level.is_known:
            sizes = [amount(each, asked.unit, 3) for each in level]
            over = (
                f" over the newest {verdict.pairs}" if verdict.pairs < counting else " at the end"
            )
            now = f": {sizes[0]} ({sizes[1]} to {sizes[2]}){over}"
        notes.append(f"the mean over {counted(counting)}, in which the error may have changed{now}")
    if counting < pairs and verdict.code is not None:
        notes.append(f"without {counted(pairs - counting)} that hold {verdict.code.number:g}")
    return ", ".join(notes)


def _expanded(asked: RecordScope, bias: Estimate, u_ref: float) -> float | None:
    """Return U (k = 2) of the bias: from chance, and from the reference's systematic part.

    The latter is the larger of the declared one and that of the certificates.
    """
    by_chance = 0.5 * (bias.upper - bias.lower) / NORMAL_QUANTILE
    of = asked.systematic
    declared = math.hypot(of.reference_value, of.reference_share * u_ref)
    certified = max((float(each["u"]) for each in asked.references), default=0.0)
    return finite(COVERAGE_FACTOR * math.hypot(by_chance, max(declared, certified)))


def _estimate(of: Estimate) -> dict[str, float | None]:
    return {name: finite(each) for name, each in of._asdict().items()}


def _printable(text: str) -> str:
    """Return a text without characters that XML does not permit."""
    return "".join(each if each.isprintable() else " " for each in text)


def _sentence(
    asked: RecordScope, marks: Sequence[Event], parts: Mapping[str, Mapping[str, Any] | None]
) -> str:
    as_found, left = (_said(asked, parts[name]) for name in ("as_found", "as_left"))
    if not marks:
        return f"No adjustment is recorded in this time, so all pairs are as found: {as_found}."
    when = f"{marks[-1].event} at {instant(marks[-1].time)}"
    return f"As found: {as_found}. As left ({when}): {left}."


def _said(asked: RecordScope, part: Mapping[str, Any] | None) -> str:
    if part is None:
        return "there are no pairs"
    sentence = str(part["verdict"]["sentence"])
    if part["bias"] is None or part["bias_expanded"] is None:
        return sentence
    bias, expanded = (amount(part[name], asked.unit, 3) for name in ("bias", "bias_expanded"))
    remark = f", {part['bias_note']}" if part["bias_note"] else ""
    return f"{sentence}; bias {bias}, U {expanded} (k = 2){remark}"
