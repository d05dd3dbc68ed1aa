"""Where a series is wrong along a covariate, as a sentence and as plain values.

The command, the report and Python share the two functions. Words and numbers are those of verdicts:
a sentence follows the sensor's name.
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any, Final

from monitor.core.analysis.where import (
    BUILT_IN,
    FALSE_FINDINGS,
    FIRST_EDGES,
    Conditional,
    Finding,
)
from monitor.core.formatting import finite
from monitor.core.verdict.verdict import Estimate
from monitor.core.verdict.words import direction, estimated, with_unit

_NOT_JUDGED: Final = {
    "missing": "cannot be judged by {name}: no pair has it",
    "constant": "cannot be judged by {name}: it is the same in all pairs",
    "few": f"cannot be judged by {{name}} yet: fewer than {FIRST_EDGES} pairs have it",
    "nothing": "is not clearly wrong in any part of {name}",
    "everywhere": "is wrong along all of {name}, not in one part of it alone",
}


def where_sentence(conditional: Conditional, unit: str = "") -> str:
    """Return the finding in words; ``unit`` is that of the series."""
    if conditional.state != "found":
        text = _NOT_JUDGED[conditional.state].format(name=conditional.covariate)
    else:
        parts = [
            f"{' and '.join(_wrong(each, unit) for each in faults)} {place}"
            for place, faults in groupby(
                conditional.findings, lambda each: _place(each, conditional)
            )
        ]
        text = f"{' and '.join(parts)}, {_rest(conditional)}"
    return text + _without(conditional)


def _wrong(finding: Finding, unit: str) -> str:
    if finding.fault == "offset":
        size, interval = estimated(finding.estimate.unsigned, 0.0)
        way = direction(finding.estimate.value, unit)
        return f"reads {with_unit(size, unit)} {way}{interval}"
    size, interval = estimated(finding.estimate, 1.0)
    verb = "understates" if finding.fault == "understated" else "overstates"
    return f"{verb} its uncertainty by a factor of {size}{interval}"


def _place(finding: Finding, conditional: Conditional) -> str:
    """Return the part of a finding: "above 80 % rh", "from 9 to 15 h UTC"."""
    is_named = conditional.covariate in BUILT_IN and conditional.unit
    words = conditional.unit if is_named else f"{conditional.unit} {conditional.covariate}".strip()
    low, high = f"{finding.low:.10g}", f"{finding.high:.10g}"
    if math.isinf(finding.low):
        return f"below {high} {words}"
    if math.isinf(finding.high):
        return f"above {low} {words}"
    return f"from {low} to {high} {words}"


def _rest(conditional: Conditional) -> str:
    where = "elsewhere"
    ends = {(each.low, each.high) for each in conditional.findings}
    if len(ends) == 1:
        ((low, high),) = ends
        where = "below" if math.isinf(high) else "above" if math.isinf(low) else where
    return f"right {where}" if conditional.rest_is_right else f"not clearly right {where}"


def _without(conditional: Conditional) -> str:
    if not conditional.without or conditional.state == "missing":
        return ""
    has = "pair has" if conditional.without == 1 else "pairs have"
    return f" ({conditional.without} {has} no {conditional.covariate})"


def where_document(conditional: Conditional, unit: str = "") -> dict[str, Any]:
    """Return the finding as plain values; undefined numbers and missing edges are None."""
    return {
        "covariate": conditional.covariate,
        "unit": conditional.unit,
        "state": conditional.state,
        "sentence": where_sentence(conditional, unit),
        "false_findings": FALSE_FINDINGS,
        "rest_is_right": conditional.rest_is_right,
        "without": conditional.without,
        "clear_after_pairs": conditional.since + 1 if conditional.since >= 0 else None,
        "findings": [
            {
                "fault": each.fault,
                "from": finite(each.low),
                "to": finite(each.high),
                "n": each.pairs,
                **_numbers("estimate", each.estimate),
                "unit": unit if each.fault == "offset" else "",
                "log_evidence": each.log_evidence,
            }
            for each in conditional.findings
        ],
        "bins": [
            {"from": finite(each.low), "to": finite(each.high), "n": each.pairs}
            | _numbers("zms", each.zms)
            | _numbers("bias", each.bias)
            for each in conditional.bins
        ],
    }


def _numbers(name: str, estimate: Estimate) -> dict[str, float | None]:
    value, lower, upper = (finite(each) for each in estimate)
    return {name: value, f"{name}_lower": lower, f"{name}_upper": upper}
