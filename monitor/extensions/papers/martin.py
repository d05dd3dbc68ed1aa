"""Martin, Molteno, Parry (arXiv 1411.4354): figures 1 to 4 and Table I.

The paper's readings of cattle are not public: its Table I is here as printed, with ranks and
correlations computed from it, and beside it a table of simulated estimators, including method E.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.analysis import ranking
from monitor.core.analysis.correlation import correlation
from monitor.core.model import Float
from monitor.core.scores import proper_scores
from monitor.extensions.papers import captions
from monitor.extensions.papers import paper_figures as drawn
from monitor.extensions.papers.data_folder import DataFolder
from monitor.extensions.papers.generated_claims import SEED, Estimators, estimators, stated_columns
from monitor.extensions.papers.paper_page import PaperFigure, PaperSection, PaperTable, Reproduction
from monitor.extensions.papers.printed_tables import TABLE_1
from monitor.report.scored import figure

TITLE: Final = (
    "Martin, Molteno, Parry: Measuring the performance of sensors that report uncertainty"
)
_NAMES: Final = ("CRPS", "interval", "quadratic")
_SCORES: Final = ("crps_tophat", "interval", "quadratic_tophat")
_REPLICATES: Final = 2_000
_ROUNDING: Final = 1e-12
_FACTS: Final = {
    "crps": proper_scores.crps_tophat,
    "interval": proper_scores.interval,
    "brier": proper_scores.quadratic_tophat,
    "norm": proper_scores.norm,
}
_FACTS_2: Final = {
    "norm": proper_scores.norm,
    "nll": proper_scores.log_normal,
    "crps": proper_scores.crps_normal,
    "quadratic": proper_scores.quadratic_normal,
}


def reproduce(data: DataFolder) -> Reproduction:
    """Return the paper's figures and table; ``data`` may hold exact values of figures 1 and 2."""
    group = estimators()
    made = (_shapes(data), _norm_score(), _one_event(group), _table_1(), _simulated(group))
    return Reproduction(TITLE, made, data.left_out())


def _shapes(data: DataFolder) -> PaperSection:
    """Fig. 1."""
    return PaperSection(
        "Fig. 1: scores against width and centre (A-13, A-14)",
        (
            PaperFigure(
                "scores-width-centre.svg",
                "Interval score, CRPS and quadratic score of a top hat, against its width and its "
                "centre",
                drawn.martin_figure_1(),
            ),
            captions.SHAPES,
            _places(),
            *_exact(data),
        ),
    )


def _places() -> PaperTable:
    """Compare the formulas at the places named in the paper with our functions there."""
    widths = np.arange(1.0, 20_001.0) / 100.0
    pairs = drawn.claims(np.full(widths.size, drawn.VALUE), widths)
    narrow = drawn.claims(np.array([drawn.VALUE]), np.array([1e-9]))
    edge = drawn.claims(np.array([drawn.VALUE]), np.array([40.0]))
    rows = [
        ("CRPS, width to 0", "20", figure(float(proper_scores.crps_tophat(narrow)[0])), ""),
        ("CRPS, width 40 kg", "13.33", figure(float(proper_scores.crps_tophat(edge)[0])), ""),
        ("least CRPS", "11.55", *_least(proper_scores.crps_tophat(pairs), widths, "kg wide")),
        ("interval score, width to 0", "400", figure(float(proper_scores.interval(narrow)[0])), ""),
        ("least interval score", "40", *_least(proper_scores.interval(pairs), widths, "kg wide")),
        (
            "least quadratic score",
            "-0.025",
            *_least(proper_scores.quadratic_tophat(pairs), widths, "kg wide"),
        ),
    ]
    return PaperTable("What the formulas give, and ours", ("what", "formula", "ours", "at"), rows)


def _least(score: Float, places: Float, label: str) -> tuple[str, str]:
    best = int(np.argmin(score))
    return figure(float(score[best])), f"{places[best]:.2f} {label}"


def _exact(data: DataFolder) -> list[PaperTable]:
    """Compare our scores with files of exact values, if they exist."""
    rows = []
    first = data.facts(
        "seed000_fig1.csv",
        ("x", "x0", "x1", "x2", "alpha", "sigma", *_FACTS),
        "a comparison of figure 1 with exact values of its formulas",
    )
    if first is not None:
        pairs = stated_columns(first["x0"], first["x"], first["sigma"], first["x1"], first["x2"])
        rows += [("1", name, *_apart(score(pairs), first[name])) for name, score in _FACTS.items()]
    second = data.facts(
        "seed000_fig2.csv",
        ("mu", "x", "variance", *_FACTS_2),
        "a comparison of figure 2 with exact values of its formulas",
    )
    if second is not None:
        u = np.sqrt(second["variance"])
        pairs = stated_columns(second["mu"], second["x"], u, second["mu"] - u, second["mu"] + u)
        rows += [
            ("2", name, *_apart(score(pairs), second[name])) for name, score in _FACTS_2.items()
        ]
    heads = ("figure", "score", "values", "largest relative difference")
    return [PaperTable("Ours beside exact values", heads, rows)] if rows else []


def _apart(ours: Float, exact: Float) -> tuple[str, str]:
    most = float(np.max(np.abs(ours / exact - 1.0)))
    return str(ours.size), "below 1e-12" if most < _ROUNDING else f"{most:.1e}"


