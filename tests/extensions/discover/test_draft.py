"""What the check refuses becomes a sentence."""

from __future__ import annotations

from harness.device_messages import at, sent

from tests.extensions.discover.test_proposal import NOW, heard, proposed


def test_what_the_check_refuses_is_a_sentence_in_a_file_that_checks():
    years = 3.2e7  # beyond the longest time that settings let a reading stand for
    readings = [
        sent("air/node-1/obs", {"ts": NOW - years * n, "pm25": 10.0, "temperature": 21.0})
        for n in range(2)
    ]
    hour = {"start": at(NOW - 3600.0), "end": at(NOW), "pm25": 9.0, "u": 0.5, "rev": 1}
    found = proposed(heard(*readings, sent("official/S3/hourly", hour)))

    (sentence,) = [each for each in found.missing if each.startswith("left out")]
    assert sentence.startswith(
        "left out of overrides, to be written by hand (docs/formats.md): pm25;"
    )
    assert "must be at most 31622400" in sentence
    assert "MISSING: left out of overrides" in found.text
    assert set(found.trial.content.readings) == {("node-1", "pm25"), ("node-1", "temperature")}
