"""Covariates of readings: stored beside their pairs, and searched for where a series is wrong.

Rules of this file: a batch's samples are held before its pairs take their numbers, and both are
written in the transaction of the batch. A bad number is counted and reported, and rejects nothing.
A series is looked at again after it got pairs, the one that has waited longest first; its pairs
since its last event and the numbers beside them are read from the journal on the data's thread, the
analysis runs in a thread of its own. After each look the daemon waits until the time that it took
is a hundredth of the time that passed. So the result follows from the journal alone, and a restart
finds the same.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

import numpy as np
from markupsafe import Markup

from monitor.core.analysis.explained_by import Explanation, explained_by
from monitor.core.analysis.explained_words import (
    explained_advice,
    explained_clause,
    explained_document,
)
from monitor.core.analysis.where import BUILT_IN, Conditional, Covariate, calibrated_where
from monitor.core.analysis.where_words import where_document
from monitor.core.columns import Columns
from monitor.core.diagnosis.fault_reports import last_pairs
from monitor.core.model import Event, Records, Sample
from monitor.core.pairing.observations import Durable
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Registry
from monitor.core.snapshot.additions import Added, OwnFindings, Remark, with_addition
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.daemon.listeners import Addendum, Listener, ListenerContext, Taken
from monitor.decode.records import BadNumber
from monitor.extensions.where.covariate_samples import CovariateRule, CovariateSamples, numbers_of
from monitor.extensions.where.members import ExplainedDocument, WhereDocument, WhereMembers
from monitor.extensions.where.watched_covariates import watched_of
from monitor.http.text_format import Family, counter, counters, gauges
from monitor.journal.store import Store

_SHARE: Final = 0.01  # of one core


def where_listener(context: ListenerContext) -> Where | None:
    """Return the listener, None if the settings watch no covariate."""
    covariates = watched_of(context.settings)
    if not covariates:
        return None
    rules = [each.rule for each in covariates]
    most = context.settings.pairing.max_pending
    keeper = CovariateKeeper(rules, context.network.registry, most)
    return Where(keeper, WhereCheck(context.network, context.store, keeper))


class WhereFindings(OwnFindings):
    """The findings on each series along the watched covariates; none until it was examined."""

    def __init__(
        self,
        findings: Mapping[int, tuple[Conditional, ...]],
        explained: Mapping[int, Explanation],
    ) -> None:
        self._findings: Final = findings
        self._explained: Final = explained

    def document(self, now: Snapshot, row: int) -> WhereMembers:
        """Return the keys ``where`` and ``explained_by``."""
        unit, of = now.names[row].unit, self._explained.get(row)
        parts = [where_document(each, unit) for each in self._findings.get(row, ())]
        explained = None if of is None else explained_document(of, unit)
        return WhereMembers(
            where=cast("list[WhereDocument]", parts),
            explained_by=cast("ExplainedDocument | None", explained),
        )

    def remarks(self, now: Snapshot) -> dict[int, Remark]:
        """Return what verdicts say of the covariates that explain errors.

        A wrong reference would give its sensors such errors too, so their verdicts say nothing.
        """
        doubted = {row for each in now.suspects for row in (*each.rows, *each.cleared)}
        units = {row: now.names[row].unit for row in self._explained if row < len(now.names)}
        return {
            row: Remark(explained_clause(of, units[row]), explained_advice(of, units[row]))
            for row, of in self._explained.items()
            if row in units and row not in doubted
        }

    def fragments(self, now: Snapshot, row: int) -> tuple[str, str]:
        """Return the findings for the page of a series: what stands out, and all."""
        listed, sensor = self.document(now, row)["where"], now.names[row].sensor
        top = Markup("").join(
            Markup(
                '<p class="mend"><strong>Where:</strong> {} {} '
                '(<a href="#where">all that was examined</a>).</p>\n'
            ).format(sensor, each["sentence"])
            for each in listed
            if each["state"] == "found"
        )
        if not listed:
            return top, ""
        lines = (Markup("<li>{} {}.</li>\n").format(sensor, each["sentence"]) for each in listed)
        return top, _ALL.format(Markup("").join(lines))


_ALL: Final = Markup(
    '<h2 id="where">Calibrated where?</h2>\n<ul>{}</ul>\n'
    '<p class="note">All pairs since its last event; on average, at most five of a hundred honest '
    "sensors ever get a finding here.</p>\n"
)


class Where(Listener):
    """The keeper of numbers and the check along them, as the daemon calls them."""

    def __init__(self, keeper: CovariateKeeper, check: WhereCheck) -> None:
        self.keeper: Final = keeper
        self.check: Final = check
        self.wait_more_seconds = keeper.wait_seconds(0.0)

    def restore(self, received: float, observations: Sequence[Durable]) -> None:
        """Hold again the samples that a journal kept."""
        self.keeper.restore(received, observations)

    def recovered(self) -> None:
        """Look at every series again."""
        self.check.look_at_all()

    def prepare(self, taken: Taken) -> Addendum:
        """Hold the samples of a batch; return what to write with it."""
        self.keeper.mark(taken.events)
        return self.keeper.hold(taken.decoded.samples, taken.pairs, taken.received)

    def see(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the last finding on each series, and in its verdict."""
        findings = WhereFindings(self.check.found, self.check.explained)
        return with_addition(snapshot, "where", Added(findings, remarks=findings.remarks(snapshot)))

    def work(self, now: float) -> None:
        """Begin or end a look."""
        self.check.work(now)

    def expire(self, before: float) -> None:
        """Drop samples that no reading can need any more."""
        self.keeper.samples.expire(before)

    def notices(self, now: float) -> Iterator[str]:  # noqa: ARG002 - whenever it is
        """Yield a sentence for each number that never arrived or could not be used."""
        return self.keeper.notices()

    def families(self) -> Iterator[Family]:
        """Yield the metrics of covariates."""
        keeper = self.keeper
        return families(self.check.wrong(), keeper.refused, keeper.samples.dropped)


