"""Native readings and references through a struct; plain ones of a batch as columns.

When: for every native reading and reference, unless maintenance is set or the unit of the source is
not the one of its quantity. Gain (``python benchmarks/accelerators.py``): a plain message costs 1.8
us instead of 37 us at 200 messages a read, 1.3 us instead of 36 us at 1500; one with a key costs 5
us instead of 37 us. Cost of deleting it: only speed.

It takes times in RFC 3339, a unit that is the one of the series, a key, a sequence number or an
identity, and a reading's interval. It hands back revisions, U with k, and all else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Final

import msgspec
import numpy as np

from monitor.core.model import (
    NAN,
    Observation,
    Reading,
    Reference,
)
from monitor.decode import checks
from monitor.decode.accelerators import (
    UNREADABLE,
    Gathered,
    MessageBatch,
    Rows,
    TopicSeries,
    are_good,
)
from monitor.decode.checks import (
    VALUE_MAX,
    Rejected,
    check_reading,
    check_time,
    check_u,
    is_key,
)
from monitor.decode.time import second_of, seconds_of

_Value = Annotated[float, checks.VALUE.meta()]
_U = Annotated[float, checks.U.meta()]
_P = Annotated[float, checks.P.meta()]


class _Reading(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    time: str
    value: _Value
    u: _U = NAN
    unit: str | None = None
    key: str = ""
    seq: str = ""
    lower: _Value = NAN
    upper: _Value = NAN
    p: _P = NAN


class _Reference(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    time: str
    value: _Value
    u: Annotated[float, checks.U_OF_REFERENCE.meta()] = NAN
    unit: str | None = None
    key: str = ""
    id: str = ""


_Body = _Reading | _Reference
_QUOTES: Final = 6  # of the names time and value, and of the text of a time
_QUOTE: Final = ord('"')
_decode_reading: Final = msgspec.json.Decoder(_Reading).decode
_decode_reference: Final = msgspec.json.Decoder(_Reference).decode


def read_native(batch: MessageBatch, gathered: Gathered) -> list[int]:
    """Add the content of messages to ``found``; return the places of those handed back."""
    are_references = batch.are_references
    decode: Callable[[bytes], _Body] = _decode_reference if are_references else _decode_reading
    with suppress(*UNREADABLE):
        bodies = list(map(decode, batch.payloads))
        rows = _rows(batch, bodies)
        if rows is not None:
            if are_references:
                np.nan_to_num(rows.us, copy=False)  # exact where none is stated
            good = are_good(rows.times, rows.us, batch.now, are_references=are_references)
            return gathered.add_good(rows, batch.places, good, are_references=are_references)
    return _read_each(batch, gathered, decode)


def _rows(batch: MessageBatch, bodies: Sequence[_Body]) -> Rows | None:
    """Return messages as columns if each states a time, a value, u and at most its unit."""
    us = np.array([body.u for body in bodies], dtype=np.float64)
    units = [body.unit for body in bodies]
    stated = len(units) - units.count(None)
    quotes = _QUOTES * len(bodies) + 2 * np.count_nonzero(~np.isnan(us)) + 4 * stated
    octets = np.frombuffer(b"".join(batch.payloads), np.uint8)
    if np.count_nonzero(octets == _QUOTE) != quotes:
        return None
    if stated and any(
        unit is not None and unit != stream.unit
        for unit, stream in zip(units, batch.streams(), strict=True)
    ):
        return None
    times = seconds_of([body.time for body in bodies])
    return Rows(batch.which, times, np.array([body.value for body in bodies]), us)


def _read_each(
    batch: MessageBatch, gathered: Gathered, decode: Callable[[bytes], _Body]
) -> list[int]:
    """Read the bodies message by message."""
    left = []
    messages = zip(batch.places.tolist(), batch.streams(), batch.payloads, strict=True)
    for place, stream, payload in messages:
        observation = None
        with suppress(*UNREADABLE, Rejected):
            observation = _observation(decode(payload), payload, stream, batch.now)
        if observation is None:
            left.append(place)
        else:
            gathered.add(place, observation)
    return left


def _observation(
    body: _Body, payload: bytes, stream: TopicSeries, received: float
) -> Observation | None:
    texts = (body.key, body.id if isinstance(body, _Reference) else body.seq)
    stated = int(body.u <= VALUE_MAX)  # false for NaN
    if isinstance(body, _Reading):
        stated += (body.lower <= VALUE_MAX) + (body.upper <= VALUE_MAX) + (body.p <= 1.0)
    names = (body.unit is not None) + bool(texts[0]) + bool(texts[1])
    quotes = _QUOTES + 2 * stated + 4 * names
    if payload.count(b'"') != quotes or not all(map(is_key, texts)):
        return None
    if body.unit is not None and body.unit != stream.unit:
        return None
    time, value, u = second_of(body.time), body.value + 0.0, body.u + 0.0
    if isinstance(body, _Reading):
        lower, upper, (key, sequence) = body.lower + 0.0, body.upper + 0.0, texts
        own = Reading(*stream.name, time, value, u, lower, upper, body.p, key, sequence)
        return check_reading(own, received)
    u = 0.0 if math.isnan(u) or u == 0.0 else check_u("u", u)
    key, identity = texts
    return Reference(*stream.name, check_time(time, received), value, u, key, identity)
