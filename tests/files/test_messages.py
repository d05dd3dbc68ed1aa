"""Files of raw messages hold any bytes."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.files.input_file import FileError
from monitor.files.messages import read_messages, write_messages
from monitor.simulate.playback import RawMessage

MESSAGES = st.lists(
    st.builds(RawMessage, st.floats(0, 2e9), st.text("a/ö", min_size=1), st.binary()), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MESSAGES)
def test_what_is_written_is_read_again_and_any_json_parser_reads_it(tmp_path, messages):
    path = tmp_path / "messages.jsonl"
    with path.open("w", encoding="utf-8") as out:
        write_messages(out, messages)

    assert [*read_messages(path)] == messages
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    for line, message in zip(lines, messages, strict=True):
        text = line.get("payload", "").encode() or base64.b64decode(line.get("payload_base64", ""))
        assert text == message.payload


@pytest.mark.parametrize(
    "line", ['{"topic":"a"}', '{"topic":"a","payload":"","payload_base64":""}', "[", '{"x":1}']
)
def test_a_line_that_is_no_message_is_named(tmp_path, line):
    path = tmp_path / "messages.jsonl"
    path.write_text('{"topic":"a","payload":"1"}\n\n' + line)

    with pytest.raises(FileError, match=r"messages\.jsonl:3: is not a message"):
        list(read_messages(path))
