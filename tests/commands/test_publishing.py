"""What a person publishes needs a source that reads it."""

from __future__ import annotations

from monitor.cli import main
from monitor.errors import BAD_INPUT


def test_a_reference_needs_a_native_source_for_it(tmp_path, capsys):
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        """
by_hand: false
sources:
  - {topic: "a/{sensor}/{quantity}", kind: reading}
  - {topic: "lab/{subject}/{quantity}", kind: reference, decoder: json,
     map: {time: t, series: [{value: v}]}}
"""
    )

    assert main(["reference", "--config", str(settings), "cart", "mass", "5"]) == BAD_INPUT
    said = capsys.readouterr().err
    assert "no source of kind reference with the decoder native" in said
    assert "by_hand: true" in said


def test_an_event_needs_a_native_source_for_it_and_is_told_which(tmp_path, capsys):
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        """
mqtt: {port: 1}
by_hand: false
sources:
  - {topic: "s/{sensor}/{quantity}", kind: reading}
  - {topic: "r/{subject}/{quantity}", kind: reference}
"""
    )

    assert main(["event", "--config", str(settings), "p03", "adjusted"]) == BAD_INPUT

    told = capsys.readouterr().err
    assert "no source of kind event" in told
    assert "{topic: 'monitor/{sensor}/event', kind: event}" in told
