"""The core: observations in, pairs, evidence and snapshots out; numbers only.

A reading is a sensor's value with its stated uncertainty, a reference a trusted value of the same
measurand. The core joins the two streams by event time (``pairing``), keeps the last pairs of every
series (``windows``), accumulates evidence that a sensor is not as right as it states
(``detector``), scores the windows (``scores``), names the fault and its remedy (``diagnosis``),
looks across sensors (``fleet``) and derives an immutable ``snapshot``. ``state`` wires these rooms
into one object; ``analysis`` answers questions on request.

Invariants, on which restart, replay and the cluster rely:

* Pairs are a function of the set of observations, windows of the set of pairs, statistics of the
  windows, evidence of the pairs in event order and the epochs. Any order, repetition or crash gives
  the same bits.
* Nothing here reads a clock, a file or a socket, starts a thread or logs; callers pass the times.
  The shell makes changes of pairs durable before it applies them.
* A sum over a series depends only on that series, so a series computed alone or among ten thousand
  gives the same number.
* A number that was not stated or is not defined is NaN, never 0 and never an exception.
* Everything is bounded, and what is evicted is counted.

Rejected: running sums (measured: one value of 1e20 spoils them for ever, and two orders of arrival
differ in the last bits); windows by time of arrival (a late message would change the past); a
thread a room (locks on every array, and results would depend on the order of arrival).

Rooms import downwards only, in the order of the data; the contracts in pyproject.toml say which.
"""
