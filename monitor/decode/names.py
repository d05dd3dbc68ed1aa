"""Named fields: split out of texts (``{subject}.{quantity}``) and put together again.

Rules of this file: a template is plain text with ``{name}`` in it; a name comes from the topic or
from an earlier split; what comes out is checked where it names something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.paths import Fetchers, Place, shown
from monitor.decode.spec import MapError

_FIELD: Final = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")
_FIELDS_MAX: Final = 8

Fields = dict[str, str]
Compose = Callable[[Fields], str]
Split = Callable[[object, object, Fields], None]


def names_in(template: str) -> list[str]:
    """Return the names of the fields in ``template``."""
    return _FIELD.findall(template)


def composer(template: str, known: Collection[str], place: Place) -> Compose:
    """Return what puts ``template`` together from fields; raises MapError for an unknown one."""
    _check(template, place)
    for name in names_in(template):
        if name not in known:
            there = ", ".join(f"{{{each}}}" for each in sorted(known)) or "none"
            raise MapError(place, f"there is no field {{{name}}}; topic and names give {there}")
    whole = _FIELD.fullmatch(template)
    if whole is not None:
        field = whole[1]
        return lambda fields: fields[field]
    return template.format_map


def splitter(path: str, template: str, fetchers: Fetchers, place: Place) -> Split:
    """Return what splits the text at ``path`` and adds its parts to the fields."""
    _check(template, place)
    names = names_in(template)
    if not names or len(names) > _FIELDS_MAX or len(set(names)) < len(names):
        raise MapError(place, "needs between one and eight {names}, each once")
    text = fetchers.text(path, place)
    plain = _FIELD.split(template)[::2]

    def split(root: object, record: object, fields: Fields) -> None:
        whole = text(root, record)
        parts = _parts(whole, plain)
        if parts is None:
            what = f"{place[-1]} is {whole[:60]!r}, not of {template!r}"
            raise Rejected("bad_name", what, shown(path))
        fields.update(zip(names, parts, strict=True))

    return split


def _parts(whole: str, plain: list[str]) -> list[str] | None:
    """Return what stands between ``plain`` texts, None if they do not stand so.

    The first part is as long as it can be, then the second; none is empty. From the end each text
    is found once, as far right as it can be, for a pattern would try all the ways there are.
    """
    first, *between, last = plain
    end = len(whole) - len(last)
    if not (whole.startswith(first) and whole.endswith(last)):
        return None
    parts: list[str] = []
    for each in reversed(between):
        at = whole.rfind(each, len(first) + 1, max(end - 1, 0))
        if at < 0:
            return None
        parts.append(whole[at + len(each) : end])
        end = at
    parts.append(whole[len(first) : end])
    return parts[::-1] if end > len(first) else None


def _check(template: str, place: Place) -> None:
    plain = _FIELD.sub("", template)
    if "{" in plain or "}" in plain:
        raise MapError(place, "has a brace that is no field; write for example {sensor}")
