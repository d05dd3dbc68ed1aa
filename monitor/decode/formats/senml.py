"""SenML (RFC 8428) in JSON and CBOR: base fields resolved, one record per entry with a value.

A resolved record has ``name`` (the full one), ``base`` and ``local`` (its two parts), ``time``
(s since 1970), ``value``, ``unit`` (as in unit libraries), ``sum``, and ``beside``: the values of
the same base name and time by their local names, one of which may be an uncertainty.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import cbor2

from monitor.decode.checks import Rejected, unknown_age
from monitor.decode.formats import mapped_json
from monitor.decode.paths import to_number, to_text, type_of
from monitor.decode.route import Call, Decoder

# RFC 8428 table 4: labels of the CBOR form.
_LABELS: Final = {
    -1: "bver", -2: "bn", -3: "bt", -4: "bu", -5: "bv", -6: "bs",
    0: "n", 1: "u", 2: "v", 3: "vs", 4: "vb", 5: "s", 6: "t", 7: "ut", 8: "vd",
}  # fmt: skip
# Units of the SenML registry that unit libraries spell otherwise.
_UNITS: Final = {"Cel": "degC", "%RH": "percent", "%": "percent", "/": "1"}
# Tags that cbor2 supports and a pack has no use for: shared and cyclic values, patterns that are
# compiled, mails that are parsed. Decimal fractions (4) are numbers (RFC 8428, 6), 2 and 3 too.
_REFUSED_TAGS: Final = (
    0, 1, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000,
)  # fmt: skip
_EXPONENT_MAX: Final = 400
_CBOR_DEPTH_MAX: Final = 16
_TEXT_CHARACTERS_MAX: Final = 256
_RELATIVE_BELOW: Final = float(1 << 28)  # RFC 8428 section 4.5.3
_VERSION_MAX: Final = 10
_KNOWN: Final = frozenset(_LABELS.values())


def parse(call: Call) -> Iterator[object]:
    """Yield the resolved records, a Rejected for a bad one; raises Rejected for a bad pack."""
    pack = _pack(call.payload)
    base: dict[str, object] = {}
    beside: dict[tuple[str, float], dict[str, object]] = {}
    records: list[object] = []
    for at, record in enumerate(pack):
        try:
            resolved = _resolved(_entries(record), base, call.received)
            if resolved is not None and math.isnan(resolved["time"]):  # type: ignore[arg-type]
                raise unknown_age()
        except Rejected as error:
            detail = f"record [{at}]: {error.detail}"
            records.append(Rejected(error.reason, detail, error.place))
            continue
        if resolved is not None:
            together = beside.setdefault((resolved["base"], resolved["time"]), {})  # type: ignore[arg-type]
            if "value" in resolved:
                together[str(resolved["local"])] = resolved["value"]
            records.append({**resolved, "beside": together})
    if not records:
        raise Rejected("missing_field", "no record of the pack has a value")
    yield from records


def _pack(payload: bytes) -> Sequence[object]:
    if payload[:1] and payload.lstrip()[:1] == b"[":
        pack = mapped_json.parse(payload)
    else:
        pack = _cbor(payload)
    if not isinstance(pack, list | tuple) or not pack:
        raise Rejected("bad_payload", "a SenML pack is an array of one or more records")
    return pack


def _cbor(payload: bytes) -> object:
    stream = io.BytesIO(payload)
    decoder = cbor2.CBORDecoder(
        stream, semantic_decoders=_TAGS, tag_hook=_refuse, max_depth=_CBOR_DEPTH_MAX
    )
    try:
        pack = decoder.decode()
    except Exception as error:  # cbor2 raises more than its own errors
        raise Rejected("bad_payload", f"neither SenML JSON nor CBOR: {error}") from error
    if stream.read(1):
        raise Rejected("bad_payload", "there are more bytes after the CBOR array")
    return pack


def _refuse(_tagged: object, _immutable: bool) -> object:  # noqa: FBT001 - as cbor2 calls it
    raise ValueError("the tag is not a SenML tag")


def _decimal(stated: object, _immutable: bool) -> float:  # noqa: FBT001 - as cbor2 calls it
    """Return a decimal fraction [exponent, mantissa] as a float; RFC 8949, 3.4.4."""
    match stated:
        case [int(exponent), int(mantissa)] if abs(mantissa) < 1 << 64:
            return float(f"{mantissa}e{max(-_EXPONENT_MAX, min(exponent, _EXPONENT_MAX))}")
    raise ValueError("a decimal fraction is an array of exponent and mantissa")


_TAGS: Final = {**dict.fromkeys(_REFUSED_TAGS, _refuse), 4: _decimal}


def _entries(record: object) -> dict[str, object]:
    if not isinstance(record, Mapping):
        raise Rejected("bad_field", "is not a map")
    entries: dict[str, object] = {}
    for label, value in record.items():
        if isinstance(label, str):
            name = label[:60]
        elif isinstance(label, int) and not isinstance(label, bool):
            name = _LABELS.get(label, "")
        else:
            detail = f"a label is {type_of(label)}, not a text or a whole number"
            raise Rejected("bad_field", detail)
        if name.endswith("_") and name not in _KNOWN:
            detail = f"`{name}` is unknown, and must be understood (RFC 8428, 4.4)"
            raise Rejected("bad_payload", detail, f"$.{name}")
        if name and name in entries:
            raise Rejected("bad_payload", f"`{name}` appears twice", f"$.{name}")
        entries[name] = value
    return entries


def _resolved(
    record: dict[str, object], base: dict[str, object], received: float
) -> dict[str, object] | None:
    """Return the record with the base fields applied, None if it only sets them; RFC 8428, 4.6."""
    base.update(
        {name: record[name] for name in ("bver", "bn", "bt", "bu", "bv", "bs") if name in record}
    )
    if _number(base, "bver", 10.0) > _VERSION_MAX:
        raise Rejected("bad_payload", f"has a SenML version above {_VERSION_MAX}", "$.bver")
    prefix = _text("bn", base.get("bn", ""))
    local = _text("n", record.get("n", ""))
    time = _number(base, "bt") + _number(record, "t")
    if time < _RELATIVE_BELOW:
        time += received
    unit = _text("u", record.get("u", base.get("bu", "")))
    resolved: dict[str, object] = {
        "name": prefix + local,
        "base": prefix,
        "local": local,
        "time": time,
    }
    if unit:
        resolved["unit"] = _UNITS.get(unit, unit)
    if "v" in record or ("bv" in base and not {"vs", "vb", "vd", "s", "bs"} & record.keys()):
        resolved["value"] = _value(base, record)
    else:
        given = [name for name in ("vs", "vb") if name in record]
        if given:
            resolved["value"] = record[given[0]]
    if "s" in record:
        resolved["sum"] = _number(base, "bs") + _number(record, "s")
    return resolved if "value" in resolved or "sum" in resolved else None


def _value(base: Mapping[str, object], record: Mapping[str, object]) -> float | None:
    """Return the value of a record, None if it is null or not a number: the sensor has none."""
    stated = record.get("v", 0.0)
    if stated is None or (isinstance(stated, float) and math.isnan(stated)):
        return None
    return _number(base, "bv") + _number(record, "v")


def _number(record: Mapping[str, object], name: str, default: float = 0.0) -> float:
    try:
        return to_number(f"`{name}`", record.get(name, default), texts=False)
    except Rejected as error:
        raise error.at(f"$.{name}") from None


def _text(name: str, value: object) -> str:
    try:
        text = to_text(f"`{name}`", value)
    except Rejected as error:
        raise error.at(f"$.{name}") from None
    if len(text) > _TEXT_CHARACTERS_MAX:
        detail = f"`{name}` has more than {_TEXT_CHARACTERS_MAX} characters"
        raise Rejected("bad_field", detail, f"$.{name}")
    return text


decode: Final = Decoder(
    parse, many=True, help="SenML (RFC 8428) in JSON or CBOR", takes_arrival=True
)
