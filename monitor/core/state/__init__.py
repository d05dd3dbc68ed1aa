"""The state of the core: one object that wires the rooms together.

``Network.observe`` ingests a batch and returns its outcome: duplicates, refusals, changes of pairs.
The shell makes that durable, then calls ``apply``; ``evaluate`` returns a snapshot. ``ingest``
takes a batch apart, ``waiting`` holds the readings of series that have yet to begin, ``pipeline``
owns everything derived from pairs, ``core_settings`` holds the settings as plain values.

Invariants:

* Nothing derived changes before its pairs are durable. A crash between the two loses nothing: the
  journal gives the pairs back by ``recall``.
* ``restore`` then ``recall`` leaves what the observations left, bit for bit.
* Within a batch all readings are ingested before the references, so that the pairs of a reference
  are made once.
* Durable pairs may wait, 512 at most: what reads them goes through ``Pipeline.stages``, which
  applies what waits first, so nobody can see them late.

A snapshot is derived in steps of a few milliseconds with messages in between; all numbers of one
series are as of one moment, and transitions found after that moment wait for the next snapshot.

Rejected: applying the pairs of each batch at once (numpy's fixed cost a call, paid for a few pairs)
and deriving a snapshot in one go (messages would wait for the whole fleet).

What breaks first: a read of pairs that bypasses ``Pipeline.stages``.
"""
