"""The way of one message: settings, messages and a clock in, an :class:`Explanation` out.

Rules of this file: the daemon's own parts decide; the explanation looks things up again beside
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import msgspec

from monitor.config.core_plan import supplements_of
from monitor.config.settings import Settings
from monitor.core.formatting import significant
from monitor.core.model import (
    NAN,
    Observation,
    Reading,
    Reference,
    Sample,
    time_of,
)
from monitor.decode.checks import REASONS, Rejected, refusal
from monitor.decode.mapping import Mapped
from monitor.decode.records import BadNumber
from monitor.decode.route import Call, Route
from monitor.decode.router import DECODERS
from monitor.decode.spec import MapSpec, SeriesSpec
from monitor.explain.dry_run import DryRun, Fate, Message, Took, sources_of, tried
from monitor.explain.excerpt import around
from monitor.explain.explanation import (
    Earlier,
    Explanation,
    Instant,
    Observed,
    Outcome,
    Refused,
    Source,
    Tried,
    label_of,
    utc,
)
from monitor.explain.reading import MappedRecord
from monitor.mqtt.topic_templates import Template

__all__ = ["SHOWN_MAX", "Explanation", "Message", "explain"]

SHOWN_MAX: Final = 100
_HINTS: Final = {
    "unknown_alias": "give the birth of its device or node with --with TOPIC PAYLOAD",
    "missing_uncertainty": "map u, U, percent, plus_minus, lower and upper, quantiles or samples; "
    "or set assumed",
    "bad_uncertainty": "if it is no standard uncertainty, write assumed in place of it in the map",
    "quality": "`where` in the map lists the values that are used",
    "future": "time_zone in the map if it is local time; time: arrival takes this machine's clock",
    "unit": "unit or unit_path of the series is the unit as sent, to_unit the one to keep",
}
# Of a missing field, by its name.
_WITHOUT: Final = {
    "time": "if none is sent, write time: arrival in the map",
    "value": "optional: true in the map skips records without it",
    **dict.fromkeys(("u", "U", "lower", "upper"), "if none is sent, write assumed in its place"),
}
_OTHER_DECODERS: Final = ("display", "lineprotocol", "senml")
_STATUSES: Final = ("", "final", "void", "")  # a revision is four times its number plus this index


def explain(
    settings: Settings,
    message: Message,
    now: float,
    earlier: Sequence[Message] = (),
    most: int = SHOWN_MAX,
) -> Explanation:
    """Return what happens to ``message`` at ``now`` (s since 1970 UTC), after ``earlier``.

    ``most`` is the length to which its lists are cut.
    """
    session = DryRun(settings, now)
    before = [_earlier(each, session.accept(each)) for each in earlier]
    took = session.accept(message)
    sources = sources_of(settings)
    verdicts = tried(sources, message.topic)
    look = _look(sources, message, session, took, verdicts)
    observed, refused = _parted(took)
    outcome, summary = _outcome(took)
    return Explanation(
        topic=message.topic,
        payload_bytes=len(message.payload),
        now=utc(now),
        outcome=outcome,
        summary=summary,
        tried=verdicts,
        source=look.source,
        records=look.records(),
        observed_count=len(observed),
        observed=[look.observed(at) for at in observed[:most]],
        refused_count=len(refused),
        refused=[look.refused(at, message.payload) for at in refused[:most]],
        not_read=look.not_read(settings),
        earlier=before,
        covariates=[_beside(each) for record in took.seen for each in record.samples][:most],
    )


def _parted(took: Took) -> tuple[list[int], list[int]]:
    """Return the places of the accepted parts, and of the refused ones."""
    fates = [None if fate is None else fate.verdict for fate in took.fates]
    taken = [at for at, verdict in enumerate(fates) if verdict in ("accepted", "duplicate")]
    return taken, sorted(set(range(len(fates))).difference(taken))


def _outcome(took: Took) -> tuple[Outcome, str]:
    """Return the outcome of a message, as in the intake, and why or what it held."""
    verdicts = [fate.verdict for fate in took.fates if fate is not None]
    if "accepted" in verdicts:
        return "used", _counted(took, "accepted")
    if "duplicate" in verdicts:
        return "duplicate", "it came before"
    if took.found:
        error = _error(took, 0)
        return "rejected", f"{error.reason}: {error.detail}"
    if numbers := [each for record in took.seen for each in record.samples]:
        return "used", f"{len(numbers)} number{'s' * (len(numbers) > 1)} of a covariate"
    if took.births:
        return "nothing", "a birth: its metrics are known now, none of them is a reading"
    return "nothing", "it can be read, but the source asks for none of it"


def _beside(sample: Sample | BadNumber) -> str:
    """Describe a covariate that a message states, or why it has none, in words."""
    if isinstance(sample, BadNumber):
        return f"{sample.covariate}: none, {sample.detail} ({sample.reason}); the reading is used"
    whom = ", ".join(filter(None, (sample.sensor, sample.quantity))) or "all sensors"
    return f"{sample.covariate} = {significant(sample.number, 7)} for {whom}, {utc(sample.time)}"


def _counted(took: Took, verdict: str) -> str:
    """Return how many observations of which kind were found, such as ``2 readings``."""
    kinds = Counter(
        label_of(each)[0]
        for each, fate in zip(took.found, took.fates, strict=True)
        if fate is not None and fate.verdict == verdict and not isinstance(each, Rejected)
    )
    return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in kinds.items())


def _error(took: Took, at: int) -> Rejected:
    """Return why a part of a message was refused, by its decoder or by the network."""
    entry, fate = took.found[at], took.fates[at]
    if isinstance(entry, Rejected):
        return entry
    return refusal("" if fate is None else fate.verdict)


def _earlier(message: Message, took: Took) -> Earlier:
    outcome, summary = _outcome(took)
    refused = _parted(took)[1]
    if outcome == "used" and refused:
        error = _error(took, refused[0])
        summary += f"; {len(refused)} rejected, the first for {error.reason}: {error.detail}"
    return Earlier(message.topic, outcome, summary)


class _Look(NamedTuple):
    """A message's records beside what became of them."""

    session: DryRun
    took: Took
    now: float
    source: Source | None = None
    mapped: Mapped | None = None

    def records(self) -> int:
        """Return how many records the payload has, as far as it could be read."""
        return len(self.took.seen)

    def observed(self, at: int) -> Observed:
        """Return one accepted observation."""
        took, session = self.took, self.session
        observation, fate = took.found[at], took.fates[at]
        if isinstance(observation, Rejected) or fate is None:
            raise ValueError("what was refused was not observed")
        record, place = took.places[at]
        kind, name, quantity = label_of(observation)
        reading = self._record(record)
        plain = Observed(
            record=record,
            kind=kind,
            name=name,
            quantity=quantity,
            value=getattr(observation, "value", NAN),
            unit="",
            time=self._instant(observation, reading),
            reads=[] if reading is None else list(reading.common(observation)),
            key=getattr(observation, "key", ""),
            identity=getattr(observation, "identity", ""),
            revision=getattr(observation, "revision", 0) // 4,
            status=_STATUSES[getattr(observation, "revision", 0) % 4],
            series=session.series(observation),
            fate="duplicate" if fate.verdict == "duplicate" else "accepted",
            meaning=session.meaning(observation),
            pairs=fate.pairs,
            unpaired=_why(observation, fate, session),
        )
        return _measured(plain, observation, reading, place)

    def refused(self, at: int, payload: bytes) -> Refused:
        """Return why one part of the message is not used."""
        error = _error(self.took, at)
        number, _ = self.took.places[at]
        row = self.took.seen[number] if number >= 0 else None
        path = error.place
        if path.startswith("map.") and self.source is not None:
            path = f"{self.source.place}.{path}"
        piece = around(error, payload, row)
        hint = piece.hint
        if path != "$" and not hint.startswith("did you mean"):
            setting = _HINTS.get(error.reason) or self._setting(error, payload)
            hint = "; ".join(filter(None, (hint, setting)))
        return Refused(
            record=number,
            reason=error.reason,
            meaning=REASONS[error.reason],
            detail=error.detail,
            place=path,
            shown=piece.shown,
            hint=hint,
        )

    def _setting(self, error: Rejected, payload: bytes) -> str:
        """Return the setting that would read what a field or a payload lacks, "" for none."""
        decoder = "" if self.source is None else self.source.decoder
        if error.reason == "missing_field" and decoder != "native":
            return _WITHOUT.get(error.detail.split()[0], "")
        return _other_decoder(payload, decoder) if error.reason == "bad_payload" else ""

    def not_read(self, settings: Settings) -> list[str]:
        """Return the paths of the first record that no setting uses."""
        readings = (self._record(at) for at in range(self.records()))
        first = next((each for each in readings if each is not None), None)
        readers = (each.reader for each in supplements_of(settings))
        asked = frozenset[str]().union(*(each.paths for each in readers if each is not None))
        return [] if first is None else [path for path in first.not_read() if path not in asked]

    def _record(self, at: int) -> MappedRecord | None:
        row = self.took.seen[at] if at >= 0 else None
        if self.mapped is None or row is None or row.record is None:
            return None
        return MappedRecord(self.mapped, row, self.session.units)

    def _instant(self, observation: Observation, record: MappedRecord | None) -> Instant:
        time = time_of(observation)
        zone = "" if record is None else record.zone(time)
        return Instant(utc(time), zone, self.now - time)


