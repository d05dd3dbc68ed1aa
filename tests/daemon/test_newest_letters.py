"""The dead letters at hand: some of each topic, not many more than so many in all."""

from __future__ import annotations

from collections import Counter

import pytest

from monitor.daemon import newest_letters
from monitor.daemon.newest_letters import NewestLetters
from monitor.journal import DeadLetter


def letter(received: float, topic: str) -> DeadLetter:
    return DeadLetter(received, topic, "bad_payload", "", "", b"")


@pytest.mark.parametrize(("topics", "each_has"), [(1, 50), (20, 50), (50, 20), (1000, 1)])
def test_topics_share_the_room_alike_and_the_newest_stay(monkeypatch, topics, each_has):
    monkeypatch.setattr(newest_letters, "LETTERS_MOST", 1000)
    sent = [letter(float(at), f"t/{at % topics}") for at in range(topics * 60)]
    letters = NewestLetters()
    letters.add(sent)

    assert list(letters.newest()) == sent[::-1][: topics * each_has]
    assert list(NewestLetters(sent[::-1]).newest()) == list(letters.newest())


def test_beyond_the_room_the_topics_that_were_refused_last_stay(monkeypatch):
    monkeypatch.setattr(newest_letters, "LETTERS_MOST", 10)
    letters = NewestLetters()
    letters.add(letter(float(at), f"t/{at}") for at in range(25))
    letters.add([letter(25.0, "t/15")])

    assert Counter(each.topic for each in letters.newest()) == dict.fromkeys(
        (f"t/{at}" for at in range(15, 25)), 1
    )
    assert letters.by_sensor(lambda topic: topic[2:])["15"].received == 25.0
