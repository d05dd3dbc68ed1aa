"""FAULTS: everything that is said and done about each fault, one entry a fault.

Whatever lists faults takes the list from here: sentences and advice; the alerts of the snapshot and
the metrics; the names that the settings refuse for a threshold; the enumerations of ``/api/v1``;
the table in docs/metrics.md; the rules for Prometheus and the inhibitions for Alertmanager that
deploy/prometheus/fault_rules.py writes. docs/alerts.md has a section for each fault under the name
of its rule, and a test compares the two.

To add a fault, add an entry and let :func:`.naming.named_verdict` return its label. The detector's
families of bets are faults too, because an alert carries the name of the family while the verdict
is not yet clear; they come first, in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from monitor.core.model import NAN
from monitor.core.verdict import words
from monitor.core.verdict.quality import FAILED, GOOD, INACCURATE, SUSPECT, UNCHECKED, Quality
from monitor.core.verdict.verdict import FAULT, IS_RIGHT, NOTHING, Estimate, Verdict
from monitor.core.verdict.words import Verbs

LEAST_FAR: Final = 0.001  # share of outliers that an honest sensor has too


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault; the labels of ``FAULTS`` are the names of the alerts.

    ``noun`` is its name in a sentence; ``means`` follows "it", the sensor, in tables; ``many``
    follows a number of sensors. ``words`` follow the sensor's name, in the tense of the given
    verbs. ``shows`` says whether the intervals of a verdict exclude that there is no such fault;
    ``look`` is what to do where no adjustment has proved itself. A fault that ``mirrors`` one of
    the reference is blamed on the reference where several sensors agree on it. ``has_error_now``:
    the error is about the same from pair to pair, whatever the measurand does.

    ``estimate`` is how large the fault is, ``estimate_means`` what that number says, and
    ``estimate_unit`` its unit, in which ``{unit}`` stands for the series' unit. ``quality`` is that
    of the readings of a sensor that has the fault.

    ``rule`` is the alert's name in Prometheus, from which the anchor in docs/alerts.md is made, and
    ``description`` its text. ``summaries`` follow the sensor's name and quantity there: the first
    of which all numbers are known. In them ``{estimate:%+.3g}`` stands for the number in a form of
    Prometheus' templates, ``{lower:...}`` and ``{upper:...}`` for the ends of its interval,
    ``{error_now:...}`` for the error now; ``1/`` or ``100*`` before a name changes the scale.
    """

    noun: str
    means: str
    many: str
    words: Callable[[Verdict, str, Verbs], str]
    shows: Callable[[Verdict], bool] = lambda _found: True
    look: str = "check the sensor"
    estimate: Callable[[Verdict], Estimate] = lambda verdict: verdict.size
    estimate_means: str
    estimate_unit: str = ""
    mirrors: bool = False
    has_error_now: bool = True
    quality: Quality
    rule: str
    severity: str = "warning"
    summaries: tuple[str, ...]
    description: str

    @property
    def runbook(self) -> str:
        """Anchor of the fault's section in docs/alerts.md."""
        return self.rule.lower()


def _is_level(verdict: Verdict) -> bool:
    """Whether the level exceeds what declared systematic effects account for."""
    return verdict.size.is_beyond(verdict.explained)


def _is_drift(verdict: Verdict) -> bool:
    """Whether the error moves, wherever it is now: some drifts pass through 0."""
    return verdict.slope_per_day.excludes(0.0) or verdict.level.is_beyond(verdict.explained)


def _is_factor(verdict: Verdict) -> bool:
    """Whether the factor is clear of 1; without a lower end, how far below 1 is open."""
    return verdict.size.lower > 1.0 or verdict.size.upper < 1.0


