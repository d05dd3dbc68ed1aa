"""An as-found / as-left record as a file: XML in the shape of a DCC, or HTML to print.

Rules of this file: both are functions of the record alone, which they contain as JSON. So a file
whose text differs from its record can be distinguished from an intact one (:func:`record_in`), by
the version of the program that made it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, Final, Literal

from monitor.core.formatting import significant
from monitor.errors import BAD_INPUT, MonitorError
from monitor.extensions.certificates.found_and_left import FORM, canonical
from monitor.extensions.certificates.safe_xml import XmlError, read_xml
from monitor.http.page_files import inline_style, templates

Form = Literal["xml", "html"]
FORMS: Final[tuple[Form, ...]] = ("xml", "html")
_META: Final = "monitor-record"


class NoRecordError(MonitorError):
    """A file is not a record; the message says what to do."""

    exit_code = BAD_INPUT


def record_file(record: Mapping[str, Any], form: Form) -> bytes:
    """Return the file of a record. For XML its unit must have a D-SI form."""
    page = (
        templates()
        .get_template(f"record.{form}")
        .render(
            record=record,
            json=canonical(record),
            parts=[(name, record[key]) for name, key in _PARTS if record[key] is not None],
            error_unit=record["dsi_unit"].replace("\\degreecelsius", "\\kelvin"),
            style=inline_style(),
            text=_text,
            meta=_META,
        )
    )
    return page.encode()


_PARTS: Final = (("As found", "as_found"), ("As left", "as_left"))


def _text(number: float | None, digits: int = 4) -> str:
    return "-" if number is None or not math.isfinite(number) else significant(number, digits)


def record_in(data: bytes, file: str) -> tuple[dict[str, Any], Form]:
    """Return the record that a file holds, and the file's form; raises NoRecordError."""
    is_page = data.lstrip()[:15].lower().startswith(b"<!doctype html")
    text = _in_page(data) if is_page else _in_xml(data, file)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoRecordError(_none(file)) from error
    if not isinstance(record, dict) or record.get("form") != FORM:
        raise NoRecordError(_none(file))
    return record, "html" if is_page else "xml"


def shows_itself(record: Mapping[str, Any], form: Form, data: bytes) -> bool:
    """Return whether this version makes exactly this file from its record."""
    try:
        return record_file(record, form) == data
    except Exception:  # noqa: BLE001 - the record of a stranger may lack anything
        return False


def _none(file: str) -> str:
    return (
        f"{file}: holds no record of form {FORM}; `monitor certificate write` makes them, and "
        "`monitor certificate show` reads certificates of others"
    )


def _in_xml(data: bytes, file: str) -> str:
    try:
        return read_xml(data).text_of("comment", "record")
    except XmlError as error:
        place = f"{file}:{error.line}" if error.line else file
        raise NoRecordError(f"{place}: {error}") from error


class _Meta(HTMLParser):
    """State: the record of the page that was read."""

    record = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "meta" and named.get("name") == _META and not self.record:
            self.record = named.get("content") or ""


def _in_page(data: bytes) -> str:
    reader = _Meta()
    reader.feed(data.decode("utf-8", errors="replace"))
    return reader.record
