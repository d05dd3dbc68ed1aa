"""What is wrong with a sensor whose alert fires: one of six faults, how large, since when.

Rules of this file: a pure function of one series' last pairs and of what its detector knows; the
faults are looked for in a fixed order, first the ones that imitate others. docs/detection.md: the
label is provisional for 20 pairs after the alarm.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.detector.e_values import CLIP, FAMILIES
from monitor.core.diagnosis import remedies
from monitor.core.diagnosis.remedies import Estimate
from monitor.core.diagnosis.segments import (
    SHORTEST,
    Segment,
    change_point,
    segment_from,
    share_for_product,
    share_independent,
)
from monitor.core.model import Float

LABELS: Final = (*FAMILIES, "gain", "stuck", "unclear")
PROVISIONAL_PAIRS: Final = 20
FRESH_PAIRS: Final = 10  # independent pairs after the alarm before they alone give the offset
_STUCK_PAIRS: Final = 4
_GAIN_PAIRS: Final = 10
_GAIN_T: Final = 4.0
_MOST: Final = 0.5  # where most readings are far off, they are no outliers
_MAY_BE_NONE: Final = ("offset", "understated", "overstated")
_BESIDE_Z: Final = 0.25  # mean z below which an offset beside a wrong uncertainty goes unsaid


class Diagnosis(NamedTuple):
    """The name of a fault with its size.

    ``estimate`` is the offset in the series' unit, the factor by which u is too small (understated
    and overstated), the share of outliers, the gain, or the value the sensor is stuck at.
    ``since`` counts in the pairs given; ``pairs`` are those from there on. ``provisional`` until
    20 pairs after the alarm. ``besides`` is what else is clear: a wrong uncertainty beside an
    offset, or an offset beside a wrong uncertainty. ``fading``: it fired, and the interval of its
    size no longer says so; ``hinted``: it has not fired, and the interval does not say so yet.
    """

    label: str
    estimate: Estimate
    since: int
    pairs: int
    provisional: bool
    besides: Diagnosis | None = None
    fading: bool = False
    hinted: bool = False


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
    if label == "unclear":
        since = 0
    found = Diagnosis(
        label=label,
        estimate=_estimate(label, pairs, since, rho, alarm),
        since=since,
        pairs=pairs.value.size - since,
        provisional=alarm is None or pairs.value.size - 1 - alarm < PROVISIONAL_PAIRS,
    )
    found = found._replace(
        fading=_fades(label, found.estimate, alarm), hinted=_hints(label, found.estimate, alarm)
    )
    other = _other(label, segment)
    if not other:
        return found
    estimate = _estimate(other, pairs, since, rho, alarm)
    if not _tells(other, estimate):
        return found
    return found._replace(besides=found._replace(label=other, estimate=estimate))


def _other(label: str, segment: Segment) -> str:
    """Return the fault that is clear beside the one named, empty if there is none."""
    if not (segment.is_offset and segment.is_spread):
        return ""
    if label == "offset":
        return "understated" if segment.variance > 1.0 else "overstated"
    named = label in ("understated", "overstated") and abs(segment.mean) > _BESIDE_Z
    return "offset" if named else ""


def _fades(label: str, estimate: Estimate, alarm: int | None) -> bool:
    """Return whether what fired can no longer be told from nothing."""
    fades = alarm is not None and label in _MAY_BE_NONE
    return fades and not np.isnan(estimate.lower) and not _tells(label, estimate)


def _hints(label: str, estimate: Estimate, alarm: int | None) -> bool:
    """Return whether what has not fired cannot be told from nothing yet."""
    return alarm is None and label in _MAY_BE_NONE and not _tells(label, estimate)


def _tells(label: str, estimate: Estimate) -> bool:
    """Return whether the interval of a size says what the label says."""
    if label == "understated":
        return estimate.lower > 1.0
    if label == "overstated":
        return estimate.upper < 1.0
    return estimate.lower > 0.0 or estimate.upper < 0.0


def _label(pairs: Columns, segment: Segment, leading: str, rho: float) -> str:
    if is_stuck(pairs):
        return "stuck"
    if segment.pairs < SHORTEST or not leading:
        return "unclear"
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


def _estimate(label: str, pairs: Columns, since: int, rho: float, alarm: int | None) -> Estimate:
    part = slice(since, None)
    if label == "stuck":
        held = float(pairs.value[-1])
        return Estimate(held, held, held)
    if label == "gain":
        return remedies.gain(pairs.error[part], pairs.reference[part], pairs.u_ref[part])
    if label == "outliers":
        far = np.abs(pairs.z[part]) > CLIP
        return remedies.share(int(far.sum()), int(far.size))
    if label in ("understated", "overstated"):
        return remedies.spread_factor(pairs.z[part], rho)
    fresh = 0 if alarm is None else pairs.value.size - 1 - alarm
    if fresh * share_independent(rho)[0] >= FRESH_PAIRS:
        part = slice(-fresh, None)
    return remedies.offset(pairs.error[part], pairs.u_eff[part], rho)