FAULTS: Final[dict[str, Fault]] = {
    "offset": Fault(
        noun="offset",
        means="it reads too high or too low on average",
        many="read {direction}",
        words=words.offset,
        shows=_is_level,
        estimate_means="by how much it reads high, below 0 if it reads low",
        estimate_unit="{unit}",
        mirrors=True,
        quality=INACCURATE,
        rule="SensorOffset",
        summaries=(
            ("reads too high or too low: {estimate:%+.3g} {unit} ({lower:%+.3g} to {upper:%+.3g})"),
        ),
        description="The daemon's page says what would fix it.",
    ),
    "understated": Fault(
        noun="understated uncertainty",
        means="its errors are larger than its uncertainty says",
        many="understate",
        words=words.understated,
        shows=_is_factor,
        estimate_means="the factor by which its uncertainty must be multiplied to be right",
        quality=SUSPECT,
        rule="SensorUnderstated",
        summaries=(
            (
                "understates its uncertainty by a factor of "
                "{estimate:%.3g} ({lower:%.3g} to {upper:%.3g})"
            ),
        ),
        description="Its errors are larger than the uncertainty it states. The daemon's page says "
        "what would fix it.",
    ),
    "overstated": Fault(
        noun="overstated uncertainty",
        means="its errors are smaller than its uncertainty says",
        many="overstate",
        words=words.overstated,
        shows=_is_factor,
        estimate_means="the factor by which its uncertainty must be multiplied to be right, so "
        "0.25 where the sentence says 4; absent where only its upper end is known",
        quality=GOOD,  # its readings are better than it says
        rule="SensorOverstated",
        summaries=(
            (
                "overstates its uncertainty by a factor of "
                "{1/estimate:%.3g} ({1/upper:%.3g} to {1/lower:%.3g})"
            ),
            "overstates its uncertainty by a factor of at least {1/upper:%.3g}",
        ),
        description="Its errors are smaller than the uncertainty it states. The daemon's page says "
        "what would fix it.",
    ),
    "outliers": Fault(
        noun="outliers",
        means="a few errors are far larger than all others",
        many="have outliers",
        words=words.outliers,
        shows=lambda verdict: verdict.size.lower > LEAST_FAR,
        look="look at the readings that are far off, which may be misread, mismatched or disturbed",
        estimate_means="the share of its pairs that are more than 4 standard uncertainties off",
        quality=SUSPECT,
        rule="SensorOutliers",
        summaries=(
            (
                "is far off in {100*estimate:%.3g} % of its pairs ({100*lower:%.3g} to "
                "{100*upper:%.3g})"
            ),
        ),
        description="A few of its errors are far larger than all others; the rest is as it should "
        "be.",
    ),
    "gain": Fault(
        noun="gain error",
        means="its error changes with the measured value",
        many="have a wrong gain",
        words=words.gain,
        shows=_is_factor,
        estimate_means="its gain, where 1 is right",
        quality=INACCURATE,
        rule="SensorGain",
        summaries=(
            (
                "has an error that changes with the level: gain "
                "{estimate:%.3g} ({lower:%.3g} to {upper:%.3g})"
            ),
        ),
        description="It is right at one value and wrong in proportion to the distance from it: a "
        "matter of gain.",
    ),
    "drift": Fault(
        noun="drift",
        means="its error keeps moving in one direction",
        many="drift",
        words=words.drift,
        shows=_is_drift,
        look="find what moves it, or calibrate it more often",
        estimate=lambda verdict: verdict.slope_per_day,
        estimate_means="the change of its error a day; `monitor_error_now` is the error",
        estimate_unit="{unit}/d",
        mirrors=True,
        quality=INACCURATE,
        rule="SensorDrift",
        summaries=(
            (
                "drifts {estimate:%+.3g} {unit} a day ({lower:%+.3g} to {upper:%+.3g}), "
                "{error_now:%+.3g} {unit} off now"
            ),
            "drifts {estimate:%+.3g} {unit} a day ({lower:%+.3g} to {upper:%+.3g})",
            "drifts",
        ),
        description="Its error keeps moving in one direction. The daemon's page says when it "
        "leaves its tolerance.",
    ),
    "stuck": Fault(
        noun="stuck value",
        means="it repeats a value while the measurand moves",
        many="are stuck",
        words=words.stuck,
        has_error_now=False,
        look="check the sensor, whose value does not move while the reference does",
        estimate_means="the value that it repeats",
        estimate_unit="{unit}",
        quality=FAILED,
        rule="SensorStuck",
        summaries=("is stuck at {estimate:%.7g} {unit}",),
        description="The measurand changes, but the reading does not.",
    ),
    "lag": Fault(
        noun="lag",
        means="it follows what it measures too late",
        many="are late",
        words=words.lag,
        has_error_now=False,
        look="check its filter, its place and its clock against the reference's",
        estimate=lambda verdict: Estimate(verdict.delay, NAN, NAN),
        estimate_means="how late it is; absent where it follows too slowly instead",
        estimate_unit="s",
        quality=INACCURATE,
        rule="SensorLag",
        summaries=("is late by {estimate:humanizeDuration}", "follows what it measures too slowly"),
        description="Its error follows the rate at which the reference changes: it responds too "
        "slowly, or its clock is off.",
    ),
    "sign": Fault(
        noun="wrong sign",
        means="its value falls when what it measures rises",
        many="have the wrong sign",
        words=words.sign,
        has_error_now=False,
        look="check its wiring and its scaling",
        estimate_means="none",
        quality=FAILED,
        rule="SensorSign",
        summaries=("has the wrong sign",),
        description="Its value falls when the reference rises.",
    ),
    "clipped": Fault(
        noun="clipped range",
        means="it stands at an end of its range",
        many="are clipped",
        words=words.at_limit,
        has_error_now=False,
        look="look at its range, its supply and where its signal ends; refuse that value",
        estimate_means="the value at which it stands",
        estimate_unit="{unit}",
        quality=INACCURATE,
        rule="SensorClipped",
        summaries=("stands at {estimate:%.7g} {unit} whatever is beyond it",),
        description="Its value does not pass a limit that the reference passes; it is right up to "
        "there.",
    ),
    "spells": Fault(
        noun="spells",
        means="it is off for a while, again and again",
        many="are off in spells",
        words=words.spells,
        has_error_now=False,
        look="look for a loose contact, a door or a machine that comes and goes with it",
        estimate_means="the share of its pairs that are off",
        quality=INACCURATE,
        rule="SensorSpells",
        summaries=(
            (
                "is off in {100*estimate:%.3g} % of its pairs ({100*lower:%.3g} to "
                "{100*upper:%.3g}), in spells"
            ),
        ),
        description="It is right for a while, and off by the same amount for a while.",
    ),
    "daily": Fault(
        noun="daily error",
        means="its error goes with the hour of the day",
        many="are off once a day",
        words=words.daily,
        has_error_now=False,
        look="look at what has a day, such as temperature, sun or supply",
        estimate_means="half the swing of its error in a day",
        estimate_unit="{unit}",
        quality=INACCURATE,
        rule="SensorDaily",
        summaries=(
            (
                "has an error that goes with the hour of the day: +-{estimate:%.3g} {unit} "
                "({lower:%.3g} to {upper:%.3g})"
            ),
        ),
        description="Its error rises and falls once a day.",
    ),
    "step": Fault(
        noun="step",
        means="it is off on one side of a level",
        many="are off beyond a level",
        words=words.beyond_level,
        has_error_now=False,
        look="look at what changes at that level, such as a range, a filter or condensation",
        estimate_means="by how much it reads high there, below 0 if low",
        estimate_unit="{unit}",
        quality=INACCURATE,
        rule="SensorStep",
        summaries=(
            (
                "is off on one side of a level: {estimate:%+.3g} {unit} ({lower:%+.3g} to "
                "{upper:%+.3g})"
            ),
        ),
        description="It is off by the same amount on one side of a level, and right on the other.",
    ),
    "sensitivity": Fault(
        noun="moving gain",
        means="its gain moves",
        many="change their gain",
        words=words.sensitivity,
        shows=lambda verdict: verdict.slope_per_day.excludes(0.0),
        has_error_now=False,
        look="calibrate its span more often; find what its sensitivity is lost by",
        estimate=lambda verdict: verdict.slope_per_day.times(1.0 / verdict.pivot),
        estimate_means="the change of its gain a day",
        estimate_unit="/d",
        quality=INACCURATE,
        rule="SensorSensitivity",
        summaries=(
            (
                "changes its gain by {100*estimate:%+.3g} % a day ({100*lower:%+.3g} to "
                "{100*upper:%+.3g})"
            ),
        ),
        description="Its error is a share of the measurand, and the share moves.",
    ),
    "unrelated": Fault(
        noun="unrelated readings",
        means="its readings have nothing to do with its references",
        many="are unrelated to their references",
        words=words.unrelated,
        has_error_now=False,
        look="check whether key, subject and place pair it with references of the same thing",
        estimate_means="none",
        quality=FAILED,
        rule="SensorUnrelated",
        summaries=("has readings that have nothing to do with its references",),
        description="Its values show no relation to its references, at no lag: wrong key, wrong "
        "subject or wrong place.",
    ),
}

