"""Readings with a verdict's remedy applied, and intervals around them that hold their level.

Two things follow the pairs of a series in event order. :mod:`.adoption` says which remedy applies:
the one that the verdict tells while an alert fires, until the alert ends or what was corrected is
further off than what was not. :mod:`.conformal` moves the width of the interval after each pair, so
that it contains the reference as often as it says whatever the errors do. A pair is corrected by
what the pairs before it told, never by itself.

What breaks first: a jump larger than seven of the widths before it, which takes some thirty pairs.
"""
