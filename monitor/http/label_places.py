"""Where labels may stand in a drawing, so that none covers another.

Widths are estimated for the size in which a phone shows the text, the larger one. A label without
room is left out: the table or sentence beside the drawing says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from unicodedata import east_asian_width

LETTER: Final = 10.8  # width of a digit of 17 px in a wide font; few words are wider on average
_HIGH: Final = 13.0

Place = tuple[float, float, str]  # x, y and anchor of a word
Box = tuple[float, float, float, float]


class LabelPlaces:
    """State: the areas that the labels of one drawing take."""

    def __init__(self, sides: tuple[float, float], top: float, bottom: float) -> None:
        self._left, self._right = sides
        self._top: Final = top
        self._bottom: Final = bottom
        self._taken: list[Box] = []

    def keep_free(self, x: float, y: float, half: float) -> None:
        """Keep labels off a square about a point, as wide as twice ``half``."""
        self._taken.append((x - half, y - half, x + half, y + half))

    def place(self, word: str, places: Sequence[Place]) -> Place | None:
        """Return the first of ``places`` that is free and inside, and take it."""
        wide = LETTER * (len(word) + sum(east_asian_width(each) in "FW" for each in word))
        for x, wanted, anchor in places:
            y = max(wanted, self._top + 9)
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * wide
            box = (left, y - _HIGH, left + wide, y + 3.0)
            inside = left >= self._left and left + wide <= self._right and y <= self._bottom
            if inside and not any(_overlap(box, other) for other in self._taken):
                self._taken.append(box)
                return x, y, anchor
        return None


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
