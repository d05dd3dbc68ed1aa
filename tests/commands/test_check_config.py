"""``monitor check-config`` prints one line per mistake."""

from __future__ import annotations

from monitor.cli import main
from monitor.errors import USAGE


def test_each_mistake_is_a_line_with_its_place_and_none_is_an_answer_too(tmp_path, capsys):
    file = tmp_path / "settings.yaml"
    file.write_text("mqtt: {port: 0}\nwindows:\n  pears: 7\n")
    assert main(["check-config", str(file)]) == USAGE
    port, pears = capsys.readouterr().out.splitlines()
    assert port == f"{file}:1:14: mqtt.port: must be at least 1"
    assert pears.startswith(f"{file}:3:3: windows.pears: ")

    source = '{topic: "a/{sensor}/{quantity}", kind: reading}'
    file.write_text(f"journal: {{path: {tmp_path}/journal.sqlite}}\nsources: [{source}]\n")
    assert main(["check-config", str(file)]) == 0
    first, remark, *_ = capsys.readouterr().out.splitlines()
    assert first == f"{file}: no mistakes"
    assert "only those by hand" in remark
