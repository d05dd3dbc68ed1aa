"""Every published statistic of a window recomputed in fifty digits, and a long run that uses it.

Rules of this folder: :mod:`.exact` and :mod:`.interval` start from the doubles that a window holds
and use mpmath only, with formulas written from their sources; a figure comes with the size of the
terms it is made of, which is what an error is relative to.
"""
