"""Values as YAML, read back by another program's reader."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from monitor.extensions.discover.settings_text import comment, value

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
KEYS = st.text("abcü1_-: #", max_size=6) | st.sampled_from(["null", "On", "yes", "NO", "true"])
LEAVES = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda of: st.lists(of, max_size=3) | st.dictionaries(KEYS, of, max_size=3)
)


@given(VALUES)
def test_what_is_written_is_read_as_what_it_was(content):
    assert yaml.safe_load(value(content)) == content


@given(st.text(max_size=300))
def test_a_comment_is_nothing_to_a_reader(sentence):
    lines = comment(sentence, "  ")
    assert yaml.safe_load("\n".join(lines)) is None
    assert all(len(line) <= 98 and line.startswith("  # ") for line in lines if " " in sentence)
