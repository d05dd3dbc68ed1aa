"""What is wrong with a sensor whose alert fires: which of ``FAULTS``, how large, since when.

A pure function of one series' last pairs and of what its detector knows. Faults that imitate
others are looked for first: a stuck sensor has an offset too, and a gain looks like a wrong u.
docs/detection.md: the label is provisional for 20 pairs after the alarm.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.e_values import CLIP
from monitor.core.diagnosis.estimates import Diagnosis
from monitor.core.diagnosis.faults import FAULTS, UNCLEAR, Evidence
from monitor.core.diagnosis.segments import (
    SHORTEST,
    Segment,
    change_point,
    segment_from,
    share_for_product,
)
from monitor.core.model import Float

PROVISIONAL_PAIRS: Final = 20
_STUCK_PAIRS: Final = 4
_GAIN_PAIRS: Final = 10
_GAIN_T: Final = 4.0
_MOST: Final = 0.5  # where most readings are far off, they are no outliers
_BESIDE_Z: Final = 0.25  # mean z below which an offset beside a wrong uncertainty goes unsaid


def diagnose(pairs: Columns, rho: float, leading: str, alarm: int | None = None) -> Diagnosis:
    """Name the fault in the last pairs of one series.

    ``rho`` and ``leading`` (a family, "" if there is no evidence) are the detector's; ``alarm`` is
    the row at which it fired, None if it has not. Of a fired alert the offset is estimated from
    the pairs after the alarm alone, once they are worth ten: those that raised it are too high.
    """
    since = change_point(pairs.z, rho)
    segment = segment_from(since, pairs.z, rho)
    label = _label(pairs, segment, leading, rho)
    if label == "stuck":
        since = pairs.value.size - _run_length(pairs.value)
    evidence = Evidence(pairs, 0 if label == UNCLEAR else since, rho, alarm)
    found = _sized(label, evidence)
    other = _other(label, segment)
    if not other:
        return found
    beside = _sized(other, evidence)
    if FAULTS[other].may_be_none(beside.estimate):
        return found
    return found._replace(besides=found._replace(label=other, estimate=beside.estimate))


def _sized(label: str, evidence: Evidence) -> Diagnosis:
    """Return a fault with its size, and whether it may be none for all that is known."""
    pairs, alarm = evidence.pairs.value.size, evidence.alarm
    # While it is not clear in which way a sensor is wrong, the size told is that of its offset.
    estimate = FAULTS["offset" if label == UNCLEAR else label].estimate(evidence)
    may_be_none = label != UNCLEAR and FAULTS[label].may_be_none(estimate)
    return Diagnosis(
        label=label,
        estimate=estimate,
        since=evidence.since,
        pairs=pairs - evidence.since,
        provisional=alarm is None or pairs - 1 - alarm < PROVISIONAL_PAIRS,
        fading=may_be_none and alarm is not None and not np.isnan(estimate.lower),
        hinted=may_be_none and alarm is None,
    )


def _other(label: str, segment: Segment) -> str:
    """Return the fault that is clear beside the one named, empty if there is none."""
    if not (segment.is_offset and segment.is_spread):
        return ""
    if label == "offset":
        return "understated" if segment.variance > 1.0 else "overstated"
    named = label in ("understated", "overstated") and abs(segment.mean) > _BESIDE_Z
    return "offset" if named else ""


def _label(pairs: Columns, segment: Segment, leading: str, rho: float) -> str:
    if is_stuck(pairs):
        return "stuck"
    if segment.pairs < SHORTEST or not leading:
        return UNCLEAR
    if abs(level_dependence(pairs, segment)) > _GAIN_T:
        return "gain"
    z = pairs.z[segment.since :]
    few = float(np.mean(np.abs(z) > CLIP)) < _MOST
    if (leading == "outliers" and few) or is_outliers(z, segment, rho):
        return "outliers"
    return _offset_or_spread(segment, leading)


def _offset_or_spread(segment: Segment, leading: str) -> str:
    spread = "understated" if segment.variance > 1.0 else "overstated"
    if segment.is_offset and segment.is_spread and leading != "offset":
        return "offset" if segment.mean**2 > abs(segment.variance - 1.0) else spread
    if segment.is_offset:
        return "offset"
    return spread if segment.is_spread else leading


def _run_length(value: Float) -> int:
    """Return how many of the last values are identical."""
    other = np.flatnonzero(value != value[-1])
    return int(value.size - 1 - other[-1]) if other.size else int(value.size)


def is_stuck(pairs: Columns) -> bool:
    """Whether the last four or more values are identical while the reference moved far."""
    run = _run_length(pairs.value)
    reference = pairs.reference[-run:]
    moved = float(reference.max() - reference.min())
    return run >= _STUCK_PAIRS and moved > 4.0 * float(pairs.u_eff[-run:].mean())


def level_dependence(pairs: Columns, segment: Segment) -> float:
    """Return t of the correlation of z with the level on the segment, 0 if there is none.

    Errors correlate with what they are part of: z with the reference by -u_ref^2 / u_eff, with
    the value by u^2 / u_eff, which is subtracted. Errors larger than stated spoil the second if
    they are the sensor's, the first if they are the reference's; a gain shows in both, and the
    smaller t counts. 0 with fewer than ten pairs.
    """
    if segment.pairs < _GAIN_PAIRS:
        return 0.0
    part = slice(segment.since, None)
    z = np.clip(pairs.z[part], -CLIP, CLIP)
    u_eff, of_reference = pairs.u_eff[part], pairs.u_ref[part] ** 2
    shown = min(float(((z - z.mean()) * pairs.z[part]).mean()), 1.0) * u_eff**2
    on_reference = _t(z, pairs.reference[part], -np.minimum(of_reference, shown) / u_eff)
    on_value = _t(z, pairs.value[part], np.maximum(shown - of_reference, 0.0) / u_eff)
    if on_reference * on_value <= 0.0:
        return 0.0
    return min(on_reference, on_value, key=abs)


def _t(z: Float, level: Float, own: Float) -> float:
    """Return t of the correlation of z with ``level``, beyond the covariance ``own``.

    A slow level meets slow errors by chance: both count in the effective number of pairs.
    """
    centred, deviation = level - level.mean(), z - z.mean()
    spread = float(centred.std() * deviation.std())
    if spread <= 0.0:
        return 0.0
    r = float((centred * deviation).mean() - own.mean()) / spread
    r = min(max(r, -0.999), 0.999)
    n_eff = z.size * share_for_product(level, z)
    return r * float(np.sqrt(max(n_eff - 2.0, 0.0) / (1.0 - r * r)))


def is_outliers(z: Float, segment: Segment, rho: float) -> bool:
    """Whether two or more far |z| are all that is wrong with the segment."""
    far = np.abs(z) > CLIP
    if segment.variance <= 1.0 or not segment.is_spread or not 2 <= far.sum() < 0.2 * z.size:
        return False
    rest = segment_from(0, z[~far], rho)
    return not rest.is_spread and not rest.is_offset
