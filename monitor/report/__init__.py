"""Recorded data evaluated as the daemon would have: its alerts, and an HTML report.

`recorded` runs a file, or the pairs of a daemon, through the same network as live data, with the
event time as its clock, and turns the result into plain values for `monitor score --json`;
`html_report` writes one page.

Invariants: replay equals live, bit for bit, for the same pairs in event order. The page is
self-contained (no script, no network, prints well) and reproducible: the same pairs, settings and
version give the same bytes except for the line with the date. Every interval names its method and
seed. Nothing here reads a clock or the network.

Considered and rejected: a batch implementation of its own (two implementations disagree in corner
cases); a plotting library (the figures are those of the live page, `monitor.http.figures`).

What breaks first: the pairs of a file are held in memory as columns, and the bootstrap intervals
of the report cost more than all else.
"""
