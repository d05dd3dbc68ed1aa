"""Remarks of a report on one series: sentences with their numbers, beside the figures.

Rules of this file: pure functions of one series' pairs; a remark that needs more pairs than there
are is left out; the caller passes the seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from monitor.core.analysis.conditional import BinnedZms, ence_null, zms_by
from monitor.core.analysis.ranking import worst_score
from monitor.core.analysis.sensitivity import confidence_curve, decimate
from monitor.core.columns import Columns
from monitor.core.formatting import probability
from monitor.core.model import Float
from monitor.core.scores.calibration import beta_gm, n_effective
from monitor.core.scores.intervals import zms_inflation
from monitor.core.verdict.verdict import CLASSICAL, PREDICTIVE, UNDECIDED
from monitor.core.verdict.words import counted

SKEWED: Final = 0.4  # skewness of u from which RCE is not reliable (B-20)
_SCORES: Final = {"crps": "CRPS", "quadratic": "quadratic score", "interval": "interval score"}
COARSE: Final = 1e-3  # spacing of doubles over u from which z is not what was measured
_WORTH_SAYING: Final = 0.005  # share above its claim from which a score is named
_HALF: Final = np.array([0.0, 0.5])


def remarks(c: Columns, random: np.random.Generator, error_model: str = UNDECIDED) -> list[str]:
    """Return the remarks on one series, in the order of the papers (A-23, B-07, B-18 to B-23).

    ``error_model`` is that of its verdict.
    """
    made = [*_worst(c), *_ence(c, random), *_bins(c, error_model), *_decimated(c), *_skewed(c)]
    return [*made, *_confidence(c), *_coarse(c)]


def _worst(c: Columns) -> Iterator[str]:
    above, worst = worst_score(c, list(_SCORES))
    if above[0] >= _WORTH_SAYING:
        name = list(_SCORES.values())[int(worst[0])]
        yield f"Its worst score is the {name}: {above[0]:.0%} above what its own claim predicts."


def _ence(c: Columns, random: np.random.Generator) -> Iterator[str]:
    null = ence_null(c, random)
    if math.isfinite(null.observed):
        yield (
            f"ENCE is {null.observed:.3g}; normal errors of the stated u would give "
            f"{null.mean:.3g} ({null.lower:.3g} to {null.upper:.3g}) with as many pairs and bins, "
            f"p = {null.p_value:.2g}."
        )


def _bins(c: Columns, error_model: str) -> Iterator[str]:
    """Yield ZMS by bins of u, and of the level that an honest sensor's errors do not depend on.

    The errors of a classical sensor do not depend on the reference, those of a predictive one not
    on its value. Where the error model is undecided, bins of either might accuse an honest sensor.
    """
    levels = {CLASSICAL: ("reference", c.reference), PREDICTIVE: ("value", c.value)}
    level = [levels[error_model]] if error_model in levels else []
    for name, covariate in (("u", c.told_u), *level):
        bins = zms_in_bins(c, covariate)
        if len(bins.verdicts) > 1:
            yield f"ZMS in {len(bins.verdicts)} bins of {name}: {outside(bins)}."


def zms_in_bins(c: Columns, covariate: Float) -> BinnedZms:
    """Return :func:`zms_by` of one series, with intervals widened for autocorrelated pairs."""
    return zms_by(c, covariate, stretch=math.sqrt(c.value.size / float(n_effective(c)[0])))


def outside(binned_zms: BinnedZms) -> str:
    """Return in words which bins differ from 1 by more than chance."""
    wrong = binned_zms.verdicts.count("invalid")
    if not wrong:
        return "none differs from 1 by more than chance (Holm's correction)"
    worst = int(np.nanargmax(np.abs(np.log(np.maximum(binned_zms.zms, 1e-12)))))
    return (
        f"{wrong} {'differs' if wrong == 1 else 'differ'} from 1 by more than chance (Holm's "
        f"correction), the farthest {binned_zms.zms[worst]:.3g} "
        f"between {binned_zms.low[worst]:.4g} and {binned_zms.high[worst]:.4g}"
    )


def _decimated(c: Columns) -> Iterator[str]:
    halved = decimate(c, _HALF, by="u", stretch=math.sqrt(float(zms_inflation(c)[0])))
    if halved.verdicts[0] not in ("valid", "invalid"):
        return
    is_valid = halved.verdicts[0] == "valid"
    says = "agrees with 1" if is_valid else "differs from 1 by more than chance"
    if halved.flip_pairs is None or halved.flip_share is None:
        yield f"ZMS {says} whichever share of its largest u is left out, up to half."
    else:
        yield (
            f"ZMS {says}, but would not without the "
            f"{counted(halved.flip_pairs)} with the largest u "
            f"({probability(halved.flip_share)} of all)."
        )


def _skewed(c: Columns) -> Iterator[str]:
    skewness = float(beta_gm(c)[0])
    if skewness >= SKEWED:
        yield (
            f"Its u is so skewed (beta_GM {skewness:.2f}, from {SKEWED:g} on) that RCE and its "
            "interval are not reliable; go by ZMS."
        )


def _confidence(c: Columns) -> Iterator[str]:
    if np.ptp(c.told_u) == 0.0:
        return
    curve = confidence_curve(c, _HALF)
    if curve.kept[1] < c.value.size:
        yield (
            f"The half with the smaller u has a mean absolute error of {curve.mae[1]:.3g} against "
            f"{curve.mae[0]:.3g} of all; {curve.ideal[1]:.3g} if u told the errors apart perfectly."
        )


def _coarse(c: Columns) -> Iterator[str]:
    spacing = np.spacing(np.maximum(np.abs(c.value), np.abs(c.reference))) / c.u
    share = float(np.mean(spacing > COARSE))
    if share:
        yield (
            f"{share:.0%} of its pairs have values so large beside u that the spacing of the "
            f"numbers alone moves z, by up to {float(spacing.max()):.2g}."
        )
