"""Statistics and verdicts for a frame of pairs, and the comparison of two of its sensors.

docs/evidence/papers.md gives the source of every statistic, docs/metrics.md its name and which
direction is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Final, get_args

import narwhals.stable.v1 as nw
import numpy as np

from monitor.core.analysis.ranking import PROFILES, Profile
from monitor.core.analysis.side_by_side import MISS
from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.proper_scores import Density
from monitor.frames.pair_frames import (
    Column,
    FrameError,
    PairColumns,
    given_frame,
    pairs_of,
    refuse_share,
)
from monitor.frames.score_curves import curve_named, figure_of, row_scores
from monitor.report.comparisons import Comparing, comparison_of
from monitor.report.recorded import of_pairs, with_covariates
from monitor.report.scored import Scored, in_file


class Scores:
    """The statistics and the verdict of each sensor: print the object, or use its attributes.

    ``series`` is a list of plain dictionaries, one for each sensor and quantity: ``n``,
    ``statistics`` (by name, None where undefined), ``intervals`` of ZMS and RCE, and the
    ``verdict`` with its sentence, estimate and remedy. ``incidents`` lists the incidents that the
    daemon would have raised (none without times), ``notes`` names the parts of the frame that were
    not used.
    """

    def __init__(self, scored: Scored, frame: Any) -> None:  # noqa: ANN401 - any frame
        self._scored: Final = scored
        self._space: Final = nw.get_native_namespace(frame)
        self.series: Final[list[dict[str, Any]]] = scored.series
        self.notes: Final = scored.recorded.notes

    @property
    def incidents(self) -> list[dict[str, Any]]:
        """The incidents that the daemon would have raised, in the order in which they began."""
        return self._scored.incidents if self._scored.recorded.timed else []

    @property
    def sentences(self) -> list[str]:
        """One sentence for each sensor: what is wrong with it, if anything."""
        return [f"{each['sensor']}: {each['verdict']['sentence']}" for each in self.series]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as ``monitor score --json`` prints it."""
        return self._scored.document()

    def to_frame(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """Return a frame of the caller's library: one row per series, one column per statistic."""
        heads = ("sensor", "quantity", "n")
        columns: dict[str, list[Any]] = {
            head: [each[head] for each in self.series] for head in heads
        }
        for name in self.series[0]["statistics"]:
            columns[name] = [each["statistics"][name] for each in self.series]
        columns["fault"] = [each["verdict"]["fault"] or "" for each in self.series]
        columns["sentence"] = [each["verdict"]["sentence"] for each in self.series]
        for name in self.series[0]["statistics"]:
            columns[name] = [float("nan") if each is None else each for each in columns[name]]
        return self._frame(columns)

    def rows(self) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """Return a frame with the scores of each pair, in the order (sensor, time)."""
        return self._stacked(row_scores)

    def curve(self, name: str) -> Any:  # noqa: ANN401 - a frame of the caller's library
        """Return a frame with a curve of each series: ``reliability``, ``z`` or ``ucc``."""
        return self._stacked(partial(curve_named, name))

    def plot(self) -> Any:  # noqa: ANN401 - a figure of matplotlib
        """Return a figure with all curves; raises FrameError without matplotlib."""
        return figure_of({f"{sensor} {quantity}": c for (sensor, quantity), c in self._columns()})

    def _columns(self) -> Iterator[tuple[tuple[str, str], Columns]]:
        for row, name in enumerate(self._scored.recorded.names):
            yield (name.sensor, name.quantity), self._scored.windows.take(np.array([row]))

    def _stacked(self, of: Callable[[Columns], Mapping[str, Float]]) -> Any:  # noqa: ANN401
        """Return a frame of the columns of all series, one below the other."""
        parts = [(name, of(c)) for name, c in self._columns()]
        sizes = [next(iter(part.values())).size for _, part in parts]
        names = [name for (name, _), size in zip(parts, sizes, strict=True) for _ in range(size)]
        columns: dict[str, Any] = {
            "sensor": [sensor for sensor, _ in names],
            "quantity": [quantity for _, quantity in names],
        }
        for head in parts[0][1]:
            columns[head] = np.concatenate([part[head] for _, part in parts])
        return self._frame(columns)

    def _frame(self, columns: dict[str, Any]) -> Any:  # noqa: ANN401
        return nw.from_dict(columns, native_namespace=self._space).to_native()

    def __str__(self) -> str:
        return "\n".join((*self.notes, *self._scored.lines()))

    def __repr__(self) -> str:
        count = len(self.series)
        return f"<Scores of {count} {'series' if count != 1 else 'sensor'}; print() shows them>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def score(
    frame: Any,  # noqa: ANN401 - any frame, or values
    u: Column | None = None,
    reference: Column = "reference",
    *,
    value: str = "value",
    lower: Column | None = None,
    upper: Column | None = None,
    p: Column | None = None,
    alpha: Column | None = None,
    u_reference: Column | None = None,
    time: Column | None = None,
    by: Column | None = None,
    quantity: Column | None = None,
    reference_id: Column | None = None,
    reference_event: Column | None = None,
    unit: str = "",
    level: float = 0.9,
    bca: bool = False,
    covariates: Sequence[str] = (),
    **shape: Any,  # noqa: ANN401 - texts, or a number for assume_u
) -> Scores:
    """Score the pairs of a frame, in which each row has a reading and its reference.

    ``frame`` is one of pandas, Polars or Arrow, a dict of arrays or a dataset of xarray; or an
    array of values, beside ``u`` and ``reference``. All arguments except the last four name
    columns, or are arrays. Where one is not given, the column with the
    usual name is used if there is one (``u`` or ``sigma``, ``lower``, ``upper``, ``p``, ``alpha``,
    ``u_reference`` or ``reference_sigma``, ``time``, ``sensor``, ``quantity``, ``reference_id``,
    ``reference_event``).

    ``value`` and ``reference``: the reading and the reference, in the same unit (``unit``, which
    the sentences show; else that of a column with this name). ``u``: the stated standard
    uncertainty, or ``lower`` and ``upper``: the stated interval with coverage probability ``p``, or
    1 - ``alpha`` (``level`` if neither is stated; beside ``u`` such an interval does not count).
    ``u_reference``: standard uncertainty of the reference. ``time``: datetimes with a zone, numbers
    since 1970 (s, ms, us or ns, by their size), or RFC 3339 text; without times the result has no
    dates. ``by``: the columns that identify a sensor. ``reference_id``: what measured the
    reference, such as a station; ``reference_event``: the measurement itself, where sensors that
    met it have other times. ``bca``: BCa intervals (Pernot, arXiv 2402.10043) instead of those used
    live. ``covariates``: other columns of numbers or categories, ``hour`` (of day, UTC) and
    ``level``; ``where`` in the result says in which part of each a sensor is wrong,
    ``explained_by`` what explains its errors.

    ``shape``: ``wide``, ``long``, ``where`` and ``assume_u`` as the options of the command, and
    ``members`` and ``quantiles``, patterns of columns such as ``ens*``.

    The numbers equal those of ``monitor score`` for the same rows, bit for bit. Raises FrameError
    (a ValueError) that names the column and the row and says what to do.
    """
    refuse_share("level", level)
    frame, named = given_frame(
        frame,
        *(value, reference, u, lower, upper, p, alpha, u_reference, time, by, quantity),
        *(reference_id, reference_event),
    )
    table = pairs_of(frame, named, unit, in_file(covariates), shape)
    recorded = with_covariates(of_pairs(table, SeriesRules(level=level)), table)
    return Scores(Scored(recorded, level, bca=bca, covariates=covariates), frame)


