"""Windows: the last pairs of every series, from which every statistic is computed anew.

A window is the last N pairs of a series, or those of the last T, in the order (time, id), as far as
they belong to the present epoch. It is the end of a ring of fixed rows (``series_rings``,
``rings``), one array for all series, so that the windows of ten thousand series are gathered by
index and summed in one call. Pairs newer than all others are appended. Where late, revised and
removed ones touch what the ring holds, its end is taken off and written again with them, for all
series at once; a removal that uncovers an older pair reads it back from the journal. A few spare
pairs beyond the window make that rare.

Invariants:

* A window is a function of the set of its series' pairs, never of the order they came in.
* There are no running sums. Adding and subtracting is wrong for ever after one outlier of 1e20 and
  differs by order in the last bits; summing a thousand numbers takes a microsecond.
* Rings read back exactly what ``as_kept`` says they store, and the detector uses those same bits,
  so evidence replayed from windows equals evidence made live.
* An epoch (adjusted, moved, replaced) cuts the window; pairs before it stay in the ring until newer
  ones need their place, because evidence learns from them, and in the journal.

Address space for all series is reserved at the start and filled page by page (``rings``):
nothing is copied when series are added. Single precision halves the memory; it stores errors, not
references, so that it is exact to 6e-8 of the error instead of the value.

Measured and rejected: a deque of objects a sensor (nine times the memory), columns in separate
arrays (three times the cost of a write), a memory-mapped file (4 KiB written for 8 bytes).

What breaks first: memory, at pairs x series x 48 bytes; and the journal, where many series have
removed pairs that reach beyond their rings.
"""
