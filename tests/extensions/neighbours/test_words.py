"""Sentences on what neighbours say."""

from __future__ import annotations

import pytest

from monitor.extensions.neighbours.weak_references import Opinion
from monitor.extensions.neighbours.words import apart_clause, neighbours_sentence

SINCE, DAY = 1_794_268_800.0, 86_400.0  # 2026-11-10


def test_a_sensor_that_is_apart_is_told_with_sign_interval_day_and_advice():
    high = Opinion("apart", 2.1, 0.4, 3.8, 3, 29, 28)
    low = high._replace(shift=-2.1, lower=-3.8, upper=-0.4)

    assert neighbours_sentence(high, "kg", 40.0 * DAY, SINCE) == (
        "quiet for 40 d since its last reference; its neighbours say +2.1 kg (0.4 to 3.8) "
        "since 2026-11-10: compare it with a reference next"
    )
    clause = apart_clause(low, "", 3600.0, SINCE)
    assert clause == "its neighbours say -2.1 (-3.8 to -0.4) since 2026-11-10"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("common", "10 of 12 sensors left theirs at once"),
        ("suspect", "its own references call it wrong"),
        ("few", "2 of its 9 neighbours can be trusted"),
        ("compared", "is compared with references often"),
    ],
)
def test_where_nothing_is_claimed_the_words_say_why(state, words):
    opinion = Opinion(state, neighbours=9, speaking=2, apart=10, judged=12)

    assert words in neighbours_sentence(opinion, "kg", 40.0 * DAY, SINCE)