def _other_decoder(payload: bytes, decoder: str) -> str:
    """Return which other decoder reads the lines or records of a payload, "" if none does."""
    anything = MapSpec(series=(SeriesSpec(value="value", assumed="1"),))
    route = Route("reading", "", mapped=Mapped(anything, "reading", ("sensor",)))
    for name in _OTHER_DECODERS:
        with suppress(Rejected):
            records = DECODERS[name].records(
                Call(payload, {"sensor": "s", "quantity": "q"}, route, 0.0)
            )
            if name != decoder and all(each.record is not None for each in records):
                return f"decoder {name} reads it"
    return ""


def _measured(
    observed: Observed, observation: Observation, record: MappedRecord | None, place: int
) -> Observed:
    """Return ``observed`` with the details of its quantity."""
    if record is None or not isinstance(observation, Reading | Reference):
        return observed
    each = record.series_of(place)
    if each is None:
        return observed
    return msgspec.structs.replace(
        observed,
        unit=record.units(each, observation)[1],
        reads=[*observed.reads, *record.measured(each, observation)],
        uncertainty=record.uncertainty(each, observation),
    )


def _why(observation: Observation, fate: Fate, session: DryRun) -> str:
    if fate.verdict == "duplicate":
        return "it came before"
    return "" if fate.pairs else session.unpaired(observation)


def _look(
    sources: Sequence[Source],
    message: Message,
    session: DryRun,
    took: Took,
    verdicts: Iterable[Tried],
) -> _Look:
    """Return the source of a message and its records beside what became of it."""
    fitting = next((at for at, each in enumerate(verdicts) if each.fits), None)
    if fitting is None:
        return _Look(session, took, session.now)
    given = sources[fitting]
    fields = Template.parse(given.template).match(message.topic) or {}
    source = msgspec.structs.replace(given, fields=dict(fields))
    return _Look(session, took, session.now, source, session.mapping(message.topic))