def families(
    wrong: Mapping[tuple[str, ...], float], refused: Mapping[tuple[str, str], int], dropped: int
) -> Iterator[Family]:
    """Yield the metrics of covariates."""
    yield gauges(
        "covariate_wrong",
        "1 if a series is wrong in a part of a covariate more than in the rest, else 0.",
        ("sensor", "quantity", "covariate"),
        wrong,
    )
    yield counters(
        "covariate_numbers_refused",
        "Readings without a usable number of a covariate, since the start.",
        ("covariate", "reason"),
        dict(sorted(refused.items())),
    )
    yield counter(
        "covariate_numbers_dropped",
        "Numbers of covariates dropped before their time, since the start: too many waited.",
        dropped,
    )


EVERY_FAMILY: Final = tuple(families({("", "", ""): 0.0}, {("", ""): 0}, 0))


class CovariateKeeper:
    """State: the samples that may still be needed, and the numbers that could not be used.

    ``refused`` are these by covariate and reason since the start; ``changed`` are the series with
    pairs that nobody has looked at yet, in the order they are due.
    """

    def __init__(self, rules: Sequence[CovariateRule], registry: Registry, most: int) -> None:
        self.rules: Final = tuple(rules)
        self.samples: Final = CovariateSamples(rules, most)
        self.refused: Final[dict[tuple[str, str], int]] = {}
        self._details: Final[dict[tuple[str, str], str]] = {}
        self._registry: Final = registry
        self._greatest_age: Final = max((rule.max_age_seconds for rule in rules), default=0.0)
        self._heard: Final[set[str]] = set()
        self.changed: Final[dict[int, None]] = {}

    def hold(
        self, numbers: Sequence[tuple[int, Sample | BadNumber]], pairs: Records, received: float
    ) -> Addendum:
        """Hold the samples of a batch; return what to write with it, its pairs included."""
        samples: list[Sample] = []
        fresh: set[int] = set()
        own: set[int] = set()
        for message, each in numbers:
            if isinstance(each, BadNumber):
                key = (each.covariate, each.reason)
                self.refused[key] = self.refused.get(key, 0) + 1
                self._details[key] = each.detail
                continue
            if each.quantity and not self._registry.is_known(each.sensor, each.quantity):
                continue  # its reading was refused
            if not each.quantity:
                own.add(message)
            self._heard.add(each.covariate)
            if self.samples.add(each, received):
                samples.append(each)
                fresh.add(message)
        self.samples.drop_excess()
        self.changed.update(dict.fromkeys(np.unique(pairs["series"]).tolist()))
        beside = self.samples.beside(pairs, self._registry.keys)
        return Addendum(samples, beside, frozenset(own - fresh))

    def mark(self, events: Iterable[Event]) -> None:
        """Mark the series of events as changed: what was found was true before them."""
        for event in events:
            self.changed.update(dict.fromkeys(self._registry.rows_for(event)))

    def restore(self, received: float, observations: Iterable[Durable]) -> None:
        """Hold again the samples among observations that a journal kept."""
        for each in observations:
            if isinstance(each, Sample):
                self._heard.add(each.covariate)
                self.samples.add(each, received)
        self.samples.drop_excess()

    def wait_seconds(self, wait: float) -> float:
        """Return how long samples may be needed where readings wait for so long."""
        return wait + self._greatest_age

    def notices(self) -> Iterator[str]:
        """Yield a sentence for each number that never arrived or could not be used."""
        for rule in self.rules:
            if rule.scope != "none" and rule.name not in self._heard and len(self._registry):
                yield f"covariate {rule.name}: none of its numbers has come yet"
        for (name, reason), count in sorted(self.refused.items()):
            detail = self._details[name, reason]
            times = "reading" if count == 1 else "readings"
            yield f"covariate {name}: {count} {times} without a usable number, the last: {detail}"


