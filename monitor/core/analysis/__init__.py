"""Analyses on request: sensors side by side, remedies tried, parts of a series.

The daemon computes none of this by itself; a person asks, on recorded pairs or a running daemon.
``ranking`` compares sensors on the events that all of them saw, with availability beside each rank:
otherwise a sensor that refuses hard cases wins. ``comparison`` and ``side_by_side`` compare two
sensors, or two parts of one, event by event. ``adjustments`` finds what could be set right (offset,
gain, scale of u), and ``prequential`` whether it would have helped: an adjustment chosen on one
window is judged on the next, because one judged on its own data always helps.
``uncertainty_budget`` splits the variance of differences among sensors and reference.
``conditional`` tests whether a series is calibrated in every part, at one look; ``where`` finds the
part of a covariate in which it is not, at any number of looks (ADR 9), and ``explained_by`` the
covariate that explains its errors. ``sensitivity`` shows how much of a verdict comes from a few
large errors. docs/evidence/papers.md maps the papers to these
files.

Invariants:

* Pure functions of columns of pairs; the caller passes the seed, so an answer can be repeated.
* Intervals resample events, in blocks as long as errors depend on each other, the same events for
  all sensors: a comparison is paired or it says nothing.
* Where too few events are left there is a mean without an interval, rather than a poor interval.

Measured and rejected: percentiles of resampled ranks (they miss the rank of near ties; a
studentised simultaneous interval holds it), BCa intervals below 20 events (at 20 they cover 90 %
instead of 95 %), and recommending what the in-sample evidence clears (it says that rescaling u
clears 74 to 85 % of offset faults; in truth it clears 0 to 1 %).

What breaks first: ranking more sensors than their common events can separate. The interval of each
rank then spans them all, which is the correct answer.
"""
