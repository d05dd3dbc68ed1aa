"""Verdicts at the broker: one retained message per series, for every client of the broker.

The way of a verdict::

    snapshot ─> thread.offer() ─> series: which of them changed, and their documents
                                        │                 └─> home_assistant: their devices
                                        └─> one kept connection with a last will ─> broker

``series`` compares each snapshot with the one before and with what was sent to the broker, and
makes the document of a series from the interface's own document, so that a number is the same here,
on the page and in /metrics; ``home_assistant`` describes the same topics to Home Assistant, one
device per sensor; ``thread`` owns the connection.

Invariants:

* The data's thread hands over a snapshot, which is immutable, and continues. The thread of this
  room takes the newest one and skips older ones, since a retained message only states the present.
* The waiting list is a set of series: at most one entry per series, whose newest document is sent
  when its turn comes. Changes of state go before changes of numbers.
* An unchanged document is not sent again, except after a new connection and on request
  (``PREFIX/status/get``, the birth of Home Assistant).
* When a series is forgotten, its topics are cleared, even if that happened while this process was
  down: after connecting, topics that the broker keeps under the prefix and that belong to no series
  are cleared.
* ``PREFIX/status`` is "online" while snapshots come, "offline" by the last will otherwise. The
  client identifier is fixed, so that a new connection ends a half-open old one, and the will of
  the old one does not arrive afterwards.

Considered and rejected: the alerts' sinks (they deliver each transition, in order and durably; here
only the newest counts, and all series count, not only those that fired); the daemon's own session
(its acknowledgements are tied to the journal, and a will would end with each reload); a queue of
messages (an hour without the broker would be an hour of numbers that are no longer true).

What breaks first: two daemons with one prefix clear each other's topics.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Extension

EXTENSION: Final = Extension(
    name="topics",
    summary="the verdict on every series at the broker, and devices in Home Assistant",
    page="outlets.md",
    settings={"verdicts": "monitor.extensions.topics.settings:SECTION"},
    contradictions="monitor.extensions.topics.settings:contradictions",
    listener="monitor.extensions.topics.verdict_topics:topics_listener",
    families="monitor.extensions.topics.verdict_topics:EVERY_FAMILY",
)
