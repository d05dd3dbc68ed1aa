"""The members of a verdict as a document: in files, in the interface and in alerts."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from monitor.core.setting import About, Number
from monitor.core.verdict.faults import FAULTS
from monitor.core.verdict.quality import Quality
from monitor.core.verdict.verdict import ErrorModel, RemedyKind, State


class Remedy(TypedDict):
    """What to do: add to v; intercept + slope v, u times abs(slope); u times scale_u; or none."""

    kind: RemedyKind
    add: Number
    slope: Number
    intercept: Number
    scale_u: Number
    pairs: Annotated[int, About("Pairs after those it was chosen from, on which it was tried.")]
    crps_before: Annotated[Number, About("Mean CRPS as sent; it judges what corrects the value.")]
    crps_after: Number
    interval_before: Annotated[
        Number, About("Mean interval score (95 %) as sent; it judges a factor on u.")
    ]
    interval_after: Number


class Estimate(TypedDict):
    """A number with its 95 % interval; only the upper end for a factor on u that may be 0."""

    value: Number
    lower: Number
    upper: Number
    unit: str


class Verdict(TypedDict):
    """What is wrong, how large, since when, and what would fix it; null where not known."""

    state: State
    fault: Annotated[str | None, About(names=(*FAULTS, None))]
    quality: Quality
    sentence: str
    advice: str
    error_model: Annotated[
        ErrorModel,
        About("Whether its errors are independent of the measurand, or of its own value."),
    ]
    estimate: Annotated[
        Number,
        About(
            "How large the fault is now; of an understated or overstated uncertainty the factor on "
            "u that is missing, so 0.25 where the sentence says 4 times. Null where only a bound "
            "is known."
        ),
    ]
    lower: Number
    upper: Number
    unit: Annotated[str, About("Of the estimate; empty for a factor or a share.")]
    fault_estimate: Annotated[
        Estimate | None,
        About(
            "The number that the sentence is about, as monitor_fault_estimate: the estimate, but "
            "of a drift the change a day and of a lag the seconds. Null without a fault."
        ),
    ]
    slope_per_day: Annotated[Number, About("Of a drift, in the unit of the quantity a day.")]
    since: Annotated[str | None, About("When the fault began.")]
    changed: Annotated[
        str | None,
        About(
            "When it took the form that is reported; null if it began with it, or if that is "
            "unknown."
        ),
    ]
    due: Annotated[str | None, About("When a drift leaves its tolerance.")]
    right_since: Annotated[str | None, About("Null: only files tell when a sensor was repaired.")]
    explained: Annotated[
        Number,
        About(
            "Largest bias that the declared systematic part of its uncertainty explains, in the "
            "unit of the quantity; null where none is declared."
        ),
    ]
    pairs: Annotated[
        int, About("The last pairs, which the sentence and the figures beside it are from.")
    ]
    first_pair: Annotated[str | None, About("When the first of them was; null without times.")]
    remedy: Remedy | None
