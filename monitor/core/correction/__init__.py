"""Readings with a verdict's remedy applied, and intervals around them that hold their level.

Two rules follow the pairs of a series in event order (:mod:`.corrected`). One decides which remedy
applies: the verdict's remedy while an alert fires, until the alert ends or corrected readings are
further off than uncorrected ones. The other moves the width of the interval after each pair, so
that it contains the reference as often as it says, whatever the errors do. A pair is corrected from
the pairs before it, never from itself.

What breaks first: a jump larger than seven of the widths before it, which takes some thirty pairs.
"""