_log: Final = logging.getLogger("monitor")


class _Asked(NamedTuple):
    """The input of a look: pairs of a series since its last event, and all numbers beside them."""

    row: int
    pairs: Records
    beside: Records
    unit: str
    rules: SeriesRules


class WhereCheck:
    """State: the last finding on each series, and the look under way."""

    def __init__(self, network: Network, store: Store, keeper: CovariateKeeper) -> None:
        self._network: Final = network
        self._store: Final = store
        self._keeper: Final = keeper
        self._look: _Look | None = None
        self._due = -math.inf
        self.found: Mapping[int, tuple[Conditional, ...]] = {}
        self.explained: Mapping[int, Explanation] = {}

    def look_at_all(self) -> None:
        """Mark every series for a look: a restart finds again what was found before."""
        self._keeper.changed.update(dict.fromkeys(range(len(self._network.registry.keys))))

    def work(self, now: float) -> None:
        """Begin or end a look if it is due at ``now``, s of a monotonic clock."""
        look = self._look
        if look is not None:
            if not look.is_alive():
                self._look = None
                self._forget(look.asked.row)
                self.found = {**self.found, look.asked.row: look.found}
                if look.explanation is not None:
                    self.explained = {**self.explained, look.asked.row: look.explanation}
                self._due = now + look.seconds / _SHARE
        elif now >= self._due and self._keeper.changed:
            began = time.thread_time()
            row = next(iter(self._keeper.changed))
            del self._keeper.changed[row]
            asked = self._asked_of(row)
            spent = time.thread_time() - began
            self._due = now + spent / _SHARE
            if asked.pairs.size:
                self._look = _Look(asked, self._keeper.rules, self._network.as_columns, spent)
                self._look.start()
            else:  # no pair since an event: what was found was true of the sensor before it
                self._forget(row)

    def _forget(self, row: int) -> None:
        """Drop what was found of a series; snapshots that were taken keep it."""
        self.found = {at: each for at, each in self.found.items() if at != row}
        self.explained = {at: each for at, each in self.explained.items() if at != row}

    def wrong(self) -> dict[tuple[str, ...], float]:
        """Return 1 by sensor, quantity and covariate where a part of it stands out, else 0."""
        names, gone = self._network.registry.keys, self._network.eviction.evicted
        return {
            (*names[row], each.covariate): float(each.state == "found")
            for row, told in sorted(self.found.items())
            for each in told
            if row not in gone
        }

    def _asked_of(self, row: int) -> _Asked:
        network, store = self._network, self._store
        pairs = network.since_event(row, store.pairs_of(row))
        unit, rules = network.names()[row].unit, network.rules[row]
        return _Asked(row, pairs, store.covariates_of(row), unit, rules)


class _Look(threading.Thread):
    """Analyses one series; the daemon does not wait for it when it stops.

    ``seconds`` of processor time it took, with those before; nothing is ``found`` if it fails.
    """

    def __init__(
        self,
        asked: _Asked,
        rules: Sequence[CovariateRule],
        as_columns: Callable[[int, Records], Columns],
        seconds: float,
    ) -> None:
        super().__init__(name="where", daemon=True)
        self.asked: Final = asked
        self.found: tuple[Conditional, ...] = ()
        self.explanation: Explanation | None = None
        self.seconds = seconds
        self._rules: Final = rules
        self._as_columns: Final = as_columns

    def run(self) -> None:
        """Run the analysis."""
        began = time.thread_time()
        try:
            self.found = self._looked()
        except Exception:  # noqa: BLE001 - a fault here must never cost the daemon
            _log.exception("covariates: an internal error; this series is not judged by them")
        self.seconds += time.thread_time() - began

    def _looked(self) -> tuple[Conditional, ...]:
        row, pairs, beside, unit, rules = self.asked
        c = self._as_columns(row, pairs)
        asked = [_covariate(rule, c, pairs, beside, unit) for rule in self._rules]
        last = last_pairs(c, [rules])[0]
        own = [each for each in asked if each.name not in BUILT_IN]
        self.explanation = explained_by(last, [each.of_last(last.n) for each in own])
        share = rules.systematic.share_of(c.u, c.u_ref).max(keepdims=True)
        return tuple(
            calibrated_where(c, each, asked=len(asked), systematic=share)
            for each in asked
            if not each.categories
        )


def _covariate(
    rule: CovariateRule, c: Columns, pairs: Records, beside: Records, unit: str
) -> Covariate:
    """Return a covariate of a series: made from its pairs, or the numbers beside them."""
    if rule.name in BUILT_IN:
        return BUILT_IN[rule.name](c, unit)
    numbers = numbers_of(beside, pairs, rule.name)
    return Covariate(rule.name, numbers, rule.unit, categories=rule.categories)
