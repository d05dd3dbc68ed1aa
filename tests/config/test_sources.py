"""Sources: those by hand are there where no other reads what people publish."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from monitor.config.sources import Area, Maintenance, Source, named_sources, with_by_hand

READING = Source(topic="a/{sensor}/{quantity}", kind="reading")
REFERENCE = Source(topic="b/{subject}/{quantity}", kind="reference")
MAPPED = Source.model_validate(
    {
        "topic": "c/{subject}",
        "kind": "reference",
        "decoder": "json",
        "map": {"time": "t", "series": [{"quantity": "q", "value": "v"}]},
    }
)


def test_what_people_publish_is_read_by_hand_where_no_native_source_reads_it():
    for stated, added in (
        ((READING,), ["reference", "event"]),
        ((READING, REFERENCE), ["event"]),
        ((READING, MAPPED), ["reference", "event"]),
    ):
        sources = with_by_hand(stated)
        assert sources[: len(stated)] == stated
        assert [each.kind for each in sources[len(stated) :]] == added

    assert named_sources(with_by_hand((READING, MAPPED)), "reference") == [MAPPED]
    (by_hand,) = named_sources(with_by_hand((READING,)), "reference")
    assert by_hand.topic == "monitor/{subject}/{quantity}/reference"


@pytest.mark.parametrize(
    ("section", "keys", "words"),
    [
        (Source, {"topic": "a/x", "kind": "reading"}, "must name its {sensor}"),
        (Source, {"topic": "a/x", "kind": "reference"}, "{subject} or {sensor}"),
        (Source, {"topic": "a/{sensor}", "kind": "event", "decoder": "json"}, "give map too"),
        (Maintenance, {"sensor": "a", "start": "2026-03-01T06:00"}, "has no zone"),
        (Area, {"subject": "s"}, "would select every sensor"),
        (Area, {"subject": "s", "radius_km": 1.0}, "latitude and longitude"),
    ],
)
def test_what_selects_nothing_or_all_is_refused(section, keys, words):
    with pytest.raises(ValidationError) as caught:
        section.model_validate(keys)
    assert words in str(caught.value)
