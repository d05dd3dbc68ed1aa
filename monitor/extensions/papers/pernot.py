"""Pernot (arXiv 2402.10043v2): Tables 1 and 2, figures 1 to 3, bin-wise scaling.

The paper's sets are read if they are available; two generated ones are shown beside them. Verdicts
are those of the deterministic ABC interval, undecided where |zeta| is so near to 1 that the seed of
a bootstrap would decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from monitor.core.analysis import resampling, sensitivity
from monitor.core.analysis.adjustments import METHODS, applied
from monitor.core.analysis.remarks import SKEWED
from monitor.core.columns import Columns, coverage_factor
from monitor.core.model import Float
from monitor.core.scores import bins, calibration, intervals
from monitor.core.scores.intervals import Interval
from monitor.core.scores.statistics import compute
from monitor.extensions.papers import captions
from monitor.extensions.papers import paper_figures as drawn
from monitor.extensions.papers.calibrated_sets import NU, SEED, TESTS, calibrated, passed, skewness
from monitor.extensions.papers.data_folder import DataFolder
from monitor.extensions.papers.paper_page import (
    PaperFigure,
    PaperSection,
    PaperTable,
    Part,
    Reproduction,
)
from monitor.extensions.papers.printed_tables import FIGURE_3, SETS, PaperSet, Printed
from monitor.report.scored import figure

TITLE: Final = "Pernot: How to validate average calibration for machine learning regression tasks?"
TABLE_2: Final = "Table 2: ZMS and RCE with 95 % intervals"
SETS_DRAWN: Final = 1_000
PAIRS: Final = 5_000
HEADS: Final = (
    "set, statistic", "paper: estimate", "bias", "interval", "zeta",
    "ours: estimate", "bias", "bias / width", "BCa", "zeta", "ABC", "verdict",
)  # fmt: skip
_SHARES: Final = np.array([0.0, 0.01, 0.02, 0.05, 0.1])
_FINE: Final = np.arange(0.0, 0.1001, 0.005)
_GENERATED_PAIRS: Final = 2_000


class JudgedSet(NamedTuple):
    """A set: its name, its pairs, the paper's printed numbers, and its intervals."""

    name: str
    pairs: Columns
    printed: PaperSet | None
    bca: dict[str, Interval]
    abc: dict[str, Interval]


class SetsAsked(NamedTuple):
    """How many sets of how many pairs Fig. 3 draws.

    ``watched`` receives the points of Fig. 3 and yields each when the previous one is done.
    """

    sets: int = SETS_DRAWN
    pairs: int = PAIRS
    watched: Callable[[Sequence[float]], Iterable[float]] = iter


def reproduce(data: DataFolder, asked: SetsAsked) -> Reproduction:
    """Return the paper's tables and figures for the available sets and for generated ones."""
    recorded = [
        (f"set {each.number}", pairs, each)
        for each in SETS
        for pairs in [data.pairs(each.file, f"set {each.number} ({each.name})")]
        if pairs is not None and _enough(each, pairs, data)
    ]
    sets = [_judged(*each) for each in (*recorded, *_generated())]
    made = (_table_1(sets), _table_2(sets), _decimation(sets), _pass_rates(asked), _scaling(sets))
    return Reproduction(TITLE, made, data.left_out())


def _enough(of: PaperSet, pairs: Columns, data: DataFolder) -> bool:
    """Whether there are enough pairs for a bootstrap; if not, add a sentence on it."""
    least, count = resampling.MIN_RESAMPLED, pairs.value.size
    if count < least:
        data.unusable(f"Left out is set {of.number}: {of.file} has {count} pairs, below {least}.")
    return count >= least


def _generated() -> list[tuple[str, Columns, None]]:
    """Return a calibrated set with heavy-tailed u, and one whose u is flatter than the errors."""
    random = np.random.default_rng(SEED)
    right = calibrated(random, 1, _GENERATED_PAIRS, 3.0)
    wrong = calibrated(random, 1, _GENERATED_PAIRS, 10.0)
    u = np.sqrt(wrong.u)
    half = coverage_factor(wrong.p) * u
    flat = replace(wrong, u=u, lower=wrong.value - half, upper=wrong.value + half)
    return [("heavy u", right, None), ("even u", flat, None)]


