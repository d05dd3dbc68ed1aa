"""An explanation as lines for a person.

Rules of this file: a label, then its text, in at most a hundred columns; nothing that a terminal
would interpret is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Final

from monitor.errors import REFUSALS
from monitor.explain.explanation import (
    Explanation,
    Observed,
    Pair,
    Read,
    Refused,
    Shown,
    Tried,
    amount_text,
    from_now,
    plain,
    seven_digits,
    shortened,
)

_LABEL: Final = 13
_COLUMNS: Final = 100
_OBSERVED_SHOWN: Final = 5
_REFUSED_SHOWN: Final = 5
_NOT_READ_SHOWN: Final = 12
_NEVER: Final = "(nothing)"


def explanation_lines(explanation: Explanation, *, everything: bool = False) -> Iterator[str]:
    """Yield the lines of an explanation; ``everything`` leaves no observation out."""
    most = explanation.observed_count if everything else _OBSERVED_SHOWN
    yield from _head(explanation)
    several = explanation.records > 1
    for observed in explanation.observed[:most]:
        yield ""
        yield from _observed(observed, several=several)
    yield from _more(explanation.observed_count, min(most, len(explanation.observed)), "observed")
    for covariate in explanation.covariates:
        yield from _labelled("covariate", covariate)
    most = explanation.refused_count if everything else _REFUSED_SHOWN
    for refused in explanation.refused[:most]:
        yield ""
        yield from _refused(refused, several=several)
    yield from _more(explanation.refused_count, min(most, len(explanation.refused)), "rejected")
    yield ""
    reason = explanation.refused[0].reason if explanation.outcome == "rejected" else ""
    why = _NO_READING if reason == "no_reading" else reason or explanation.summary
    yield from _labelled("verdict", f"{_VERDICTS[explanation.outcome]}: {why}")


_NO_READING: Final = "no reading, which is no fault of the sensor"
_VERDICTS: Final = {
    "used": "would be used",
    "rejected": "rejected",
    "duplicate": "a duplicate, which changes nothing",
    "nothing": "nothing to use",
}


def _head(explanation: Explanation) -> Iterator[str]:
    for earlier in explanation.earlier:
        detail = f"{_EARLIER[earlier.outcome]}: {earlier.what}"
        yield from _labelled("before", f"{earlier.topic}: {detail}")
    yield from _labelled("topic", explanation.topic)
    source = explanation.source
    if source is None:
        yield from _tried(explanation.tried)
        return
    article = "an" if source.kind == "event" else "a"
    detail = f"{article} {source.kind}, decoder {source.decoder}"
    yield from _labelled("source", f"{source.place}, {source.template}, {detail}")
    also = ", ".join(each.source for each in explanation.tried if each.fits and each.why)
    if also:
        yield from _labelled("", f"{also} would fit too; the first that fits reads the message")
    fields = ", ".join(f"{name} = {value}" for name, value in source.fields.items())
    if fields:
        yield from _labelled("fields", fields)
    if explanation.records > 1:
        yield from _labelled("records", str(explanation.records))
    if explanation.not_read:
        left = explanation.not_read[:_NOT_READ_SHOWN]
        more = ", ..." * (len(explanation.not_read) > len(left))
        yield from _labelled("not read", ", ".join(left) + more)


_EARLIER: Final = {
    "used": "used",
    "rejected": "rejected",
    "duplicate": "a duplicate",
    "nothing": "nothing to use",
}


def _tried(verdicts: Iterable[Tried]) -> Iterator[str]:
    for each in verdicts:
        label = "nearest" if each.nearest else "tried"
        yield from _labelled(label, f"{each.source}, {each.template}: {each.why}")


def _observed(observed: Observed, *, several: bool) -> Iterator[str]:
    yield from _labelled(observed.kind, _title(observed, several=several))
    yield from _time(observed)
    for read in observed.reads:
        if read.what != "time":
            yield from _labelled(read.what, _read(read))
    yield from _uncertainty(observed)
    yield from _destination(observed)
    for pair in observed.pairs:
        yield from _pair(pair)
    if observed.unpaired:
        yield from _labelled("pair", f"none: {observed.unpaired}")


def _title(observed: Observed, *, several: bool) -> str:
    title = ", ".join(filter(None, (observed.name, observed.quantity))) or "no sensor in particular"
    if observed.status == "void":
        title += ", withdrawn"
    if several and observed.record >= 0:
        title += f" (record {observed.record})"
    return title


def _destination(observed: Observed) -> Iterator[str]:
    if observed.kind == "reference":
        yield from _labelled("known as", _known_as(observed))
    if observed.series is not None:
        group = f"group {observed.series.group}; " if observed.series.group else ""
        yield from _labelled("series", f"{group}{observed.series.sentence}")
        if observed.series.concerns:
            yield from _labelled("", f"also references of {', '.join(observed.series.concerns)}")
    if observed.meaning:
        yield from _labelled("goes to", observed.meaning)


def _known_as(observed: Observed) -> str:
    """Return what identifies a reference across its revisions, and which revision stands."""
    name = observed.identity or "its key and time, because no identity is stated"
    status = f", {observed.status}" if observed.status else ""
    if not observed.identity:
        return name
    return (
        f"{name}, revision {observed.revision}{status}; the highest revision counts, of equal ones "
        "void before final before any other"
    )


def _time(observed: Observed) -> Iterator[str]:
    reads = [read for read in observed.reads if read.what == "time"]
    sent = " ".join(f"{read.path} {read.found}".strip() for read in reads if read.found)
    if not observed.time.utc:
        yield from _labelled("time", "none is stated: the identity says what is meant")
        return
    how = "; ".join(filter(None, (observed.time.zone, from_now(observed.time.seconds_before_now))))
    stated = f"{sent}, kept as " if sent else ""
    yield from _labelled("time", f"{stated}{observed.time.utc} ({how})")


def _read(read: Read) -> str:
    value = read.found or _NEVER
    origin = {"default": " (from defaults)", "settings": " (from the settings)"}
    start = f"{read.path} {value}".strip() + origin.get(read.origin, "")
    same = read.kept in ("", value, value.strip('"'))
    stored = "" if same else f", kept as {read.kept}"
    return f"{start}{stored}" + (f" ({read.note})" if read.note else "")


def _uncertainty(observed: Observed) -> Iterator[str]:
    stated = observed.uncertainty
    if stated is None:
        return
    parts = []
    if not math.isnan(stated.u):
        parts.append(f"u = {amount_text(stated.u, observed.unit)}")
    if not math.isnan(stated.lower):
        interval = (
            f"[{seven_digits(stated.lower)}, {seven_digits(stated.upper)}] {observed.unit}".strip()
        )
        p = "" if math.isnan(stated.p) else f", p = {seven_digits(stated.p)}"
        parts.append(interval + p)
    marked = "; marked as assumed" if stated.assumed else ""
    if observed.value < stated.lower or observed.value > stated.upper:
        marked += "; the value lies outside its own interval: do both have the same unit?"
    yield from _labelled("uncertainty", f"{stated.form}, kept as {' and '.join(parts)}{marked}")


def _pair(pair: Pair) -> Iterator[str]:
    unit = pair.unit
    how = "stated" if pair.u_stated else "of its interval, through the normal"
    inside = "holds" if pair.inside else "does not hold"
    where = f"{pair.change}: {pair.sensor} {pair.quantity} at {pair.time}"
    yield from _labelled("pair", where)
    yield from _labelled(
        "",
        f"value {amount_text(pair.value, unit)}, reference {amount_text(pair.reference, unit)}, "
        f"error {pair.error:+.4g}",
    )
    yield from _labelled(
        "",
        f"u {pair.u:.4g} ({how}), u_ref {pair.u_ref:.4g}, u_pair {pair.u_pair:.4g}, "
        f"together {pair.u_eff:.4g}",
    )
    z = f"z = {pair.z:.2f}: {pair.sentence}; the sensor's interval {inside} the reference"
    yield from _labelled("", z)
    if pair.warning:
        yield from _labelled("", pair.warning)


def _refused(refused: Refused, *, several: bool) -> Iterator[str]:
    of = f" (record {refused.record})" if several and refused.record >= 0 else ""
    yield from _labelled("rejected", f"{refused.reason}{of}: {refused.meaning}")
    yield from _labelled("detail", refused.detail)
    if refused.place:
        yield from _labelled("place", refused.place)
    yield from _shown(refused.shown)
    if refused.hint:
        yield from _labelled("hint", refused.hint)
    if refused.reason in REFUSALS:
        yield from _labelled("see", REFUSALS[refused.reason])


def _shown(shown: Shown) -> Iterator[str]:
    """Yield the payload on one line, and a marker under the place concerned."""
    room = _COLUMNS - _LABEL
    at = shortened(shown.at, room // 2)
    side = (room - len(at)) // 2
    after = shortened(shown.after, max(side, room - len(at) - len(shown.before)))
    before = shown.before
    left = room - len(at) - len(after)
    if len(before) > left:
        before = "..." + before[len(before) - left + 3 :]
    yield f"{'payload':<{_LABEL}}{before}{at}{after}"
    if at:
        yield " " * (_LABEL + len(before)) + "^" * len(at)


def _more(count: int, shown: int, noun: str) -> Iterator[str]:
    if count > shown:
        yield ""
        yield f"... and {count - shown} more {noun}; --all shows them"


def _labelled(label: str, text: str) -> Iterator[str]:
    wrapped = wrap(
        plain(text),
        _COLUMNS - _LABEL,
        break_long_words=True,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    for at, line in enumerate(wrapped or [""]):
        yield f"{'' if at else label:<{_LABEL}}{line}".rstrip()
