"""docs/alerts.md: its receiver verifies, its body is the body, its settings are settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import msgspec
import pytest
from harness.programs import WAIT_SECONDS, answers, free_port, until
from harness.transitions import transition

from monitor.alerts.posting import Target
from monitor.alerts.webhook import WebhookSink, body
from monitor.config import parse
from monitor.config.credentials import resolve_sink_secrets

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "alerts.md").read_text(encoding="utf-8")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def block(language: str, at: int = 0) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[at]


@pytest.fixture(params=[SECRET, "plain-secret", "abcdefgh"])
def secret(request) -> str:
    return request.param


@pytest.fixture
def port(tmp_path: Path, secret: str):
    """Return where the shipped receiver listens; what it prints is in ``told``."""
    program, found = PROJECT / "deploy" / "webhook_receiver.py", free_port()
    environment = {**os.environ, "SECRET": secret, "PORT": str(found)}
    with (tmp_path / "told").open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, program], stdout=told, stderr=subprocess.DEVNULL, env=environment
        )
    until("it listens", lambda: answers(found))
    yield found
    process.kill()
    process.wait(WAIT_SECONDS)


def test_the_receiver_takes_what_is_signed_once_and_nothing_else(port, secret, tmp_path):
    address = f"http://127.0.0.1:{port}/"
    settings = parse(
        f'sinks: {{webhook: {{url: "{address}", secret_env: SECRET}}}}'.encode(), "settings"
    )
    secrets = resolve_sink_secrets(settings, "", {"SECRET": secret})
    sink = WebhookSink(Target(address, secrets["webhook"]["secret"].get_secret_value()))
    for each in (transition(1), transition(1), transition(2, id="b" * 32)):
        sink.deliver(each)
    sink.close()
    stamp = {"webhook-id": transition(3).id, "webhook-timestamp": str(int(time.time()))}
    forged = (
        {},
        stamp,
        {**stamp, "webhook-timestamp": "1780000000", "webhook-signature": "v1,AAAA"},
        {**stamp, "webhook-timestamp": "now", "webhook-signature": "v1,AAAA"},
        {**stamp, "webhook-signature": "v1,AAAA \u00e9"},
    )
    for headers in forged:
        asked = urllib.request.Request(address, body(transition(3)), headers, method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=WAIT_SECONDS)
        refused.value.close()
        assert refused.value.code == 401

    assert (tmp_path / "told").read_text().splitlines() == ["firing s reads 3 kg heavy"] * 2


def test_the_body_on_the_page_has_the_fields_of_the_body():
    public = "https://monitor.example"
    shown, sent = map(msgspec.json.decode, (block("json"), body(transition(1), public)))

    assert list(shown) == list(sent)
    assert list(shown["estimate"]) == list(sent["estimate"])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_settings_on_the_page_are_settings(at):
    assert parse(block("yaml", at).encode(), "page").sinks.history == 10_000
