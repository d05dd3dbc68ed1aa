"""Calibration in parts: bins of nearly equal count along u or another covariate.

Rules of this file: bins are those of ``numpy.array_split`` after a stable sort; a bin of one pair
says nothing, so series of fewer than two pairs a bin have no figure (NaN).
Source: Pernot (arXiv 2402.10043v2), cited as B.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Bool, Float, Int
from monitor.core.scores.calibration import z_square

BINS: Final = 10
# The bits of a sort key that hold the place, in windows of up to 8191 pairs.
PLACES: Final = (1 << 13) - 1


def order_within(c: Columns, rows: Float) -> Int:
    """Rows' numbers, series by series, by ascending ``rows``; ties in event order (stable).

    Rows without a negative number are sorted as integers that carry their place in the last bits,
    three times as fast as an indirect sort; lines in which that swapped near neighbours are sorted
    again.
    """
    longest = int(c.counts.max())
    if longest > PLACES or rows.min() < 0.0:
        order = np.argsort(c.grid(rows, np.nan), axis=1, kind="stable")
    else:
        order = _packed_order(c, rows)
    order += c.starts[:, None]
    flat: Int = order.reshape(-1)
    return flat if c.equal_counts else flat[c.cells]


def _packed_order(c: Columns, rows: Float) -> Int:
    """Stable order within the lines of the grid of ``rows``, which are not negative."""
    matrix = c.grid(rows + 0.0)  # no negative zero
    packed = _packed(matrix)
    packed &= PLACES
    return _mended(matrix, packed, np.zeros(matrix.shape[0], dtype=np.bool_))


def _packed(matrix: Float) -> Int:
    """Sort the lines of ``matrix`` as integers whose last bits are the number's place."""
    packed: Int = matrix.view(np.int64) & ~PLACES
    packed |= np.arange(matrix.shape[1])
    packed.sort(axis=1)
    return packed


def _mended(matrix: Float, order: Int, wrong: Bool) -> Int:
    """Return the last columns of the stable order of ``matrix``; sort the ``wrong`` lines again."""
    ordered = in_lines(matrix, order)
    wrong |= (ordered[:, 1:] < ordered[:, :-1]).any(axis=1)
    if wrong.any():
        again = np.flatnonzero(wrong)
        order[again] = np.argsort(matrix[again], axis=1, kind="stable")[:, -order.shape[1] :]
    return order


def in_lines(matrix: Float, places: Int) -> Float:
    """Return the numbers of ``matrix`` at ``places`` of its lines."""
    first = np.arange(0, matrix.size, matrix.shape[1])[:, None]
    taken: Float = matrix.reshape(-1).take(places + first, mode="clip")
    return taken


def last_in_order(matrix: Float, count: int) -> Int:
    """Return the places of the ``count`` largest numbers of each line, ascending, ties stable.

    They are the end of a stable sort; negative numbers come first in any order.
    """
    length = matrix.shape[1]
    if length > PLACES:
        return np.argsort(matrix, axis=1, kind="stable")[:, -count:]
    packed = _packed(matrix)
    near = np.zeros(matrix.shape[0], dtype=np.bool_)
    if count < length:
        # Where keys differ in their place bits only, the number cut off may be the larger one.
        near = packed[:, -count] - packed[:, -count - 1] <= PLACES
    return _mended(matrix, packed[:, -count:] & PLACES, near)


def order_by_u(c: Columns) -> Int:
    """Rows' numbers, series by series, by ascending stated u."""
    return order_within(c, c.told_u)


def bin_starts(c: Columns, bins: int) -> Int:
    """First row of each bin (series x bins), counts as numpy.array_split gives them.

    Only meaningful for series of at least ``bins`` pairs.
    """
    size, longer = np.divmod(c.counts, bins)
    number = np.arange(bins)
    offsets = number * size[:, None] + np.minimum(number, longer[:, None])
    first: Int = c.starts[:, None] + offsets
    return np.minimum(first, c.value.size - 1)


def binned_means(c: Columns, rows: Float, order: Int, bins: int) -> Float:
    """Means of ``rows`` (series x bins) in bins of nearly equal count along ``order``.

    NaN for series of fewer than two pairs a bin.
    """
    sums = np.add.reduceat(rows.take(order, mode="clip"), bin_starts(c, bins).reshape(-1)).reshape(
        -1, bins
    )
    sizes = np.maximum(_bin_sizes(c, bins), 1)
    return np.where(c.counts[:, None] >= 2 * bins, sums / sizes, np.nan)


def _bin_sizes(c: Columns, bins: int) -> Int:
    """Return the number of pairs of each bin (series x bins)."""
    size, longer = np.divmod(c.counts, bins)
    sizes: Int = size[:, None] + (np.arange(bins) < longer[:, None])
    return sizes


def _binned_squares(c: Columns, bins: int = BINS) -> tuple[Float, Float]:
    """Mean E^2 and mean u_eff^2 in bins of u."""
    order = c.once(order_by_u)
    squares = binned_means(c, c.error_square, order, bins)
    return squares, binned_means(c, c.variance, order, bins)


def _ten_bins(c: Columns) -> tuple[Float, Float]:
    return _binned_squares(c)


def _mean_gap(squares: Float, variances: Float) -> Float:
    """Return the mean over bins of |RCE|."""
    return np.asarray(np.mean(np.abs(1.0 - np.sqrt(squares / variances)), axis=1))


def ence_in_bins(c: Columns, bins: int) -> Float:
    """Expected normalised calibration error: mean |RCE| over bins of u (B-07)."""
    squares, variances = _binned_squares(c, bins)
    return _mean_gap(squares, variances)


def ence(c: Columns) -> Float:
    """ENCE over ten bins of u; NaN below twenty pairs. Comparative: it has no reference value."""
    return _mean_gap(*c.once(_ten_bins))


def uce(c: Columns) -> Float:
    """Uncertainty calibration error: mean |MV - MSE| over ten bins of u (B-06), squared units.

    Each bin counts by its share of the pairs, as in Laves et al., PMLR 121 (2020); those of ENCE
    count alike (Levi et al., arXiv 1905.11659).
    """
    squares, variances = c.once(_ten_bins)
    gaps = _bin_sizes(c, BINS) * np.abs(variances - squares)
    return np.asarray(np.sum(gaps, axis=1) / c.counts)


def binned_zms(c: Columns, covariate: Float, bins: int = BINS) -> Float:
    """ZMS (series x bins) in bins of nearly equal count of ``covariate`` (B-22)."""
    return binned_means(c, c.once(z_square), order_within(c, covariate), bins)
