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


def test_a_field_of_a_topic_that_is_part_of_no_name_is_told(tmp_path, capsys):
    file = tmp_path / "settings.yaml"
    mapping = "map: {{time: ts, {}series: [{{quantity: t, value: t, u: u}}]}}"
    head = f"journal: {{path: {tmp_path}/journal.sqlite}}\nsources:\n"

    def remarks(topic: str, more: str = "", kind: str = "reading") -> str:
        mapped = mapping.format(more)
        other = '{topic: "other/{subject}/{quantity}/{sensor}", kind: reference, decoder: json, '
        other += 'map: {subject: "{subject}.{sensor}", series: [{value: v}]}}'
        source = f'{{topic: "{topic}", kind: {kind}, decoder: json, {mapped}}}'
        file.write_text(f"{head}- {other}\n- {source}\n")
        assert main(["check-config", str(file)]) == 0, capsys.readouterr().out
        return capsys.readouterr().out

    assert "sources[1].topic: {floor} is part of no name" in remarks("home/{floor}/{sensor}/t")
    assert '"{floor}.{sensor}"' in remarks("home/{floor}/{sensor}/t")
    named = 'sensor: "{floor}.{sensor}", '
    assert "part of no name" not in remarks("home/{floor}/{sensor}/t", named)
    assert "part of no name" not in remarks("home/+/{sensor}/t")
    by_payload = 'names: {who: "{sensor}"}, '
    assert "part of no name" not in remarks("home/{floor}/t", by_payload)
