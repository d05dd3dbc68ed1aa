"""Verdicts at the broker: one retained message a series, for whoever follows the broker anyway.

The way of a verdict::

    snapshot ─> thread.offer() ─> series: which of them changed ─> payload: their documents
                                        │                          home_assistant: their devices
                                        └─> one kept connection with a last will ─> broker

``series`` holds each snapshot against the one before and against what the broker has been sent;
``payload`` makes the document of a series from the interface's own document, so that a number is
the same here, on the page and in /metrics; ``home_assistant`` describes the same topics to Home
Assistant, one device a sensor; ``thread`` owns the connection.

Invariants:

* The data's thread hands over a snapshot, which is immutable, and goes on. The thread of this room
  takes the newest one; older ones are overtaken, for a retained message only ever tells what is.
* What waits is a set of series: at most one entry a series, whose newest document is sent when its
  turn comes. Changes of state go before changes of numbers.
* A document that is as it was sent is not sent again, except after a connection was made and when
  somebody asks (``PREFIX/status/get``, the birth of Home Assistant).
* A series that is forgotten has its topics cleared, also if that happened while this process was
  down: what the broker keeps under the prefix and no series has is cleared after connecting.
* ``PREFIX/status`` is "online" while snapshots come, "offline" by the last will otherwise. The
  client identifier is fixed, so that a connection that is still half open is ended by the next one,
  and its will does not come afterwards.

Considered and rejected: the alerts' sinks (they deliver each transition, in order and durably; here
only the newest counts, and all series count, not only those that fired); the daemon's own session
(its acknowledgements are tied to the journal, and a will would end with each reload); a queue of
messages (an hour without the broker would be an hour of numbers that are no longer true).

What breaks first: two daemons with one prefix clear each other's topics.
"""