def compare(
    frame: Any,  # noqa: ANN401 - any frame
    *sensors: str,
    at: float | None = None,
    density: Density = "normal",
    profile: Profile = "balanced",
    level: float = 0.9,
    miss: float = MISS,
    **columns: Any,  # noqa: ANN401 - as of PairColumns
) -> dict[str, Any]:
    """Compare two sensors of a frame on their common events, or one sensor before and after.

    ``sensors``: two names; or one, whose pairs before ``at`` (s UTC) are compared with those from
    ``at`` on, or its first half with its second if ``at`` is None. Common events have the same time
    and reference (and ``reference_id``), or the same ``reference_event``. ``density`` is the
    distribution that a sensor is assumed to state, ``profile`` names the score that counts first,
    ``miss`` is the miss rate at which widths are compared; all other arguments name columns, as for
    :func:`score`.

    Returns the document that ``monitor compare --json`` prints: sentences, mean scores with
    permutation tests, and the characteristics curves (Navratil et al., arXiv 2106.00858). Raises
    CompareError where there is nothing to compare, and FrameError (a ValueError) for a frame that
    cannot be read.
    """
    refuse_share("level", level)
    refuse_share("miss", miss)
    for name, given, known in (
        ("density", density, get_args(Density)),
        ("profile", profile, PROFILES),
    ):
        if given not in known:
            raise FrameError(f"{name}={given}: must be one of {', '.join(known)}")
    shape = {part: columns.pop(part) for part in [*columns] if part not in PairColumns._fields}
    frame, named = given_frame(frame, **columns)
    recorded = of_pairs(pairs_of(frame, named, shape=shape), SeriesRules(level=level))
    asked = Comparing(sensors, at=at, density=density, profile=profile, level=level, miss=miss)
    return comparison_of(recorded, asked)


def ucc(frame: Any, *columns: Any, **named: Any) -> Any:  # noqa: ANN401 - as of score
    """Return the uncertainty characteristics curves of what :func:`score` takes, as a frame.

    ``miss`` is the share of references outside the stated bands scaled by ``scale``, ``bandwidth``
    their mean half-width (Navratil et al., arXiv 2106.00858).
    """
    return score(frame, *columns, **named).curve("ucc")
