"""A sink is added in one place: its file, with one entry in the registry."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from monitor.alerts.sinks import SINKS

# What a file monitor/alerts/file_sink.py would hold, and its entry in SINKS.
SINK = """
from typing import Annotated, NamedTuple
from annotated_types import doc
from monitor.alerts.outlet import GiveUpHours, RetrySeconds, SinkKind
from monitor.alerts.sinks import SINKS
from monitor.core.setting import File, Variable

class FileSettings(NamedTuple):
    '''Lines in a file.'''
    path: Annotated[File, doc("Path of the file.")]
    token_file: Annotated[File | None, doc("File that holds the token.")] = None
    token_env: Annotated[Variable | None, doc("Variable that holds the token.")] = None
    retry_seconds_max: RetrySeconds = 1.0
    give_up_hours: GiveUpHours = 1.0

class FileSink:
    def __init__(self, path, token):
        self.path, self.token = path, token
    def deliver(self, transition):
        with open(self.path, "a") as stream:
            stream.write(f"{self.token} {transition}\\n")
    def close(self):
        pass

SINKS["file"] = SinkKind(
    "Lines in a file; null for none.",
    FileSettings,
    lambda settings, context: FileSink(settings.path, context.secrets["token"]),
    secrets={"token": lambda text, settings: text},
)
"""
USE = """
import json, sys
from harness.transitions import transition
from monitor.config import SettingsError, load, parse, shown_settings
from monitor.config.settings_docs import schema_json, settings_page
from monitor.daemon.connecting import outlets

settings = load(sys.argv[1])
(log, file) = outlets(settings, sys.argv[1])
file.start(0)
file.offer(1, transition(1))
file.stop(5.0)
mistakes = []
for text in (b"sinks: {file: {}}", b"sinks: {file: {path: a, token_file: b, token_env: c}}"):
    try:
        parse(text, "f")
    except SettingsError as error:
        mistakes += error.lines()
print(json.dumps({
    "names": [log.name, file.name],
    "shown": shown_settings(settings)["sinks"]["file"],
    "mistakes": mistakes,
    "in_schema": "FileSettings" in json.loads(schema_json())["$defs"],
    "in_page": "## `sinks.file`" in settings_page(),
}))
"""


def test_a_sink_added_in_one_place_is_found_in_settings_run_and_documentation(tmp_path: Path):
    token, lines, settings = tmp_path / "token", tmp_path / "lines", tmp_path / "settings.yaml"
    token.write_text("s3cret", encoding="utf-8")
    sink = f'{{path: "{lines}", token_file: "{token}"}}'
    settings.write_text(f"sinks: {{file: {sink}}}", encoding="utf-8")

    printed = subprocess.check_output(
        [sys.executable, "-c", SINK + USE, str(settings)], cwd=Path(__file__).parents[1], text=True
    )

    found = json.loads(printed)
    assert found["names"] == ["log", "file"]
    assert lines.read_text(encoding="utf-8").startswith("s3cret ")
    assert found["shown"] == {"path": str(lines), "retry_seconds_max": 1.0, "give_up_hours": 1.0}
    assert found["mistakes"] == [
        "f:1:15: sinks.file.path: is missing; it has no default",
        "f:1:51: sinks.file.token_env: conflicts with token_file; give one of the two",
    ]
    assert found["in_schema"]
    assert found["in_page"]


def test_every_sink_is_in_the_table_of_channels():
    page = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text(encoding="utf-8")

    assert [name for name in SINKS if f"| `sinks.{name}`" not in page] == []
