"""FAULTS: all that is said and done about each fault, one entry a fault.

Whatever lists faults takes the list from here: the diagnosis its estimates, sentences and advice;
the snapshot and the metrics their alerts; the settings the names that a threshold must not take;
``/api/v1`` its enumerations; docs/metrics.md its table; deploy/prometheus/rules.py the rules for
Prometheus and what Alertmanager keeps quiet. docs/runbook.md has a section for each, under the
name of its rule, which a test compares.

To add a fault, add an entry and let :func:`.diagnose.diagnose` return its label. The detector's
families of bets are faults too, for an alert bears the name of the family where a diagnosis is not
clear yet; they come first, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.e_values import CLIP
from monitor.core.diagnosis import estimates, remedies, sentences
from monitor.core.diagnosis.estimates import Diagnosis, Estimate
from monitor.core.diagnosis.remedies import Advice
from monitor.core.diagnosis.segments import share_independent
from monitor.core.formatting import TO_THE_MINUTE, date_time

UNCLEAR: Final = "unclear"  # the label where there is a fault and no telling which
FRESH_PAIRS: Final = 10  # independent pairs after the alarm before they alone give the offset


class Evidence(NamedTuple):
    """The last pairs of a series, of which those from ``since`` on show the fault.

    ``rho`` is the detector's autocorrelation of z, ``alarm`` the pair at which it fired, None if
    it has not.
    """

    pairs: Columns
    since: int
    rho: float
    alarm: int | None

    @property
    def part(self) -> slice:
        """The pairs that show the fault."""
        return slice(self.since, None)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault; the labels of ``FAULTS`` are the names of the alerts.

    ``means`` follows the sensor's "it" in tables. ``sentence`` follows the sensor's name. A fault
    that may turn out to be none has ``shows``, whether an estimate's interval excludes that, and
    ``fading``, the sentence once it no longer does. A fault that ``mirrors`` a reference's is held
    against the reference where several sensors agree on it.

    ``rule`` is the alert's name in Prometheus, of which the runbook's anchor is made; ``summary``
    follows the sensor's name and quantity there, ``description`` is a text in which
    ``{calibration_bias:%+.3g}`` stands for a metric's value and ``{unit}`` for the series' unit.
    """

    means: str
    estimate: Callable[[Evidence], Estimate]
    estimate_has_unit: bool = False
    sentence: Callable[[Diagnosis, str], str]
    advice: Advice
    shows: Callable[[Estimate], bool] | None = None
    fading: Callable[[Diagnosis, str], str] | None = None
    mirrors: bool = False
    rule: str
    severity: str = "warning"
    summary: str
    description: str

    @property
    def runbook(self) -> str:
        """Anchor of its section in docs/runbook.md."""
        return self.rule.lower()

    def may_be_none(self, estimate: Estimate) -> bool:
        """Whether the interval of the fault's size leaves room for no fault at all."""
        return self.shows is not None and not self.shows(estimate)


def _offset(evidence: Evidence) -> Estimate:
    """Estimate from the pairs after the alarm alone, if they suffice: those before were chosen."""
    pairs, part, alarm = evidence.pairs, evidence.part, evidence.alarm
    fresh = 0 if alarm is None else pairs.value.size - 1 - alarm
    if fresh * share_independent(evidence.rho)[0] >= FRESH_PAIRS:
        part = slice(-fresh, None)
    return estimates.offset(pairs.error[part], pairs.u_eff[part], evidence.rho)


def _spread(evidence: Evidence) -> Estimate:
    return estimates.spread_factor(evidence.pairs.z[evidence.part], evidence.rho)


def _outliers(evidence: Evidence) -> Estimate:
    far = np.abs(evidence.pairs.z[evidence.part]) > CLIP
    return estimates.share(int(far.sum()), int(far.size))


def _gain(evidence: Evidence) -> Estimate:
    pairs, part = evidence.pairs, evidence.part
    return estimates.gain(pairs.error[part], pairs.reference[part], pairs.u_ref[part])


def _stuck(evidence: Evidence) -> Estimate:
    held = float(evidence.pairs.value[-1])
    return Estimate(held, held, held)