# Alerts that are not a fault of the sensor: other reasons why nobody knows whether it is right.
REFERENCE_STALE: Final = "reference_stale"
REFERENCE_SUSPECT: Final = "reference_suspect"
REJECTED_SHARE: Final = "rejected_share"
CIRCUMSTANCES: Final[dict[str, str]] = {
    REFERENCE_STALE: "no reference came for too long",
    REFERENCE_SUSPECT: "several sensors disagree with one reference in the same way",
    REJECTED_SHARE: "too many of its messages could not be used",
}
_MANY: Final[dict[str, str]] = {
    REFERENCE_STALE: "lack references",
    REFERENCE_SUSPECT: "are references that look wrong",
    REJECTED_SHARE: "send what cannot be used",
}


def shows(verdict: Verdict) -> bool:
    """Return whether there is a fault and the intervals confirm its name."""
    return bool(verdict.fault) and FAULTS[verdict.fault].shows(verdict)


def fault_estimate(verdict: Verdict) -> Estimate:
    """Return how large the fault is that a verdict states, in the fault's own unit."""
    return FAULTS[verdict.fault].estimate(verdict) if verdict.state == FAULT else NOTHING


def fault_estimate_unit(verdict: Verdict, unit: str) -> str:
    """Return the unit of that estimate, given the series' unit; empty for none."""
    unit_text = (
        FAULTS[verdict.fault].estimate_unit.format(unit=unit) if verdict.state == FAULT else ""
    )
    return f"1{unit_text}" if unit_text.startswith("/") else unit_text


def quality_of(verdict: Verdict) -> Quality:
    """Return the quality of a series' readings, as they are sent."""
    if verdict.state == FAULT:
        return FAULTS[verdict.fault].quality
    return GOOD if verdict.state == IS_RIGHT else UNCHECKED


def many_of(alert: str, estimate: float | None, unit: str) -> str:
    """Return what sensors with an alert do, after their number: "read high"."""
    way = "wrong" if estimate is None else words.direction(estimate, unit)
    text = FAULTS[alert].many if alert in FAULTS else _MANY.get(alert, f"are beyond {alert}")
    return text.format(direction=way)


def noun_of(alert: str) -> str:
    """Return the name of an alert in a sentence."""
    return FAULTS[alert].noun if alert in FAULTS else alert.replace("_", " ")


def alert_meanings() -> dict[str, str]:
    """Return every alert except thresholds from the settings, with its meaning."""
    return {label: fault.means for label, fault in FAULTS.items()} | CIRCUMSTANCES


def estimate_unit(alert: str, unit: str) -> str:
    """Return the unit of a verdict's size, given the series' unit; empty for none."""
    return unit if alert in FAULTS and "{unit}" in FAULTS[alert].estimate_unit else ""
