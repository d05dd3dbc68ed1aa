"""Lines as indicators and balances show them: ``ST,NT,+  1.234kg``, ``S S     12.34 kg``.

Rules of this file: a line has one number, before and after it only words that are known; the first
word after it is its unit. A record has ``value``, and as far as the line says so ``unit``,
``stable`` and ``load`` (gross, net or tare). A line that is not of this sort is refused, never
half read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.paths import to_number
from monitor.decode.route import Call, Decoder

_NUMBER: Final = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<digits>(?:\d+(?:[.,]\d+)?|\.\d+)(?:[eE][+-]?\d+)?)(?![.,]?\d)",
    re.ASCII,
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")  # STX and ETX frame a line
_SEPARATORS: Final = re.compile(r"[\s,;:=]+")
_NO_UNIT: Final = re.compile(r"[\d.+*/-]")
_DASHES: Final = re.compile(r"[-_~^]{3,}")
_OVERLOAD: Final = frozenset(("OL", "OVER", "OVERLOAD", "UL", "UNDER", "UNDERLOAD"))
_OVERLOAD_ALONE: Final = frozenset(("HIGH", "LOW", "H", "L"))  # beside a number: of a comparison
_SICS: Final = frozenset(("S", "SI", "SIR"))  # commands of MT-SICS, with which answers begin
_SICS_REFUSALS: Final = {"+": "overload", "-": "overload", "I": "no_reading"}
_WORDS: Final[Mapping[str, tuple[str, bool | str]]] = {
    **dict.fromkeys(("ST", "QT", "WT", "STABLE"), ("stable", True)),
    **dict.fromkeys(("US", "MOTION", "UNSTABLE", "?"), ("stable", False)),
    **dict.fromkeys(("GS", "GR", "GROSS", "G", "B"), ("load", "gross")),
    **dict.fromkeys(("NT", "NET", "N"), ("load", "net")),
    **dict.fromkeys(("TR", "PT", "TARE", "T"), ("load", "tare")),
    **dict.fromkeys(("WW", "WG"), ("load", "gross")),
    "WN": ("load", "net"),
    **dict.fromkeys(("ZR", "ZERO", "Z"), ("zero", True)),
}
_AFTER: Final[Mapping[str, tuple[str, bool | str]]] = {
    **_WORDS,
    "S": ("stable", True),
    **dict.fromkeys(("D", "M"), ("stable", False)),
}
_ERROR: Final = re.compile(r"ERR.*|E[STL]|E\d+")  # those of MT-SICS are ES, ET and EL
_LETTERS: Final = frozenset("GBNT")  # grams, newtons and tonnes too: after a number, its unit


def parse(call: Call) -> Iterator[object]:
    """Yield one record per line; a Rejected for a line that is none of a display."""
    try:
        text = call.payload.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = call.payload.decode("latin-1")
    lines = [line for each in text.splitlines() if (line := _CONTROL.sub("", each).strip())]
    if not lines:
        raise Rejected("bad_payload", "there is no line")
    for line in lines:
        try:
            yield _record(line)
        except Rejected as error:
            yield error


def _record(line: str) -> dict[str, object]:
    """Return what a line says; raises Rejected."""
    number = _NUMBER.search(line.replace("\u2212", "-"))
    if number is None or _ERROR.fullmatch(line.upper()):
        raise _refused(line, _reason_without_number(line))
    before, after = _words(line[: number.start()]), _words(line[number.end() :])
    if _OVERLOAD.intersection(map(str.upper, (*before, *after))):
        raise _refused(line, "overload")
    record: dict[str, object] = {}
    if len(before) > 1 and before[0].upper() in _SICS and before[1].upper() in "SD":
        record["stable"] = before[1].upper() == "S"
        before = before[2:]
    if after and (after[0].upper() in _LETTERS or after[0].upper() not in _WORDS):
        record["unit"] = unit = after.pop(0)
        if _NO_UNIT.match(unit):
            raise _refused(line, "bad_payload", unit)
    record |= _meanings(line, before, _WORDS) | _meanings(line, after, _AFTER)
    return record | {"value": to_number("value", number["sign"] + number["digits"], texts=True)}


def _meanings(
    line: str, words: list[str], known: Mapping[str, tuple[str, bool | str]]
) -> dict[str, object]:
    """Return what words of a line say; raises Rejected for one that is not known."""
    for word in words:
        if word.upper() not in known:
            is_error = _ERROR.fullmatch(word.upper())
            raise _refused(line, "no_reading" if is_error else "bad_payload", word)
    return dict(known[word.upper()] for word in words)


def _words(text: str) -> list[str]:
    return [*filter(None, _SEPARATORS.split(text.replace("?", " ? ")))]


def _reason_without_number(line: str) -> str:
    """Return why a line has no number: an overload, no weighing, or it is of another sort."""
    words = _words(line.upper())
    if len(words) == 2 and words[0] in _SICS:
        return _SICS_REFUSALS.get(words[1], "bad_payload")
    if _DASHES.search(line) or (_OVERLOAD | _OVERLOAD_ALONE).intersection(words):
        return "overload"
    return "no_reading" if any(map(_ERROR.fullmatch, words)) else "bad_payload"


def _refused(line: str, reason: str, word: str = "") -> Rejected:
    if reason != "bad_payload":
        return Rejected(reason, f"the display shows {line[:60]!r} in place of a value")
    why = f"{word[:20]!r} is not understood" if word else "it has no number"
    detail = f"line {line[:60]!r} is not one of a display such as 'ST,NT,+  1.234kg': {why}"
    return Rejected(reason, detail)


decode: Final = Decoder(
    parse, many=True, help="lines of scales and other displays", number_texts=True
)
