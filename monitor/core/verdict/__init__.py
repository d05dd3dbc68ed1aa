"""What is wrong with a series: one estimate from one segment, said once.

A sensor states its uncertainty, so its errors over that uncertainty have a known spread of 1. The
last pairs are cut into pieces by optimal partition (:mod:`.partition`): each is right, off by a
level, drifting, or as wide as its own spread. The rivals that are not pieces of that sort, a gain,
a lag, a wrong sign (:mod:`.rivals`), cost what pieces cost, so that the cheapest explanation of the
newest pairs gives the fault its name (:mod:`.naming`). Level and slope come from all rivals for the
newest piece, weighted by their likelihood; an interval that takes the best cut for certain is too
short. The factor on u is of what is left (:mod:`.spread`). What would mend it is tried on pairs
after those it was chosen from before it is told (:mod:`.remedy`).

Whose the error is matters (:mod:`.relations`): a classical sensor errs independently of what it
measures, a predictive one (Berkson) of what it says, and an honest predictive sensor shows a slope
of error on reference that a classical one with that gain would.

What was tried and rejected: one regression for the gain (names half of all faults of predictive
sensors "gain"); the mean and the spread of z (with a u that varies, an offset is a wrong u as
well); the best cut alone (intervals hold 80 %); the sum over rivals instead of the best of each
kind for the name (a drift has more places to begin than a step, and always wins).

Series are judged side by side (:func:`judge_all`), one is the case of many: arrays of series by
pairs, padded on the right with what adds nothing to a sum, and sums that come out alike however far
they are padded, so that a verdict does not hang on what is judged beside it.

`make verdicts` compares what is said with streams whose truth is known.

What breaks first: a faint gain in a sensor that is mostly noise; drift against offset in the first
twenty pairs after an alarm; a window that is wrong throughout, which shows nothing to compare with.
"""

from monitor.core.verdict.faults import (
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
    Fault,
    alert_meanings,
    estimate_unit,
    noun_of,
    shows,
)
from monitor.core.verdict.judge import judge, judge_all
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.verdict import (
    FAULT,
    IS_RIGHT,
    UNDECIDED,
    Estimate,
    Remedy,
    Slope,
    Slopes,
    Verdict,
)
from monitor.core.verdict.verdict_json import document
from monitor.core.verdict.whole import judge_file

__all__ = [
    "FAULT",
    "FAULTS",
    "IS_RIGHT",
    "REFERENCE_STALE",
    "REFERENCE_SUSPECT",
    "REJECTED_SHARE",
    "UNDECIDED",
    "Estimate",
    "Fault",
    "Pairs",
    "Remedy",
    "Slope",
    "Slopes",
    "Verdict",
    "alert_meanings",
    "document",
    "estimate_unit",
    "judge",
    "judge_all",
    "judge_file",
    "noun_of",
    "shows",
]
