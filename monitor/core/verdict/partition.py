"""The last pairs of series cut into pieces, and all rivals for the newest piece of each.

Rules of this file: a piece is right, off by a level, on a line, or too wide. Least squares use
cumulative sums, for any number of pieces of any number of series at once. z is an error over its
stated uncertainty s, and h = typical s / s, so that a level in the series' unit is level h in z. A
cost is twice a negative log likelihood (of spread 1) plus a penalty a parameter; the evidence of
autocorrelated pairs is divided by ``inflation`` first. Dynamic programming finds the optimal cut
over the places where pieces may begin. The newest piece keeps its rivals, because an estimate that
takes the best cut as certain is overconfident.

Sources: Schwarz, Ann. Stat. 6 (1978); Jackson et al., IEEE Signal Process. Lett. 12 (2005) (optimal
partitioning); Fearnhead, Stat. Comput. 16 (2006) (the posterior of change points).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from monitor.core.model import Bool, Float, Int
from monitor.core.verdict.pairs import Side
from monitor.core.verdict.rows import near, running_medians

# What a piece may be. A hinge is a line that begins where the piece before ended.
RIGHT, LEVEL, LINE, HINGE = range(4)
WIDE: Final = 4  # added where the piece has a spread of its own
BOUNDS: Final = 64  # places where a piece may begin, approximately
NEAREST: Final = 12  # pairs up to the alarm, each of which may begin one
_PARAMETERS: Final = (1.0, 2.0, 3.0, 2.0)  # the beginning of the piece is one of them
_SHORTEST: Final = (0, 3, 8, 8)  # pairs
_SHORTEST_MORE: Final = 5  # additional pairs for a spread
_LEAST_VARIANCE: Final = 0.01
_TINY: Final = 1e-100
_LEAST_WEIGHT: Final = 1e-13  # of a pair, as a share of the weight of all
_PRIOR_PAIRS: Final = 8.0  # pairs of the stated spread that a piece's own spread starts from
# Cost that a newest piece of another sort, begun after the alarm, must save to rename an incident.
# The margin is large because there is a candidate for each pair since, and every pair tests anew.
CHANGED: Final = 10.0
_AT_ONCE: Final = 1 << 14  # numbers in one step of the search: they fit in a processor's cache


class Sums(NamedTuple):
    """Sums over pairs: 1, h^2, h^2 t, h^2 t^2, h z, h t z, z^2."""

    n: Float
    hh: Float
    hht: Float
    htt: Float
    hz: Float
    htz: Float
    zz: Float


class FittedLine(NamedTuple):
    """A level at some time and a slope, with their variances if the errors have spread 1."""

    level: Float
    slope: Float
    of_level: Float
    of_slope: Float


def segments(rows: Float, bounds: Int) -> Float:
    """Return the sums of rows [series, ..., pairs] from each of ``bounds`` to the next.

    The last sum is 0, and so are those beyond the end of a series.
    """
    shape = (bounds.shape[0], -1, bounds.shape[1])
    each = np.arange(rows.size // rows.shape[-1]) * rows.shape[-1]
    places = bounds[:, None] + each.reshape(bounds.shape[0], -1, 1)
    sums = np.add.reduceat(rows.ravel(), places.ravel()).reshape(shape)
    return sums if rows.ndim > 2 else sums[:, 0]


def tails(rows: Float, bounds: Int) -> Float:
    """Return the sums of rows [series, ..., pairs] from each of ``bounds`` on."""
    return np.asarray(np.cumsum(segments(rows, bounds)[..., ::-1], axis=-1)[..., :0:-1])


def cumulated(z: Float, h: Float, t: Float, bounds: Int) -> Float:
    """Return the sums over all pairs before each of ``bounds``; h is 0 where a pair is left out."""
    hh, hz = h * h, h * z
    hht = hh * t
    sums = np.zeros((7, *bounds.shape))
    live = (h > 0.0).astype(np.float64)
    for goal, row in zip(sums, (live, hh, hht, hht * t, hz, hz * t, z * z), strict=True):
        np.cumsum(segments(row, bounds)[:, :-1], axis=1, out=goal[:, 1:])
    # Pieces of far less certain pairs keep some weight although the difference of sums loses it.
    sums[1] += _LEAST_WEIGHT * sums[1, :, -1:] * sums[0]
    return sums


def level_of(s: Sums) -> FittedLine:
    """Return the weighted mean."""
    hh = np.maximum(s.hh, _TINY)
    nothing = np.zeros_like(hh)
    return FittedLine(s.hz / hh, nothing, 1.0 / hh, nothing)


def line_of(s: Sums, at: Float | float) -> FittedLine:
    """Return the weighted regression on time, with its level at time ``at``."""
    hh = np.maximum(s.hh, _TINY)
    centre = s.hht / hh
    tt = np.maximum(s.htt - s.hht * centre, 1e-12 * hh + _TINY)
    slope = (s.htz - centre * s.hz) / tt
    away = at - centre
    return FittedLine(s.hz / hh + slope * away, slope, 1.0 / hh + away * away / tt, 1.0 / tt)


def hinge_of(s: Sums, start: Float, height: Float, at: Float) -> tuple[FittedLine, Float]:
    """Return the line that begins at (start, height), and the sum of squares it leaves."""
    hz, htz = s.hz - height * s.hh, s.htz - height * s.hht
    zz = s.zz - 2.0 * height * s.hz + height * height * s.hh
    weight = s.htt - 2.0 * start * s.hht + start * start * s.hh
    weight = np.maximum(weight, 1e-12 * s.hh + _TINY)
    across = htz - start * hz
    slope = across / weight
    line = FittedLine(
        height + slope * (at - start), slope, (at - start) ** 2 / weight, 1.0 / weight
    )
    return line, np.maximum(zz - across * slope, 0.0)


def allowed(s: Sums, ends: Float) -> Float:
    """Return the level of RIGHT: the one between ``ends`` that explains a piece best."""
    return np.clip(s.hz / np.maximum(s.hh, _TINY), *ends)


def squares_left(s: Sums, ends: Float) -> list[Float]:
    """Return the sums of squares that RIGHT, LEVEL and LINE leave.

    Levels between ``ends`` are nobody's fault.
    """
    right = s.zz
    if ends.any():
        fixed = allowed(s, ends)
        right = np.maximum(s.zz - fixed * (2.0 * s.hz - fixed * s.hh), 0.0)
    hh = np.maximum(s.hh, _TINY)
    level = s.zz - s.hz * s.hz / hh
    tt = np.maximum(s.htt - s.hht * s.hht / hh, 1e-12 * hh + _TINY)
    line = level - (s.htz - s.hht * s.hz / hh) ** 2 / tt
    return [right, np.maximum(level, 0.0), np.maximum(line, 0.0)]


def constants_of(ends: Float) -> Float:
    """Return the number of constants of a piece: one where systematic effects may have left one.

    So a drift within what they account for does not become cheaper as a series of constants.
    """
    return np.where(ends[1] > ends[0], 1.0, 0.0)


def costs(
    n: Float, left: list[Float], penalty: Float, inflation: Float, constants: Float | float = 0.0
) -> list[Float]:
    """Return costs of pieces of ``n`` pairs, first with spread 1, then with a spread of their own.

    ``left[kind]`` are the sums of squares that each kind leaves; every kind is returned twice. A
    piece has ``constants`` parameters besides those of its kind.
    """
    many, floor = np.maximum(n, 1.0), _LEAST_VARIANCE * n
    plain, own = [], []
    for square, parameters, least in zip(left, _PARAMETERS, _SHORTEST, strict=False):
        fixed = penalty * (parameters + constants)
        wide = np.log(np.maximum(square / many, _LEAST_VARIANCE))
        wide += 1.0
        wide *= n
        wide += np.minimum(square - floor, 0.0)
        wide /= inflation
        wide += fixed + penalty
        narrow = square / inflation
        narrow += fixed
        if least:
            np.copyto(narrow, np.inf, where=n < least)
        np.copyto(wide, np.inf, where=n < least + _SHORTEST_MORE)
        plain.append(narrow)
        own.append(wide)
    return plain + own


class Last(NamedTuple):
    """Rivals for the newest piece, [series, kinds, places]: level now and slope, in typical u.

    ``slope`` is the change over the whole clock; ``weight`` is a rival's likelihood; they sum to 1.
    """

    cost: Float
    weight: Float
    level: Float
    slope: Float
    se_level: Float
    se_slope: Float
    df: Float


class Cut(NamedTuple):
    """The pieces of each series by their ``starts`` and ``kinds``, and what they were found from.

    ``fit`` [series, pairs] is the level that the pieces give each pair; ``kept`` marks the pairs
    that are not outliers. ``before`` [series, places] is the least cost of all pairs before each of
    ``bounds``, of which the first ``places`` are real, and ``kind`` the kind of the piece that ends
    there. For each series, a parameter costs ``penalty`` and evidence is divided by ``inflation``.
    """

    starts: list[list[int]]
    kinds: list[list[int]]
    fit: Float
    last: Last
    kept: Bool
    bounds: Int
    before: Float
    kind: Int
    places: Int
    penalty: Float
    inflation: Float


def partition(p: Side, inflation: Float, alarm: Int) -> Cut:
    """Cut the errors of each series; ``alarm`` is the pair that raised its alarm, or negative."""
    middle = running_medians(p.error, p.live, p.n) / p.s
    used = near(p.z - middle, p.live, p.n)
    z, h = np.where(used, p.centred, 0.0), np.where(used, p.h, 0.0)
    bounds, places = boundaries(z, p.n, alarm)
    of_all = cumulated(z, h, p.clock, bounds)
    penalty = np.log(np.maximum(p.n, 8.0))
    before, back, kind = _search(of_all, penalty, inflation, p.right)
    rows, at = np.arange(p.n.size), places
    ends = np.take_along_axis(p.clock, np.maximum(bounds - 1, 0), axis=1)
    heights = _heights(of_all, ends, back, kind, p.right)
    begin = np.take_along_axis(p.clock, np.minimum(bounds[:, :-1], p.n[:, None] - 1), axis=1)
    whole = Sums(*(each[rows, at][:, None] - each[:, :-1] for each in of_all))
    now = p.clock[rows, p.n - 1][:, None]
    lines, left = _rivals(whole, begin, now, heights[:, :-1], p.right)
    earlier = before[:, None, :-1] + _margins(bounds, kind, alarm)
    last = _weighed(whole.n, lines, left, earlier, places, penalty, inflation, p.right)
    last = last._replace(level=last.level + p.centre[:, None, None])
    starts, kinds, edges = _paths(bounds, places, back, kind)
    fit = _fitted(of_all, p, bounds, edges, kinds)
    return Cut(starts, kinds, fit, last, used, bounds, before, kind, places, penalty, inflation)


def boundaries(z: Float, n: Int, alarm: Int) -> tuple[Int, Int]:
    """Return where pieces may begin, padded with n, and how many before the end are real.

    They are a coarse grid, the places where neighbouring means differ most, and each of the last
    pairs up to an ``alarm`` (negative: none), because its fault began before it. In a short series
    a piece may begin at every pair.
    """
    at = np.arange(z.shape[1])
    step = np.where(n <= BOUNDS, 1, -(-2 * n // BOUNDS))
    chosen = at % step[:, None] == 0
    chosen |= (at > alarm[:, None] - NEAREST) & (at <= alarm[:, None])
    chosen &= at < n[:, None]
    long = np.flatnonzero(n > BOUNDS)
    if long.size:
        some = z[long]
        total, squares = (np.cumsum(rows, axis=1) for rows in (some, some * some))
        for cumulative, width in ((total, 4), (total, 16), (squares, 16)):
            chosen[long] |= _jumps(cumulative, width, n[long])
    places = np.count_nonzero(chosen, axis=1)
    bounds = np.broadcast_to(n[:, None], (n.size, int(places.max()) + 1)).copy()
    row, column = np.nonzero(chosen)
    bounds[row, np.arange(row.size) - np.repeat(np.cumsum(places) - places, places)] = column
    return bounds, places


def _jumps(cumulative: Float, width: int, n: Int) -> Bool:
    """Return where the means of the ``width`` pairs before and after differ more than nearby."""
    padded = np.concatenate([np.zeros((n.size, 1)), cumulative], axis=1)
    middle = padded[:, width:-width]
    jump = np.abs(padded[:, 2 * width :] - 2.0 * middle + padded[:, : -2 * width])
    peak = (jump[:, 1:-1] >= jump[:, :-2]) & (jump[:, 1:-1] > jump[:, 2:])
    peak &= np.arange(1, jump.shape[1] - 1) < (n - 2 * width)[:, None]
    size = np.where(peak, jump[:, 1:-1], -1.0)
    least = np.maximum(np.sort(size, axis=1)[:, -(BOUNDS // 6)], 0.0)[:, None]
    jumps = np.zeros((n.size, cumulative.shape[1]), dtype=np.bool_)
    jumps[:, width + 1 : width + 1 + size.shape[1]] = peak & (size >= least)
    return jumps


def _search(
    of_all: Float, penalty: Float, inflation: Float, right: Float
) -> tuple[Float, Int, Int]:
    """Return the least cost before each boundary, with the start and kind of the piece before."""
    _, series, size = of_all.shape
    cost = np.full((series, size, size), np.inf)
    penalties, inflations = penalty[:, None, None], inflation[:, None, None]
    step = max(4, _AT_ONCE // (series * size))
    for first in range(1, size, step):
        end = min(first + step, size)
        later = np.arange(first, end)[:, None] > np.arange(end - 1)
        pieces = Sums(*(each[:, first:end, None] - each[:, None, : end - 1] for each in of_all))
        for each in pieces:
            np.copyto(each[:, :, first:], 0.0, where=~later[:, first:])
        best = _least_cost(pieces, penalties * inflations, right[..., None, None]) / inflations
        np.copyto(best, np.inf, where=~later)
        cost[:, first:end, : end - 1] = best
    before = np.zeros((series, size))
    for at in range(1, size):
        np.min(before[:, :at] + cost[:, at, :at], axis=1, out=before[:, at])
    cost += before[:, None, :]
    back = np.argmin(cost, axis=2)
    back[:, 0] = 0
    pieces = _between(of_all, back)
    left = squares_left(pieces, right[..., None])
    constants = constants_of(right)[:, None]
    kinds = np.stack(costs(pieces.n, left, penalty[:, None], inflation[:, None], constants))
    choice = np.argmin(kinds, axis=0)
    return before, back, np.where(choice <= LINE, choice, choice - LINE - 1 + WIDE)


def _least_cost(s: Sums, penalty: Float, right: Float) -> Float:
    """Return the least of the :func:`costs` of pieces, without inflation."""
    n = s.n
    per_n, floor = 1.0 / np.maximum(n, 1.0), _LEAST_VARIANCE * n
    best: Float | None = None
    left = squares_left(s, right)
    for square, parameters, least in zip(left, _PARAMETERS, _SHORTEST, strict=False):
        wide = square * per_n
        np.maximum(wide, _LEAST_VARIANCE, out=wide)
        np.log(wide, out=wide)
        wide += 1.0
        wide *= n
        over = square - floor
        wide += np.minimum(over, 0.0, out=over)
        wide += penalty
        np.copyto(wide, np.inf, where=n < least + _SHORTEST_MORE)
        np.minimum(wide, np.where(n < least, np.inf, square) if least else square, out=wide)
        wide += parameters * penalty
        best = wide if best is None else np.minimum(best, wide, out=best)
    return np.asarray(best) + constants_of(right) * penalty


def _between(of_all: Float, back: Int) -> Sums:
    """Return the sums of the pieces from boundaries ``back`` to each boundary."""
    return Sums(*(each - np.take_along_axis(each, back, axis=1) for each in of_all))


def _heights(of_all: Float, ends: Float, back: Int, kind: Int, right: Float) -> Float:
    """Return the level at which the best cut before each boundary ends."""
    pieces = _between(of_all, back)
    plain = kind % WIDE
    level, line = level_of(pieces).level, line_of(pieces, ends).level
    fixed = allowed(pieces, right[..., None])
    return np.where(plain == RIGHT, fixed, np.where(plain == LEVEL, level, line))


def _rivals(
    whole: Sums, begin: Float, now: Float, heights: Float, right: Float
) -> tuple[list[FittedLine], list[Float]]:
    """Return the lines from each place to the end and the squares they leave, by plain kind."""
    nothing = np.zeros_like(begin)
    hinge, left = hinge_of(whole, begin, heights, now)
    fixed = FittedLine(allowed(whole, right[..., None]), nothing, nothing, nothing)
    lines = [fixed, level_of(whole), line_of(whole, now), hinge]
    return lines, [*squares_left(whole, right[..., None]), left]


def _margins(bounds: Int, kind: Int, alarm: Int) -> Float:
    """Return what each rival for the newest piece must save: nothing, or :data:`CHANGED`.

    That is for a level or line that begins after the alarm and after errors that were only too
    large: among those there is always a run of a few on one side.
    """
    after = (bounds[:, :-1] > alarm[:, None]) & (alarm >= 0)[:, None]
    is_run = (after & (kind[:, :-1] == RIGHT + WIDE))[:, None]
    is_off = np.arange(2 * WIDE)[:, None] % WIDE != RIGHT
    return np.where(is_run & is_off, CHANGED, 0.0)


def _weighed(
    n: Float,
    lines: list[FittedLine],
    left: list[Float],
    earlier: Float,
    places: Int,
    penalty: Float,
    inflation: Float,
    right: Float,
) -> Last:
    """Return the rivals with their likelihoods and standard errors.

    ``earlier`` is what the pairs before each place cost, and what a rival must save.
    """
    constants = constants_of(right)[:, None]
    every = costs(n, left, penalty[:, None], inflation[:, None], constants)
    cost = np.stack(every, axis=1) + earlier
    cost[:, [HINGE, HINGE + WIDE], 0] = np.inf  # at the first pair there is nothing to begin from
    cost[np.broadcast_to((np.arange(n.shape[1]) >= places[:, None])[:, None], cost.shape)] = np.inf
    excess = cost - cost.min(axis=(1, 2), keepdims=True)
    weight = np.exp(-0.5 * np.minimum(excess, 1000.0))
    weight /= np.cumsum(weight, axis=2)[:, :, -1].sum(axis=1)[:, None, None]
    df = np.maximum(n[:, None] - np.array([0.0, 1.0, 2.0, 1.0])[:, None], 0.0) + _PRIOR_PAIRS
    inflation = inflation[:, None, None]
    spread = (_PRIOR_PAIRS + np.stack(left, axis=1)) / df * inflation
    level, slope, of_level, of_slope = (np.stack(each, axis=1) for each in zip(*lines, strict=True))
    rows = (level, slope, np.sqrt(spread * of_level), np.sqrt(spread * of_slope), df / inflation)
    return Last(cost, weight, *(np.concatenate([each, each], axis=1) for each in rows))


def _paths(
    bounds: Int, places: Int, back: Int, kind: Int
) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    """Return starts, kinds and first boundaries of the pieces of the best cut of each series."""
    starts, kinds, edges = [], [], []
    for begins, at, backs, types in zip(
        bounds.tolist(), places.tolist(), back.tolist(), kind.tolist(), strict=True
    ):
        path, sorts, end = [at], [], at
        while end > 0:
            sorts.append(types[end])
            end = backs[end]
            path.append(end)
        path.reverse()
        starts.append([begins[each] for each in path[:-1]])
        kinds.append(sorts[::-1])
        edges.append(path)
    return starts, kinds, edges


_ENDS: Final = (slice(None, -1), slice(1, None))


def _fitted(
    of_all: Float, p: Side, bounds: Int, edges: list[list[int]], kinds: list[list[int]]
) -> Float:
    """Return the level that the best cut gives each pair."""
    row = np.repeat(np.arange(len(kinds)), [len(each) for each in kinds])
    begin, end = (np.array([at for each in edges for at in each[part]]) for part in _ENDS)
    plain = np.array([kind for each in kinds for kind in each]) % WIDE
    pieces = Sums(*(each[row, end] - each[row, begin] for each in of_all))
    level, line = level_of(pieces), line_of(pieces, 0.0)
    right = allowed(pieces, p.right[:, row])
    height = np.where(plain == RIGHT, right, np.where(plain == LEVEL, level.level, line.level))
    slope = np.where(plain == LINE, line.slope, 0.0)
    pairs = bounds[row, end] - bounds[row, begin]
    fit = np.zeros(p.live.shape)
    fit[p.live] = (
        np.repeat(height + p.centre[row], pairs) + np.repeat(slope, pairs) * p.clock[p.live]
    )
    return fit
