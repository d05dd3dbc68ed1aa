"""The document says what the lines say."""

from __future__ import annotations

from harness.explained import STATIC, VENDOR, WEIGHING


def test_the_document_says_what_the_lines_say(tell, document):
    told, said = tell(WEIGHING, VENDOR, STATIC), document(WEIGHING, VENDOR, STATIC)

    assert (said["version"], said["outcome"], said["summary"]) == (1, "used", "1 reading")
    assert said["now"] == "2026-03-01T12:00:00Z"
    assert said["source"]["fields"] == {"farm": "otago", "race": "north", "platform": "p03"}
    (observed,) = said["observed"]
    for read in observed["reads"]:
        assert f"{read['path']} {read['found']}" in " ".join(told.out.split())
    assert observed["uncertainty"]["u"] is None
    assert observed["series"]["sentence"] in " ".join(told.said("series"))
    assert [each["fits"] for each in said["tried"]] == [True, *[False] * (len(said["tried"]) - 1)]
    assert len(said["tried"]) > 3
