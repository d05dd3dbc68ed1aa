"""JSON of any shape, and a number or text alone (a scalar payload): the one parser of JSON.

Rules of this file: it takes JSON in UTF-8 as RFC 8259 defines it and I-JSON (RFC 7493) narrows it.
No object has a member twice, at any depth and however its name is escaped, because senders and
readers disagree on which of the two counts; no text has half a surrogate pair. NaN is not JSON. A
number beyond float64 becomes infinite, and its field then refuses it. A payload that is plainly
``nan``, ``unavailable`` or ``21,5`` is that text. The depth is limited here, because Python's own
limit depends on the depth of the caller.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NoReturn

from monitor.decode.checks import Rejected
from monitor.decode.paths import below, is_decimal_comma, says_no_value
from monitor.decode.route import Decoder

_DEPTH_MAX: Final = 100
_DIGITS_MAX: Final = 400
_STRING_OR_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity', re.DOTALL)
_NOT_JSON: Final = "not JSON: "
_SPACES: Final = " \t\n\r"
_TRAILING_COMMA: Final = "a comma before a closing bracket; remove it"
_CUT: Final = "it ends before it is complete; is a closing bracket missing, or was it cut?"
# What Python's parser says, in words that say what to do.
_FAULTS: Final[Mapping[str, str]] = {
    "Expecting property name enclosed in double quotes": "a name in double quotes must stand here",
    "Expecting ':' delimiter": "a colon must stand here, after the name",
    "Expecting ',' delimiter": "a comma or a closing bracket must stand here",
    "Expecting value": "a value must stand here; texts need double quotes",
    "Extra data": "it ends here, and more follows; send one value in a message",
    "Unterminated string starting at": "the text that begins here has no closing quote",
    "Invalid control character at": r"a control character in a text; write it as \n or \u000a",
    "Illegal trailing comma before end of object": _TRAILING_COMMA,
    "Illegal trailing comma before end of array": _TRAILING_COMMA,
}
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class _DoubledError(Exception):
    """An object has a member twice."""


class _ConstantError(ValueError):
    """NaN or Infinity stands in place of a value."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _DoubledError
    return members


def _constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _whole(digits: str) -> float:
    return int(digits) if len(digits) <= _DIGITS_MAX else math.copysign(math.inf, float(digits))


_decode: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant).decode
# For whole numbers with more digits than Python converts to an int.
_decode_long: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_constant=_constant, parse_int=_whole
).decode


def parse(payload: bytes) -> object:
    """Return the JSON value in ``payload``; raises Rejected."""
    try:
        text = payload.decode()
    except UnicodeDecodeError as error:
        detail = f"not JSON: byte {error.start} is not UTF-8"
        raise Rejected("bad_payload", detail, byte=error.start) from None
    try:
        value = _value(text)
    except (json.JSONDecodeError, _ConstantError) as error:
        return _plain_text(text, error)
    except _DoubledError:
        raise _doubled(text) from None
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > _DEPTH_MAX and _is_deep(value):
        raise _too_deep()
    if _SURROGATE.search(text) is not None:
        _check_texts(value)
    return value


def json_fault(text: str) -> str:
    """Return what is wrong with a text that should be JSON, and what to do; empty for nothing."""
    try:
        parse(text.encode())
    except Rejected as refused:
        return refused.detail.removeprefix(_NOT_JSON)
    return ""


def _plain_text(text: str, error: ValueError) -> str:
    """Return plain text that is not JSON, so that the reader of the value can name the fault."""
    if (text.strip() and says_no_value(text)) or is_decimal_comma(text):
        return text
    if isinstance(error, json.JSONDecodeError):
        raise _not_json(text, *_fault(text, error)) from None
    detail = f"{error} is not a number; send null where there is no reading"
    raise _not_json(text, _place_of_constant(text), detail) from None


def _value(text: str) -> object:
    try:
        return _decode(text)
    except (json.JSONDecodeError, _ConstantError):
        raise
    except ValueError:  # Python converts no thousands of digits to an int
        return _decode_long(text)


def _fault(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Return where a text is no JSON, and what to do; alike for all versions of Python."""
    before = text[: error.pos].rstrip(_SPACES)
    if before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]"):
        return len(before) - 1, _TRAILING_COMMA
    if error.pos == len(text.rstrip(_SPACES)) and before:
        return error.pos, _CUT
    return error.pos, _FAULTS.get(error.msg, error.msg)


def _not_json(text: str, at: int, detail: str) -> Rejected:
    before = text[:at]
    byte, line, column = len(before.encode()), before.count("\n") + 1, at - before.rfind("\n")
    place = f"line {line} column {column}, byte {byte}" if "\n" in text.strip() else f"byte {byte}"
    return Rejected("bad_payload", f"{_NOT_JSON}{detail} ({place})", byte=byte)


def _too_deep() -> Rejected:
    return Rejected(
        "bad_payload", f"the payload is nested too deeply, in more than {_DEPTH_MAX} levels"
    )


def _place_of_constant(text: str) -> int:
    matches = (each for each in _STRING_OR_CONSTANT.finditer(text) if each[0][0] != '"')
    return next((each.start() for each in matches), 0)


def _doubled(text: str) -> Rejected:
    """Return why a text is refused whose object has a member twice."""
    names: dict[int, str] = {}
    alive: list[object] = []  # kept alive, so that no two have the same id

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parsed: dict[str, Any] = {}
        for name, value in pairs:
            if name in parsed:
                names.setdefault(id(parsed), name)
            parsed[name] = value
        alive.append(parsed)
        return parsed

    try:
        whole = json.JSONDecoder(object_pairs_hook=members, parse_int=_whole).decode(text)
    except json.JSONDecodeError as error:
        return _not_json(text, *_fault(text, error))
    except RecursionError:
        return _too_deep()
    nodes = _nodes(whole)
    path, name = next((path, names[id(each)]) for path, each in nodes if id(each) in names)
    return Rejected("bad_payload", f"member {name[:60]!r} appears twice", _below(path, name))


def _nodes(whole: object) -> Iterator[tuple[str, object]]:
    """Yield everything in a value with its path."""
    waiting: list[tuple[str, object]] = [("$", whole)]
    while waiting:
        path, each = waiting.pop()
        yield path, each
        if isinstance(each, dict):
            waiting += [(_below(path, name), part) for name, part in each.items()]
        elif isinstance(each, list):
            waiting += [(f"{path}[{at}]", part) for at, part in enumerate(each)]


def _below(path: str, name: str) -> str:
    return below(path, name).encode(errors="replace").decode()


def _is_deep(whole: object) -> bool:
    level = [whole]
    for _ in range(_DEPTH_MAX + 1):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(each: object) -> Iterable[object]:
    """Return the objects and arrays in an object or array."""
    parts = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    return (part for part in parts if isinstance(part, dict | list))


def _check_texts(whole: object) -> None:
    """Raise Rejected if a text has half a surrogate pair."""
    for path, each in _nodes(whole):
        texts = [each] if isinstance(each, str) else [*each] if isinstance(each, dict) else []
        for text in texts:
            try:
                text.encode()
            except UnicodeEncodeError:
                detail = "not JSON: an escape is half a surrogate pair"
                raise Rejected("bad_payload", detail, path) from None


decode: Final = Decoder(lambda call: parse(call.payload), many=False, help="JSON of any shape")
