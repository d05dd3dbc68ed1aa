"""Which messages a block processes together, and in which order.

Rules of this file: large batches cost less, and for most messages the time of arrival only decides
what is too far in the future and how long it is held. So those of a minute are processed together,
at the time of the last, messages of one series beside each other. Where the arrival may be all the
time that a message has, or where messages define what later ones mean, those of one read of a
bridge are, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from monitor.cluster.log_records import IN_DOUBT, LogMessage

_TOGETHER_SECONDS: Final = 60


def taken_together(messages: Sequence[LogMessage], *, in_order: bool) -> Iterator[list[LogMessage]]:
    """Yield messages that are processed together; ``in_order``: those of one read, as they came."""
    key = _of_one_read if in_order else _of_one_minute
    ordered = sorted(messages, key=lambda each: (*key(each), each.received))
    for _, group in groupby(ordered, key=key):
        together = list(group)
        if not in_order:
            together.sort(key=attrgetter("topic"))
        yield together


def _of_one_minute(message: LogMessage) -> tuple[float, bool]:
    return message.received // _TOGETHER_SECONDS, message.clock == IN_DOUBT


def _of_one_read(message: LogMessage) -> tuple[float, bool]:
    return message.received, message.clock == IN_DOUBT
