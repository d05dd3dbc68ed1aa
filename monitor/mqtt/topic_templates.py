"""Topic templates: ``wow/{farm}/{race}/{sensor}/reading`` subscribes, matches and names fields.

Rules of this file: a level is plain text, which may be empty, a ``{name}``, ``+`` or a last ``#``,
never a mixture; so the subscribed filter and the matching topics are the same set. A match does not
mean that a field may name a sensor: :func:`valid_name` decides that afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Final, overload
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

CHARACTERS_MAX: Final = 1000
FIELD: Final = re.compile(r"\{([a-z][a-z0-9_]{0,31})\}")  # a named part
_WILDCARD: Final = re.compile(r"[+#{}]")
_NOT_IN_A_LEVEL: Final = re.compile("[%/+#\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")
# MQTT forbids NUL and half surrogate pairs, and reserves / + # for levels. Characters that move the
# cursor, end a line or turn the direction of writing could make one name look like another.
_NAME: Final = re.compile(
    "[^/+#\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff\\ufffe\\uffff]{1,128}"
)
NAME_RULE: Final = "use 1 to 128 characters, without / + # and control characters"
# MQTT 5 section 4.7.2: a filter that begins with a wildcard matches no topic that begins with $.
_NOT_INTERNAL: Final = r"(?!\$)"


class TemplateError(ValueError):
    """A topic template cannot be used; the message says why and what to write."""


@dataclass(frozen=True)
class Template:
    """A parsed topic template; make one with :meth:`parse`.

    ``filter`` is what to subscribe to, ``names`` the fields in their order.
    """

    text: str
    filter: str
    names: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    @lru_cache(maxsize=1024)
    def parse(cls, text: str) -> Template:
        """Return the template; raises TemplateError with a sentence."""
        _check_whole(text)
        levels = text.split("/")
        for at, level in enumerate(levels):
            _check_level(level, last=at == len(levels) - 1)
        names = tuple(field[1] for level in levels if (field := FIELD.fullmatch(level)))
        for name in names:
            if names.count(name) > 1:
                raise TemplateError(f"{{{name}}} appears twice; give each level its own name")
        filtered = "/".join(FIELD.sub("+", level) for level in levels)
        return cls(text, filtered, names, _pattern(levels))

    def match(self, topic: str) -> dict[str, str] | None:
        """Return the fields of ``topic`` as written, None if it does not match the template."""
        matched = self.pattern.fullmatch(topic)
        return None if matched is None else matched.groupdict()


class Topics(Sequence[str]):
    """Topics of messages, which repeat: the place of each in ``names``, which only ever grow."""

    __slots__ = ("names", "which")

    def __init__(self, names: Sequence[str], rows: npt.NDArray[np.int64]) -> None:
        self.names: Final = names
        self.which: Final = rows

    def __len__(self) -> int:
        return self.which.size

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Topics: ...

    def __getitem__(self, place: int | slice) -> str | Topics:
        if isinstance(place, slice):
            return Topics(self.names, self.which[place])
        return self.names[self.which[place]]

    def part(self, places: npt.NDArray[np.int64] | Sequence[int]) -> list[str]:
        """Return the topics at some places."""
        return [*map(self.names.__getitem__, self.which[places].tolist())]

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.which.tolist())


def overlap(one: str, other: str) -> bool:
    """Return whether some topic matches both of two MQTT filters."""
    for mine, its in zip_longest(one.split("/"), other.split("/")):
        if "#" in (mine, its):
            return True
        if None in (mine, its) or (mine != its and "+" not in (mine, its)):
            return False
    return True


def covers(wide: str, narrow: str) -> bool:
    """Return whether an MQTT filter matches every topic that another one does (MQTT 5.0, 4.7)."""
    if wide[:1] in ("+", "#") and narrow.startswith("$"):
        return False
    own, other = wide.split("/"), narrow.split("/")
    for at, level in enumerate(own):
        if level == "#":
            return True
        if at == len(other) or other[at] == "#" or level not in ("+", other[at]):
            return False
    return len(own) == len(other)


def topics_of(topics: Sequence[str]) -> Topics:
    """Return the topics of messages by their places among those that occur."""
    if isinstance(topics, Topics):
        return topics
    places: dict[str, int] = {}
    numbers = [places.setdefault(topic, len(places)) for topic in topics]
    return Topics(list(places), np.array(numbers, dtype=np.int64))


def valid_name(name: str) -> bool:
    """Whether ``name`` may name a sensor, subject or quantity: one that fits in a topic level.

    That is 1 to 128 characters without / + # and control characters.
    """
    return _NAME.fullmatch(name) is not None


def topic_level(name: str) -> str:
    """Return a name as one level of a topic: ``% / + #`` and control characters as ``%2F``.

    RFC 3986 section 2.1 on the name's UTF-8; every other character stands for itself, so that most
    names are their own levels. :func:`level_name` reverses it.
    """
    return _NOT_IN_A_LEVEL.sub(lambda one: quote(one[0], safe="", errors="surrogatepass"), name)


def level_name(level: str) -> str | None:
    """Return the name that :func:`topic_level` wrote, None for a level that it does not write."""
    try:
        name = unquote(level, errors="strict")
    except UnicodeDecodeError:
        return None
    return name if topic_level(name) == level else None


def _check_whole(text: str) -> None:
    if not text:
        raise TemplateError("a topic template needs at least one level")
    if len(text) > CHARACTERS_MAX:
        raise TemplateError(f"a topic template may have at most {CHARACTERS_MAX} characters")
    if not text.isprintable():
        raise TemplateError("a topic template may hold printable characters only")
    if text.startswith("$share/"):
        raise TemplateError(
            "a shared subscription gives each reader a part of the messages, so that pairs would "
            "be missed; write the topic without $share/..."
        )


def _check_level(level: str, *, last: bool) -> None:
    if level == "{}":
        raise TemplateError("a field has no name; write for example {sensor}")
    if level == "#" and not last:
        raise TemplateError("'#' stands for all that follows, so it must be the last level")
    if level in ("+", "#") or FIELD.fullmatch(level):
        return
    if level[:1] == "{" and level[-1] == "}" and not _WILDCARD.search(level[1:-1]):
        raise TemplateError(
            f"{level[:60]!r} is not a field; its name must be 1 to 32 of a-z 0-9 _, "
            "beginning with a letter"
        )
    if _WILDCARD.search(level):
        raise TemplateError(
            f"level {level[:60]!r} mixes plain text with a wildcard or a field; each must fill "
            "its level, such as {sensor}"
        )


def _pattern(levels: list[str]) -> re.Pattern[str]:
    parts = [_level_pattern(level) for level in levels]
    tail = ""
    if levels[-1] == "#":
        parts.pop()
        tail = "(?:/.*)?" if parts else ".*"
    return re.compile(_NOT_INTERNAL * (levels[0][:1] != "$") + "/".join(parts) + tail, re.DOTALL)


def _level_pattern(level: str) -> str:
    field = FIELD.fullmatch(level)
    if field:
        return f"(?P<{field[1]}>[^/]*)"
    return "[^/]*" if level == "+" else re.escape(level)