FAULTS: Final[dict[str, Fault]] = {
    "offset": Fault(
        means="it reads too high or too low on average",
        estimate=_offset,
        estimate_has_unit=True,
        sentence=sentences.offset,
        advice=remedies.shift_first,
        shows=lambda estimate: estimate.lower > 0.0 or estimate.upper < 0.0,
        fading=sentences.offset_fading,
        mirrors=True,
        rule="SensorOffset",
        summary="reads too high or too low",
        description="On average it is {calibration_bias:%+.3g} {unit} off. The daemon's page says "
        "since when, and what would mend it.",
    ),
    "understated": Fault(
        means="its errors are larger than its uncertainty says",
        estimate=_spread,
        sentence=sentences.understated,
        advice=remedies.scale_first,
        shows=lambda estimate: estimate.lower > 1.0,
        fading=sentences.spread_fading,
        rule="SensorUnderstated",
        summary="is less certain than it says",
        description="Mean of z squared is {calibration_zms:%.2f}, 1 would be right: its errors are "
        "larger than the uncertainty it states.",
    ),
    "overstated": Fault(
        means="its errors are smaller than its uncertainty says",
        estimate=_spread,
        sentence=sentences.overstated,
        advice=remedies.scale_first,
        shows=lambda estimate: estimate.upper < 1.0,
        fading=sentences.spread_fading,
        rule="SensorOverstated",
        summary="is more certain than it says",
        description="Mean of z squared is {calibration_zms:%.2f}, 1 would be right: its errors are "
        "smaller than the uncertainty it states.",
    ),
    "outliers": Fault(
        means="a few errors are far larger than all others",
        estimate=_outliers,
        sentence=sentences.outliers,
        advice=remedies.advise(
            "look at the readings that are far off: misread, mismatched or disturbed ones"
        ),
        rule="SensorOutliers",
        summary="is far off now and then",
        description="A few of its errors are far larger than all others; the rest is as it should "
        "be.",
    ),
    "stuck": Fault(
        means="it repeats a value while the measurand moves",
        estimate=_stuck,
        estimate_has_unit=True,
        sentence=sentences.stuck,
        advice=remedies.advise(
            "check the sensor: its value does not move while the reference does"
        ),
        rule="SensorStuck",
        summary="repeats one value",
        description="The measurand moves, the reading does not.",
    ),
    "gain": Fault(
        means="its error grows with the measured value",
        estimate=_gain,
        sentence=sentences.gain,
        advice=remedies.divide_span,
        rule="SensorGain",
        summary="has an error that grows with the value",
        description="It is right at one value and wrong in proportion to the distance from it: a "
        "matter of gain.",
    ),
}

# Alerts that are no fault of the sensor's: what else keeps it from being known to be right.
REFERENCE_STALE: Final = "reference_stale"
REFERENCE_SUSPECT: Final = "reference_suspect"
REJECTED_SHARE: Final = "rejected_share"
CIRCUMSTANCES: Final[dict[str, str]] = {
    REFERENCE_STALE: "no reference came for too long",
    REFERENCE_SUSPECT: "several sensors disagree with one reference in the same way",
    REJECTED_SHARE: "too many of its messages could not be used",
}


def _day(time: float) -> str:
    return date_time(time, TO_THE_MINUTE)


def alert_meanings() -> dict[str, str]:
    """Return every alert but the settings' thresholds, and what it means."""
    return {label: fault.means for label, fault in FAULTS.items()} | CIRCUMSTANCES


def estimate_unit(alert: str, unit: str) -> str:
    """Return the unit of an alert's estimate, given that of the series; empty for none."""
    return unit if alert in FAULTS and FAULTS[alert].estimate_has_unit else ""


def sentence_of(diagnosis: Diagnosis, unit: str, since: float = math.nan) -> str:
    """Return "reads 6.2 kg heavy (5.1 to 7.3), since 2026-03-01 06:12" and the like.

    ``since`` is the time of the segment's first pair, s since 1970 UTC; NaN leaves it out. Of a
    fault that fired and fades it says what its size is of late, and that it was one; of one that
    may be none, no size.
    """
    if diagnosis.label == UNCLEAR:
        return sentences.unclear(diagnosis)
    fault = FAULTS[diagnosis.label]
    if diagnosis.fading and fault.fading is not None:
        began = "" if math.isnan(since) else f"; its fault began {_day(since)}"
        return f"{fault.fading(diagnosis, unit)}{began}"
    if diagnosis.hinted:
        return sentences.hinted(diagnosis)
    words = fault.sentence(diagnosis, unit)
    if diagnosis.besides is not None:
        other = FAULTS[diagnosis.besides.label]
        words = f"{words} and {other.sentence(diagnosis.besides, unit)}"
    return words if math.isnan(since) else f"{words}, since {_day(since)}"


def advice_on(diagnosis: Diagnosis, pairs: Columns, unit: str) -> str:
    """Return what would mend a fault, empty where too little is known."""
    if diagnosis.label == UNCLEAR or diagnosis.hinted:
        return ""
    if not math.isfinite(diagnosis.estimate.value):
        return ""
    if diagnosis.fading:
        return "nothing yet: the alert ends by itself if it is right again"
    return FAULTS[diagnosis.label].advice(diagnosis, pairs, unit)
