"""How many examples of a property a run tries."""

from __future__ import annotations

from hypothesis import settings


def examples(most: int) -> settings:
    """Return the settings of a test that tries ``most`` examples, under `make check` a tenth."""
    return settings(max_examples=max(1, most * settings.default.max_examples // 100))
