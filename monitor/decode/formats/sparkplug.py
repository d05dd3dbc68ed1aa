"""Sparkplug B, read only: a record for each time in a message, by the names from the births.

Rules of this file: the source's template names ``{group}``, ``{message}`` and ``{edge}``, and for
devices one more level; births define metrics and are read, deaths and commands are ignored. A
record has ``time`` (ms), ``seq``, ``historical``, ``values`` and ``quality`` by metric name (GOOD
where none is stated). Data are reported by exception, so a number that never changes is in births
alone: ``birth`` has the numbers of the device's last birth by metric name, ``properties`` the
numeric properties of each metric, those of its birth where a message states none. A metric whose
alias no birth has defined is lost, and so is a name that is not UTF-8, which protobuf gives as
bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from monitor.core.setting import Contradiction
from monitor.decode.checks import Rejected
from monitor.decode.formats.sparkplug_births import Births, BirthValues
from monitor.decode.paths import steps
from monitor.decode.route import Call, Decoder, Route
from monitor.decode.spec import MapSpec

_FIELDS: Final = {"group", "message", "edge"}
_BIRTHS: Final = ("NBIRTH", "DBIRTH")
_SAYING: Final = (*_BIRTHS, "NDATA", "DDATA")
_BY_NAME: Final = ("values", "quality", "birth", "properties")  # of a record
_PROPERTIES_MAX: Final = 20  # of a metric
_QUALITIES: Final = {0: "BAD", 192: "GOOD", 500: "STALE"}
_BITS: Final = {1: 8, 2: 16, 3: 32, 4: 64}  # signed integers of the table of data types
_VALUES: Final = (
    "int_value",
    "long_value",
    "float_value",
    "double_value",
    "boolean_value",
    "string_value",
)


def parse(call: Call) -> Iterable[object]:
    """Return the records of a message; a Rejected for each unknown alias."""
    fields, route = call.fields, call.route
    births = route.births if route.births is not None else Births()
    message = fields["message"]
    if message not in _SAYING:
        return ()
    from monitor.decode.formats.sparkplug_payload import read_payload  # noqa: PLC0415 - loads protobuf

    content = read_payload(call.payload)
    node = f"{fields['group']}/{fields['edge']}"
    own = fields.get("device", fields.get("sensor", ""))
    device = own if message[0] == "D" else ""
    if message in _BIRTHS:
        _learn(content, births, node, device, whole=message == "NBIRTH")
    return _records(content, births, node, device)


def keep_used_metrics(routes: Iterable[Route]) -> None:
    """Make births keep only the metrics that the mappings of these sources can read."""
    for route in routes:
        if route.decoder == "sparkplug" and route.births is not None and route.mapped is not None:
            route.births.use(_metrics_of(route.mapped.texts))


def _metrics_of(texts: Iterable[str]) -> set[str] | None:
    """Return the metrics that a mapping with these texts can read, None if it may read any."""
    used: set[str] = set()
    for text in texts:
        with suppress(ValueError):
            path = steps(text)
            if path[0] in ("$", "@") or (path[0] in _BY_NAME and len(path) == 1):
                return None
            if path[0] in _BY_NAME:
                used.add(str(path[1]))
    return used


def _learn(content: Any, births: Births, node: str, device: str, *, whole: bool) -> None:  # noqa: ANN401
    if whole:
        births.begin(node)
    else:
        births.begin_device(node, device)
    for metric in content.metrics:
        if metric.name and isinstance(metric.name, str):
            alias = metric.alias if metric.HasField("alias") else None
            name, value = metric.name[:1000], _value(metric, metric.datatype)
            births.learn(node, device, name, alias, metric.datatype)
            births.state(node, device, name, _number(value), _numbers(metric))


def _records(content: Any, births: Births, node: str, device: str) -> list[object]:  # noqa: ANN401
    by_time: dict[int, dict[str, Any]] = {}
    refused: list[object] = []
    stated = births.stated(node, device)
    for metric in content.metrics:
        name, datatype = metric.name, metric.datatype
        if not name:
            known = births.named(node, metric.alias)
            if known is None:
                detail = f"alias {metric.alias} of {node[:100]!r}: its birth was never received"
                refused.append(Rejected("unknown_alias", detail))
                continue
            name, datatype = known.name, datatype or known.datatype
        if not isinstance(name, str):
            refused.append(Rejected("bad_name", f"a metric's name is not UTF-8: {name[:60]!r}"))
            continue
        datatype = datatype or births.datatype(node, device, name)
        time = metric.timestamp or content.timestamp
        if time not in by_time:
            by_time[time] = _record(content.seq, time, stated, is_historical=metric.is_historical)
        _add(by_time[time], name, metric, datatype)
    return [*by_time.values(), *refused]


def _record(seq: int, time: int, stated: BirthValues, *, is_historical: bool) -> dict[str, Any]:
    """Return a record without metrics, but with what its device's birth stated."""
    record: dict[str, Any] = {"seq": seq, "values": {}, "quality": {}, "historical": is_historical}
    if stated.values:
        record["birth"] = stated.values
    if stated.properties:
        record["properties"] = dict(stated.properties)
    if time:
        record["time"] = time
    return record


def _add(record: dict[str, Any], name: str, metric: Any, datatype: int) -> None:  # noqa: ANN401
    value = _value(metric, datatype)
    if name and (value is not None or metric.is_null):  # without a name it cannot be mapped
        record["values"][name] = value
    record["quality"][name] = _quality(metric)
    if name and (numbers := _numbers(metric)):
        properties = record.setdefault("properties", {})
        properties[name] = {**properties.get(name, {}), **numbers}


def _value(metric: Any, datatype: int) -> object:  # noqa: ANN401
    """Return the value of a metric, None if it is null or of an unsupported type."""
    if metric.is_null:
        return None
    for name in _VALUES:
        if metric.HasField(name):
            return _signed(getattr(metric, name), datatype)
    return None


def _signed(value: object, datatype: int) -> object:
    """Return a value; a signed whole number travels as its two's complement."""
    bits = _BITS.get(datatype)
    if bits is None or not isinstance(value, int) or isinstance(value, bool):
        return value
    value &= (1 << bits) - 1
    return value - ((value >> (bits - 1)) << bits)


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _numbers(metric: Any) -> dict[str, float]:  # noqa: ANN401
    """Return the numeric properties of a metric."""
    numbers: dict[str, float] = {}
    for key, property_ in zip(metric.properties.keys, metric.properties.values, strict=False):
        for name in ("double_value", "float_value", "int_value", "long_value"):
            if isinstance(key, str) and not property_.is_null and property_.HasField(name):
                number = _signed(getattr(property_, name), property_.type)
                numbers[key[:100]] = float(number)  # type: ignore[arg-type]
        if len(numbers) >= _PROPERTIES_MAX:
            break
    return numbers


def _quality(metric: Any) -> str:  # noqa: ANN401
    """Return the property Quality in words; 6.4.16 of the specification knows three codes."""
    for key, property_ in zip(metric.properties.keys, metric.properties.values, strict=False):
        if key in ("Quality", "quality"):
            code = property_.int_value or property_.long_value
            return property_.string_value or _QUALITIES.get(code, str(code))
    return "GOOD"


def _contradictions(_spec: MapSpec, names: Collection[str]) -> Iterator[Contradiction]:
    if not set(names) >= _FIELDS:
        detail = "must be like spBv1.0/{group}/{message}/{edge}/{sensor} for sparkplug"
        yield Contradiction(("topic",), detail)


decode: Final = Decoder(
    parse, many=True, help="Sparkplug B", contradictions=_contradictions, has_births=True
)