def _judged(name: str, c: Columns, printed: PaperSet | None) -> JudgedSet:
    seeded = {"seed": SEED, "replicates": resampling.REPLICATES}
    return JudgedSet(
        name,
        c,
        printed,
        {"ZMS": resampling.bca_zms(c, **seeded), "RCE": resampling.bca_rce(c, **seeded)},
        {"ZMS": intervals.abc_zms(c), "RCE": intervals.abc_rce(c)},
    )


def _table_1(sets: list[JudgedSet]) -> PaperSection:
    """Table 1."""
    rows = [
        (
            each.name if each.printed is None else f"{each.name}, {each.printed.name}",
            _shown(each.printed and each.printed.pairs, "d"),
            str(each.pairs.value.size),
            _shown(each.printed and each.printed.beta_gm, "g"),
            f"{calibration.beta_gm(each.pairs)[0]:.3f}",
        )
        for each in sets
    ]
    heads = ("set", "paper: pairs", "ours", "paper: beta_GM of u", "ours")
    return PaperSection(
        "Table 1: the sets (B-16)",
        (
            PaperTable(
                "Table 1: pairs, and skewness of u about the Harrell-Davis median", heads, rows
            ),
            captions.GENERATED,
        ),
    )


def _table_2(sets: list[JudgedSet]) -> PaperSection:
    """Table 2 and Fig. 1."""
    rows = [
        (
            f"{each.name}, {statistic}",
            *_printed(each.printed, statistic),
            *_ours(each.bca[statistic], each.abc[statistic]),
        )
        for each in sets
        for statistic in ("ZMS", "RCE")
    ]
    zms, rce = (np.array([each.bca[key].zeta[0] for each in sets]) for key in ("ZMS", "RCE"))
    names = [each.name for each in sets]
    return PaperSection(
        "Table 2 and Fig. 1: ZMS and RCE (B-12 to B-17)",
        (
            PaperTable(TABLE_2, HEADS, rows),
            captions.TABLE_2_NOTE.format(replicates=sets[0].bca["ZMS"].replicates, seed=SEED),
            PaperFigure(
                "zetas.svg",
                "Absolute zeta of RCE against that of ZMS, a point a set",
                drawn.pernot_figure_1(zms, rce, names),
            ),
            captions.ZETAS,
        ),
    )


def _printed(of_set: PaperSet | None, statistic: str) -> list[str]:
    if of_set is None:
        return ["-"] * 4
    printed: Printed = of_set.zms if statistic == "ZMS" else of_set.rce
    ends = "-" if printed.interval is None else "{} to {}".format(*printed.interval)
    return [f"{printed.estimate}", _shown(printed.bias, ".1e"), ends, _shown(printed.zeta, "")]


def _shown(number: float | None, digits: str) -> str:
    return "-" if number is None else format(number, digits)


def _ours(bca: Interval, abc: Interval) -> list[str]:
    bias = math.nan if bca.bias is None else float(bca.bias[0])
    return [
        f"{bca.estimate[0]:.4f}",
        f"{bias:.1e}",
        f"{_over(bias, float(bca.upper[0] - bca.lower[0])):.3f}",
        f"{bca.lower[0]:.4f} to {bca.upper[0]:.4f}",
        f"{bca.zeta[0]:.2f}",
        f"{abc.lower[0]:.4f} to {abc.upper[0]:.4f}",
        intervals.verdict(float(abc.zeta[0])),
    ]


def _over(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else math.nan


def _decimation(sets: list[JudgedSet]) -> PaperSection:
    """Fig. 2."""
    rows, moved = [], {"ZMS": dict[str, Float](), "RCE": dict[str, Float]()}
    for each in sets:
        coarse = sensitivity.decimate(each.pairs, _SHARES, by="u")
        fine = sensitivity.decimate(each.pairs, _FINE, by="u")
        flip = "-" if coarse.flip_share is None else f"{100.0 * coarse.flip_share:.1f} %"
        for key, of_shares, line in (
            ("ZMS", coarse.zms, fine.zms),
            ("RCE", coarse.rce, fine.rce),
        ):
            moved[key][each.name] = _arms(line, each.abc[key])
            out = np.flatnonzero(np.abs(moved[key][each.name]) > 1.0)
            leaves = f"{100.0 * _FINE[out[0]]:.1f} %" if out.size else "never"
            flips = flip if key == "ZMS" else ""
            cells = [f"{number:.4f}" for number in of_shares]
            rows.append((f"{each.name}, {key}", *cells, leaves, flips))
    return PaperSection(
        "Fig. 2: without the largest u (B-18)",
        (
            PaperTable(
                "ZMS and RCE of what is left without the pairs of largest u",
                (
                    "set, statistic",
                    *("all" if not share else f"less {100.0 * share:g} %" for share in _SHARES),
                    "first leaves its interval at",
                    "verdict of ZMS turns at",
                ),
                rows,
            ),
            PaperFigure(
                "decimation.svg",
                "ZMS and RCE without the pairs of largest u, a line a set",
                drawn.pernot_figure_2(_FINE, moved),
            ),
            captions.DECIMATION,
        ),
    )


def _arms(line: Float, whole: Interval) -> Float:
    """Return the distance of a statistic from that of all pairs, in arms of its interval."""
    moved = line - whole.estimate[0]
    up, down = (whole.upper - whole.estimate)[0], (whole.estimate - whole.lower)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved == 0.0, 0.0, np.where(moved > 0.0, moved / up, moved / down))


