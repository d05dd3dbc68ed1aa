"""A text for each series, copied for readers only when one of them changed."""

from __future__ import annotations


class SeriesTexts:
    """State: a text of every series; readers get a tuple, the same one while none changes."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._shown: tuple[str, ...] = ()
        self._is_changed = False

    def __len__(self) -> int:
        return len(self._texts)

    def grow(self, count: int) -> None:
        """Hold texts of ``count`` series; new ones are empty."""
        self._texts += [""] * (count - len(self._texts))
        self._is_changed |= len(self._shown) != count

    def set(self, row: int, text: str) -> None:
        """Replace the text of one series."""
        if text != self._texts[row]:
            self._texts[row] = text
            self._is_changed = True

    def all(self) -> tuple[str, ...]:
        """Return the texts of all."""
        if self._is_changed:
            self._shown, self._is_changed = tuple(self._texts), False
        return self._shown
