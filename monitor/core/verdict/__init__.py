"""What is wrong with a series: one estimate from one segment, stated once.

A sensor states its uncertainty, so its errors over that uncertainty have a known spread of 1.
Optimal partitioning cuts the last pairs into pieces (:mod:`.partition`): each is right, off by a
level, drifting, or has a spread of its own. Explanations that are not pieces of that sort, a gain,
a lag or a wrong sign (:mod:`.rivals`), are charged like pieces, so that the cheapest explanation of
the newest pairs names the fault (:mod:`.naming`). So are faults of all pairs of an incident: spells
and an end of the range (:mod:`.partial_faults`), errors along the hour of the day or beyond a level
(:mod:`.errors_along`), readings that have nothing to do with their references (:mod:`.relations`).
Level and slope come from all rivals for the newest piece, weighted by their likelihood; an interval
that takes the best cut as certain is too short. The factor on u is estimated from the residuals
(:mod:`.spread`). A remedy is tried on pairs later than those it was chosen from before the advice
names it (:mod:`.remedy`).

One judge serves page, file and frame. While no alert fires, all pairs since the last repair are
one piece: a cheap fit of each series says within what it is right (:mod:`.calm`), and only where
that is suspicious are the pairs examined for a fault (:mod:`.whole`). While an alert fires, the
newest pairs of the incident are judged (:mod:`.judge`), and all of it where these are alike or not
clear.

The error model matters (:mod:`.relations`): the errors of a classical sensor are independent of
what it measures, those of a predictive one (Berkson) of what it says. An honest predictive sensor
shows the slope of error on reference that a classical sensor with a gain would show.

Tried and rejected: one regression for the gain (it calls half of all faults of predictive sensors
"gain"); the mean and the spread of z (where u varies, an offset also looks like a wrong u); the
best cut alone (its intervals hold the truth in 80 %); naming by the sum over rivals instead of by
the best of each kind (a drift has more places to begin than a step, and always wins).

No weight depends on the error that it weighs (:mod:`.weights`): where a sensor states a smaller u
when it reads low, pairs weigh by the usual u at what their errors are independent of. A level
that weights change by more than chance is the mean error (:func:`.relations.unweighted_level`).

Where a known mistake (another unit, U sent as u) explains the pairs, the sentence keeps its number
and asks (:mod:`.likely_mistakes`).

Series are judged side by side (:func:`judge_all`, :func:`judge_whole`), and one series is a batch
of one. Arrays are series by pairs, padded on the right with values that add nothing to a sum, and
the sums are the same however far they are padded, so a verdict does not depend on what is judged
beside it.

`make verdicts` compares verdicts with streams whose truth is known.

What breaks first: a faint gain in a sensor that is mostly noise; drift against offset in the first
twenty pairs after an alarm; a window that is wrong throughout, which leaves nothing to compare
with.
"""

from monitor.core.verdict.faults import (
    FAULTS,
    REFERENCE_STALE,
    REFERENCE_SUSPECT,
    REJECTED_SHARE,
    Fault,
    alert_meanings,
    estimate_unit,
    fault_estimate,
    fault_estimate_unit,
    many_of,
    noun_of,
    quality_of,
    shows,
)
from monitor.core.verdict.judge import judge, judge_all
from monitor.core.verdict.pairs import Pairs
from monitor.core.verdict.sentences import document
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
from monitor.core.verdict.whole import judge_whole, screened

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
    "fault_estimate",
    "fault_estimate_unit",
    "judge",
    "judge_all",
    "judge_whole",
    "many_of",
    "noun_of",
    "quality_of",
    "screened",
    "shows",
]
