"""Mistakes in a settings file, each with its place, and the error that carries all of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final, NamedTuple

from monitor.core.setting import KeyPath
from monitor.errors import SETTINGS, USAGE, MonitorError

SHOWN_MAX: Final = 100
_KEY_CHARACTERS_SHOWN: Final = 60
_ALIKE: Final = 0.5  # share of a word's letters that one meant instead has in common with it


class Mistake(NamedTuple):
    """One mistake; ``line`` and ``column`` count from 1, ``path`` is like ``sources[0].topic``."""

    file: str
    line: int
    column: int
    path: str
    what: str

    def __str__(self) -> str:
        """Return it on one line, whatever characters it quotes."""
        text = f"{self.file}:{self.line}:{self.column}: {self.path}: {self.what}"
        return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


class SettingsError(MonitorError):
    """The settings cannot be used; ``mistakes`` are in the order of the file."""

    exit_code = USAGE

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes: Final = sorted(mistakes, key=lambda each: (each.line, each.column))
        super().__init__("\n".join([f"the settings cannot be used; see {SETTINGS}", *self.lines()]))

    def lines(self) -> list[str]:
        """Return one line per mistake, for the first hundred."""
        lines = [str(mistake) for mistake in self.mistakes[:SHOWN_MAX]]
        more = len(self.mistakes) - SHOWN_MAX
        return [*lines, f"... and {more} more"] if more > 0 else lines


def path_text(path: KeyPath) -> str:
    """Return ``('sources', 0, 'topic')`` as ``sources[0].topic``, the whole file as ``(file)``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{key_text(step)}"
    return text.removeprefix(".") or "(file)"


def key_text(key: str) -> str:
    """Return a key as messages show it: on one line, not too long."""
    if len(key) > _KEY_CHARACTERS_SHOWN:
        key = f"{key[:_KEY_CHARACTERS_SHOWN]}..."
    return key if key.isprintable() and key else repr(key)


def nearest_text(word: str, known: Iterable[str]) -> str:
    """Return a hint: the known word that was probably meant, or else all known words."""
    words = list(known)
    close = get_close_matches(word[:_KEY_CHARACTERS_SHOWN], words, n=1, cutoff=_ALIKE)
    return f"did you mean {close[0]}?" if close else f"use {listed(words)}"


def listed(words: Iterable[object]) -> str:
    """Return ``a``, ``a or b``, ``a, b or c``."""
    *most, last = [str(word) for word in words]
    return f"{', '.join(most)} or {last}" if most else last
