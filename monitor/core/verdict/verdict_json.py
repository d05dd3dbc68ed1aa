"""A verdict as plain values: the same in files, in the interface and in alerts."""

from __future__ import annotations

from typing import Any

from monitor.core.formatting import finite, instant
from monitor.core.verdict.faults import estimate_unit
from monitor.core.verdict.verdict import FAULT, Remedy, Verdict


def document(found: Verdict, unit: str) -> dict[str, Any]:
    """Return a verdict for JSON; unknown numbers are null.

    ``fault``, ``estimate`` and all that belongs to them are null unless ``state`` is "fault".
    """
    is_fault = found.state == FAULT
    size = found.size
    return {
        "state": found.state,
        "fault": found.fault if is_fault else None,
        "sentence": found.sentence,
        "advice": found.advice,
        "error_model": found.error_model,
        "estimate": finite(size.value) if is_fault else None,
        "lower": finite(size.lower) if is_fault else None,
        "upper": finite(size.upper) if is_fault else None,
        "unit": estimate_unit(found.fault, unit) if is_fault else "",
        "slope_per_day": finite(found.slope_per_day.value) if is_fault else None,
        "since": instant(found.began) or None if is_fault else None,
        "changed": instant(found.changed) or None if is_fault else None,
        "due": instant(found.due) or None if is_fault else None,
        "right_since": instant(found.right_since) or None,
        "explained": finite(found.explained) if found.explained else None,
        "pairs": found.pairs,
        "remedy": None if found.remedy is None else _remedy(found.remedy),
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {
        "kind": remedy.kind,
        "add": finite(remedy.add),
        "slope": finite(remedy.slope),
        "intercept": finite(remedy.intercept),
        "scale_u": finite(remedy.scale_u),
        "pairs": remedy.pairs,
        "crps_before": finite(remedy.crps_before),
        "crps_after": finite(remedy.crps_after),
    }
