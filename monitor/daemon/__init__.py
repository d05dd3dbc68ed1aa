"""The daemon: one loop that reads, commits, acknowledges and publishes.

`loop` prepares everything that settings name and runs a `Daemon`; on SIGHUP it prepares the new
settings first and only then lets one daemon end and the next start. A daemon takes what the broker
has (`MqttSource.receive`), makes pairs of it (`intake`), commits them to the journal, applies them
to the network and acknowledges. Every publish interval it evaluates the network in steps of a few
milliseconds between two reads (`publisher`) and hands an immutable page to HTTP and alert
transitions to the sinks. `assembly` is the only place that knows which part needs which setting,
`runtime` has what the process owes the system.

Invariants:

* Nothing is acknowledged before it is committed, and memory takes pairs only after the journal has
  them. A crash at any point loses nothing: the broker delivers again, and repeats are recognised.
* received = committed + duplicate + rejected, checked at every commit.
* One thread owns socket, journal and network. HTTP and sinks read what was published; neither can
  hold up the data.
* Every wait is bounded, so that a signal ends the work within seconds. The daemon's timers use a
  monotonic clock; wall-clock time only labels data, and only while `clock_guard` trusts it. While
  it is in doubt nothing is deleted and nothing refused as `future`.
* A full disk stops acknowledgements, not the process: the loop retries the batch, and metrics and
  page say why.
* State that is neither pairs nor evidence (`checkpoints`) goes with the next batch, at most once a
  second; at most the last second of it is lost.

Considered and rejected: asyncio or threads between socket and disk (they need queues, and queues
need limits that somebody must notice; docs/adr/0001); a thread for publication (it needs a lock on
the network, or a copy of it); applying settings to running parts (every part needs a second way to
get its state); the cycle collector at its defaults (a full collection walks all that was
recovered, `runtime`).

What breaks first: the fsync of one commit per batch limits single messages; a publication whose
single step takes long delays reads; a reload with a large journal takes as long as a start, during
which the broker queues.
"""