def _pass_rates(asked: SetsAsked) -> PaperSection:
    """Fig. 3."""
    counts = [passed(TESTS, asked.sets, asked.pairs, nu) for nu in asked.watched(NU)]
    valid, judged = (np.array(each).T for each in zip(*counts, strict=True))
    shares = {}
    for name, held, of in zip(TESTS, valid, judged, strict=True):
        low, high = calibration.binomial_interval(held, of)
        shares[name] = (held / np.maximum(of, 1.0), low, high)
    skewed = [skewness(nu) for nu in NU]
    rows = [
        (
            f"{nu:g}",
            f"{skewed[at]:.3f}",
            *(f"{share[at]:.3f} ({low[at]:.3f} to {high[at]:.3f})"
              for share, low, high in shares.values()),
        )
        for at, nu in enumerate(NU)
    ]  # fmt: skip
    parts: list[Part] = [
        PaperTable(
            f"Share that passes, of {asked.sets} sets of {asked.pairs} pairs, with its 95 % "
            "binomial interval",
            ("nu", "beta_GM of u", *TESTS),
            rows,
        )
    ]
    if all(np.isfinite(low).all() for _, low, _ in shares.values()):
        drawing = drawn.pernot_figure_3(np.array(NU), np.array(skewed), shares)
        title = (
            "Share of calibrated sets that pass the tests of ZMS and RCE, against nu and beta_GM"
        )
        parts.append(PaperFigure("pass-rates.svg", title, drawing))
    parts.append(
        "u² from an inverse gamma (nu/2, nu/2), errors normal: every set is calibrated, and 0.95 "
        f"should pass (|zeta| at most 1, ABC). The paper: {FIGURE_3}. beta_GM is that of all u of "
        f"one nu; from {SKEWED:g} on RCE cannot be relied on (B-20)."
    )
    return PaperSection("Fig. 3: calibrated sets that pass (B-19)", tuple(parts))


def _scaling(sets: list[JudgedSet]) -> PaperSection:
    """Sigma scaling and bin-wise scaling, chosen on one half and judged on the other."""
    rows = []
    for each in sets:
        number = np.arange(each.pairs.value.size)
        chosen, judged = (
            each.pairs.select(np.flatnonzero(number % 2 == half), np.array([0])) for half in (0, 1)
        )
        for label, method in (("as stated", None), ("one factor", "scale"), ("ten bins", "bins")):
            factors, after = "1", judged
            if method is not None:
                scaling = METHODS[method](chosen)
                after = applied(judged, scaling)
                factors = " to ".join(
                    f"{limit:.3f}"
                    for limit in dict.fromkeys((min(scaling.scales), max(scaling.scales)))
                )
            got = compute(after, ("zms", "ence", "crps"))
            worst = bins.binned_zms(after, after.u)[0]
            rows.append(
                (
                    each.name,
                    label,
                    factors,
                    f"{got['zms'][0]:.3f}",
                    f"{worst.min():.2f} to {worst.max():.2f}",
                    f"{got['ence'][0]:.3f}",
                    figure(float(got["crps"][0])),
                )
            )
    return PaperSection(
        "Scaling u, by one factor and bin by bin (B-11)",
        (
            PaperTable(
                "Factors chosen on every other pair, judged on the pairs between",
                ("set", "scaling", "factors on u", "ZMS", "ZMS in ten bins", "ENCE", "CRPS"),
                rows,
            ),
            captions.SCALING,
        ),
    )
