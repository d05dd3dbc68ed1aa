"""The reference of commands is that of the code."""

from __future__ import annotations

import monitor
from monitor.manual.reference import PAGE_FILE, reference


def test_the_reference_is_made_of_the_docstrings_as_they_are():
    """If this fails: python -m monitor.manual.reference."""
    assert PAGE_FILE.read_text(encoding="utf-8") == reference()
    for name in monitor.__all__:
        assert name.startswith("_") or f"## monitor.{name}\n" in reference()
