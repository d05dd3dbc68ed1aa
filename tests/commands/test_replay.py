"""A recorded stream is replayed."""

from __future__ import annotations

from pathlib import Path

from monitor.cli import main
from monitor.errors import USAGE


def test_replay_takes_the_layout_for_a_stream_and_refuses_it_for_messages(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("mqtt: {port: 1}\njournal: {path: journal.sqlite}\n")
    rows = "28.03.2026 18:30;s;reading;21,5;0,5\n28.03.2026 18:30;s;reference;21,25;0,1\n"
    Path("stream.csv").write_text("time;sensor;kind;value;sigma\n" + rows)
    Path("messages.jsonl").write_text('{"time": 1772341200, "topic": "a", "payload": {}}\n')
    options = ["--config", "settings.yaml", "--direct", "--time-format", "%d.%m.%Y %H:%M"]
    options += ["--time-zone", "Europe/Berlin", "--decimal-comma"]

    assert main(["replay", "stream.csv", *options]) == 0, capsys.readouterr().err
    assert "2 messages in the journal" in capsys.readouterr().out
    assert main(["replay", "messages.jsonl", *options]) == USAGE


def test_times_that_count_from_a_start_are_replayed_as_from_2000(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text("mqtt: {port: 1}\njournal: {path: journal.sqlite}\n")
    rows = "1970-01-03T00:00:07.5Z,s,reading,21.5,0.5\n1970-01-03T00:00:07.5Z,s,reference,21,0.1\n"
    Path("stream.csv").write_text("time,sensor,kind,value,sigma\n" + rows)

    assert main(["replay", "stream.csv", "--config", "settings.yaml", "--direct"]) == 0
    shown = capsys.readouterr()
    assert "2 messages in the journal" in shown.out
    assert "0 rejected" in shown.out
    assert "1 pair in the window" in shown.out
    assert "replayed as from 2000-01-01T00:00:07" in shown.err
