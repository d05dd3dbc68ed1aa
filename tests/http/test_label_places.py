"""Labels of a drawing stand inside it and never cover each other."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from monitor.http.label_places import LETTER, LabelPlaces

SHARE = {"start": 0.0, "middle": 0.5, "end": 1.0}
WORDS = st.tuples(
    st.text("ab", min_size=1, max_size=8),
    st.lists(
        st.tuples(st.floats(0, 300), st.floats(0, 100), st.sampled_from([*SHARE])), max_size=4
    ),
)


@given(st.lists(WORDS, max_size=12))
def test_labels_stand_inside_and_apart(words):
    labels = LabelPlaces((0.0, 300.0), 0.0, 100.0)
    areas = []
    for word, places in words:
        if place := labels.place(word, places):
            x, y, anchor = place
            wide = LETTER * len(word)
            areas.append((x - SHARE[anchor] * wide, x + (1 - SHARE[anchor]) * wide, y))

    assert all(left >= -1e-9 and right <= 300 + 1e-9 and y <= 100 for left, right, y in areas)
    for (left, right, y), (other_left, other_right, other_y) in combinations(areas, 2):
        assert right <= other_left or other_right <= left or abs(y - other_y) >= 16


def test_a_wide_character_takes_two_letters_and_a_point_is_kept_free():
    labels = LabelPlaces((0.0, 2.5 * LETTER), 0.0, 100.0)
    labels.keep_free(LETTER, 80.0, 5.0)

    assert labels.place("\N{CJK UNIFIED IDEOGRAPH-6E29}" * 2, [(0.0, 50.0, "start")]) is None
    assert labels.place("ab", [(0.0, 80.0, "start"), (0.0, 50.0, "start")]) == (0.0, 50.0, "start")
