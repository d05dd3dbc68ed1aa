"""Topics found by the column of their bytes are those that a dictionary finds one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.mqtt.publish_parser import TopicIndex


def packed(topic: str) -> bytes:
    text = topic.encode()
    return len(text).to_bytes(2, "big") + text


def found(index: TopicIndex, topics: list[str], between: bytes = b"") -> list[int] | None:
    data, starts, stops = b"", [], []
    for topic in topics:
        starts.append(len(data))
        data += packed(topic)
        stops.append(len(data))
        data += between
    places = (np.array(each, dtype=np.int64) for each in (starts, stops))
    numbers = index.find(data, *places)
    return None if numbers is None else numbers.tolist()


topics = st.text(min_size=1, max_size=6) | st.integers(100, 140).map("x".__mul__)


@given(
    parts=st.lists(st.lists(topics, unique=True, max_size=90), max_size=4),
    between=st.binary(max_size=3),
)
def test_topics_are_found_as_in_a_dictionary_while_they_grow_in_number(parts, between):
    index, known = TopicIndex(), {}
    for part in parts:
        for topic in part:
            if topic not in known:
                known[topic] = index.learn(packed(topic), topic)

        asked = [*known, *part]
        assert found(index, asked, between) == [known[topic] for topic in asked]
        assert found(index, [*asked, "\0" * 7], between) is None
    assert index.names == [*known]


@pytest.mark.parametrize("count", [63, 64, 65, 20_000])
def test_most_of_many_topics_are_found_by_the_column(count):
    index = TopicIndex()
    topics = [f"monitor/s{at}/mass/reading" for at in range(count)]
    for topic in topics:
        index.learn(packed(topic), topic)
    looked_for = []
    index._numbers = index._numbers.copy()
    get = index._numbers.get

    class Watched(dict):
        def get(self, *key):
            looked_for.append(key)
            return get(*key)

    index._numbers = Watched(index._numbers)

    assert found(index, topics, b"so that the last is whole" * 3) == list(range(count))
    assert len(looked_for) <= 0.15 * count
