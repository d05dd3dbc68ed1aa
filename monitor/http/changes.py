"""What changed since yesterday: the alerts that began and those that ended, from the history.

A pure function of the published page. An alert that began and ended counts on both sides, and once
on each however often it did so; one that is only pending does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from monitor.alerts.transition import SHOWN, Transition
from monitor.core.registry import SeriesKey
from monitor.http.lines import href
from monitor.http.published import Page

DAY_SECONDS: Final = 86_400.0
NAMED: Final = 4


class Change(NamedTuple):
    """One alert that began or ended; ``href`` is empty for what has no page (a reference)."""

    sensor: str
    alert: str
    href: str


class Side(NamedTuple):
    """The alerts that began, or those that ended: how many, and the last of them."""

    number: int
    named: tuple[Change, ...]


class Changes(NamedTuple):
    """What alerts did in a day; ``more``: the history that is published does not reach so far."""

    began: Side
    ended: Side
    more: bool


def changes(page: Page) -> Changes:
    """Return what alerts did in the last 24 hours, by when it was found."""
    yesterday = page.snapshot.time - DAY_SECONDS
    late = list(takewhile(lambda each: each.notified >= yesterday, page.history))
    began = [each for each in late if each.fires]
    ended = [each for each in late if each.is_news and not each.fires]
    return Changes(_side(began, page), _side(ended, page), more=len(late) >= SHOWN)


def _side(found: Sequence[Transition], page: Page) -> Side:
    alerts = list({(each.sensor, each.quantity, each.alert): each for each in found}.values())
    return Side(len(alerts), tuple(_change(each, page) for each in alerts[:NAMED]))


def _change(of: Transition, page: Page) -> Change:
    known = SeriesKey(of.sensor, of.quantity) in page.rows
    return Change(of.sensor, of.alert, href(of.sensor, of.quantity) if known else "")
