"""What explains the errors of a series, in the words of its verdict and as plain values."""

from __future__ import annotations

from typing import Any, Final

from monitor.core.analysis.explained_by import Explanation
from monitor.core.formatting import finite
from monitor.core.verdict.verdict import Verdict
from monitor.core.verdict.words import direction, estimated, exactly, three_digits, with_unit

_FINE: Final = 0.1  # share of a size by which the digits of a place may change the error


def explained_clause(of: Explanation, unit: str) -> str:
    """Return "its error changes by 0.12 kg per °C of temperature (0.08 to 0.16)" and the like."""
    if of.form == "slope":
        size, interval = estimated(of.size, 0.0)
        changes = f"{with_unit(size, unit)} per {of.unit or 'unit'} of {of.covariate}"
        return f"its error changes by {changes}{interval}"
    size, interval = estimated(of.size.unsigned, 0.0)
    way = direction(of.size.value, unit)
    return f"it reads {with_unit(size, unit)} {way} {_place(of)}{interval}"


def explained_advice(of: Explanation, unit: str) -> str:
    """Return the correction that has been shown to help, empty for none."""
    if not of.tested:
        return ""
    size = with_unit(estimated(of.size.unsigned, 0.0)[0], unit)
    way = "subtract" if of.size.value > 0.0 else "add"
    doing = f"{way} {size} {_place(of)}"
    if of.form == "slope":
        at = exactly(of.place, _FINE * of.span)
        doing = f"{way} {size} per {of.unit or 'unit'} of {of.covariate} above {at}"
        if of.level:
            first = "subtract" if of.level > 0.0 else "add"
            level = with_unit(three_digits(abs(of.level)), unit)
            doing = f"{first} {level}, and {doing}"
        doing += ", and the opposite below"
    before, after = three_digits(of.crps_before), with_unit(three_digits(of.crps_after), unit)
    return f"{doing} (mean CRPS from {before} to {after} on {of.tested} later pairs)"


def _place(of: Explanation) -> str:
    if of.form == "category":
        return f"{'' if of.is_above else 'except '}where {of.covariate} is {of.name}"
    side = "above" if of.is_above else "below"
    return " ".join(filter(None, (side, f"{of.place:.6g}", of.unit, of.covariate)))


def with_explanation(verdict: Verdict, of: Explanation, unit: str) -> Verdict:
    """Return the verdict that also says what explains its errors.

    Advice that was tried takes the place of the verdict's own, which knows no covariate.
    """
    advice = explained_advice(of, unit) or verdict.advice
    sentence = f"{verdict.sentence}; {explained_clause(of, unit)}"
    return verdict._replace(sentence=sentence, advice=advice)


def explained_document(of: Explanation, unit: str) -> dict[str, Any]:
    """Return the explanation as plain values; undefined numbers are None."""
    size, lower, upper = map(finite, of.size)
    is_step, is_slope = of.form == "step", of.form == "slope"
    return {
        "covariate": of.covariate,
        "covariate_unit": of.unit,
        "form": of.form,
        "sentence": explained_clause(of, unit),
        "advice": explained_advice(of, unit),
        "estimate": size,
        "estimate_lower": lower,
        "estimate_upper": upper,
        "unit": unit,
        "share": of.share,
        "n": of.pairs,
        "from": of.place if is_step and of.is_above else None,
        "to": of.place if is_step and not of.is_above else None,
        "category": of.name or None,
        "except": of.form == "category" and not of.is_above,
        "at": of.place if is_slope else None,
        "error_at": of.level if is_slope else None,
    }
