"""Arguments of ``monitor explain``."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
from harness.explained import KALMAN, WEIGHING

from monitor.cli import main
from tests.explain.conftest import tell

__all__ = ["tell"]


def test_a_payload_may_be_a_file_standard_input_hex_or_base64(tmp_path, monkeypatch, tell):
    file = tmp_path / "payload.json"
    file.write_bytes(KALMAN[1].encode())
    body = KALMAN[1].encode()

    def read(argument):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(body)))
        return tell(WEIGHING, (KALMAN[0], argument)).out

    plain = tell(WEIGHING, KALMAN).out
    base64 = "base64:" + __import__("base64").b64encode(body).decode()
    assert {read(each) for each in ("-", f"@{file}", f"hex:{body.hex()}", base64)} == {plain}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["a/b", "@/no/such/file"], "cannot be read"),
        (["a/b", "hex:0"], "is not hex"),
        (["a/b", "base64:?"], "is not base64"),
        (["a/+", "1"], "without + and #"),
        (["--now", "noon", "a", "1"], "write ISO 8601, such as"),
        (["--now", "2026-03-01T00:00", "a", "1"], "has no zone"),
        (["--with", "a", "-", "b", "-"], "only one payload"),
    ],
)
def test_a_mistake_in_the_arguments_ends_with_2(options, what, capsys):
    assert main(["explain", "--config", WEIGHING, *options]) == 2
    assert what in capsys.readouterr().err


def test_a_mistake_in_the_settings_ends_with_2(tmp_path, capsys):
    file = tmp_path / "wrong.yaml"
    file.write_text("mqtt: {prot: 1}\n")

    assert main(["explain", "--config", str(file), "a", "1"]) == 2
    assert "mqtt.prot" in capsys.readouterr().err