def _norm_score() -> PaperSection:
    """Fig. 2."""
    variances = np.arange(25.0, 2000.0, 0.5)
    score = proper_scores.norm(drawn.of_variance(variances, np.full(variances.size, drawn.VALUE)))
    values = np.arange(4_000.0, 16_001.0) / 100.0
    as_wide = drawn.variance_of_width(drawn.WIDTH_STATED)
    by_value = proper_scores.norm(drawn.of_variance(np.full(values.size, as_wide), values))
    rows = [
        ("variance of a 90 % interval of 40 kg", "about 148 kg²", f"{as_wide:.1f} kg²", ""),
        ("(a) least norm score", "3.496", *_least(score, variances, "kg²")),
        ("(b) least norm score", "2.498", *_least(by_value, values, "kg")),
    ]
    return PaperSection(
        "Fig. 2: norm score (A-15)",
        (
            PaperFigure(
                "norm-score.svg",
                "Norm score against the stated variance and against the value",
                drawn.martin_figure_2(),
            ),
            captions.NORM_SCORE,
            PaperTable(
                "What the paper and the formula give, and ours",
                ("what", "paper, formula", "ours", "at"),
                rows,
            ),
        ),
    )


def _one_event(group: Estimators) -> PaperSection:
    """Fig. 3."""
    one = drawn.seen_at(group, 0)
    scores = [drawn.SHOWN[name](one) for name in drawn.SHOWN]
    rows = [
        (
            name,
            f"{one.value[at]:.1f}",
            f"{one.lower[at]:.1f} to {one.upper[at]:.1f}",
            "yes" if one.inside[at] else "no",
            *(figure(float(score[at])) for score in scores),
        )
        for at, name in enumerate(group.names)
    ]
    return PaperSection(
        "Fig. 3: one event as all saw it (A-19)",
        (
            PaperFigure(
                "one-event.svg",
                "One crossing as eight estimators stated it, and its three scores",
                drawn.martin_figure_3(group),
            ),
            captions.ONE_EVENT,
            PaperTable(
                f"Scores of this crossing of {one.reference[0]:.1f} kg",
                ("estimator", "value / kg", "interval / kg", "holds it", *drawn.SHOWN),
                rows,
            ),
        ),
    )


def _table_1() -> PaperSection:
    """Table I and Fig. 4 as printed."""
    names = tuple(row[0] for row in TABLE_1)
    scores = np.array([row[1:] for row in TABLE_1]).T
    by_score = [ranking.ranks(each) for each in scores]
    rows = [
        (name, *_with_ranks([f"{score:g}" for score in row], [rank[at] for rank in by_score]))
        for at, (name, *row) in enumerate(TABLE_1)
    ]
    together = []
    for one, other in ((0, 1), (0, 2), (1, 2)):
        line = correlation(scores[one], scores[other])
        together.append(
            (
                f"{_NAMES[one]}, {_NAMES[other]}",
                f"{line.pearson:.3f}",
                f"{line.spearman:.3f}",
                f"{line.p:.2g}",
            )
        )
    others = {"interval score / kg": scores[1], "quadratic score / (1/kg)": scores[2]}
    return PaperSection(
        "Table I and Fig. 4 as printed (A-20, A-21)",
        (
            PaperTable(
                "Table I: the paper's mean scores of 47 animals, and their ranks by ours",
                _heads(),
                rows,
            ),
            PaperFigure(
                "table-1.svg",
                "Interval score and quadratic score of the paper's fourteen methods against their "
                "CRPS",
                drawn.martin_figure_4(scores[0], others, names),
            ),
            captions.TOGETHER,
            PaperTable(
                "How the printed scores go together",
                ("scores", "Pearson", "of ranks", "p of ranks"),
                together,
            ),
        ),
    )


def _simulated(group: Estimators) -> PaperSection:
    """Table I and Fig. 4 of simulated estimators."""
    table = ranking.ranking(
        group.pairs,
        group.event,
        seed=SEED,
        replicates=_REPLICATES,
        density="tophat",
        names=_SCORES[1:],
    )
    if table is None:
        raise ValueError("no crossing was seen by all estimators")
    columns = [table.scores[name] for name in _SCORES]
    rows = [
        (
            group.names[at],
            *_with_ranks(
                [
                    f"{each.mean[at]:.4g} ({each.lower[at]:.4g} to {each.upper[at]:.4g})"
                    for each in columns
                ],
                [float(each.rank[at]) for each in columns],
            ),
        )
        for at in table.best_first.tolist()
    ]
    others = {
        "interval score / kg": columns[1].mean,
        "quadratic score / (1/kg)": columns[2].mean,
    }
    return PaperSection(
        "Table I and Fig. 4 of simulated estimators (A-20, A-21)",
        (
            PaperTable(
                f"Mean scores over the same {table.events} crossings, with 95 % intervals, and "
                "ranks",
                _heads(),
                rows,
            ),
            PaperFigure(
                "score-against-score.svg",
                "Interval score and quadratic score of eight estimators against their CRPS",
                drawn.martin_figure_4(columns[0].mean, others, group.names),
            ),
            captions.SIMULATED,
        ),
    )


def _heads() -> tuple[str, ...]:
    units = ("kg", "kg", "1/kg")
    return (
        "method",
        *(
            head
            for name, unit in zip(_NAMES, units, strict=True)
            for head in (f"{name} / ({unit})" if "/" in unit else f"{name} / {unit}", "rank")
        ),
    )


def _with_ranks(scores: list[str], ranks: list[float]) -> list[str]:
    return [
        cell for score, rank in zip(scores, ranks, strict=True) for cell in (score, f"{rank:g}")
    ]
