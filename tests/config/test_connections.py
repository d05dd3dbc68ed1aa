"""The section of the broker: no secret stands in the file or in a mistake."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError
from tests.config.test_settings import mistakes_of, settings_of

CANARY = "canary-hunter2"


@pytest.mark.parametrize("key", ["password", "passwd", "secret"])
@pytest.mark.parametrize("section", ["", "mqtt: "])
def test_a_password_in_the_file_is_refused_and_not_repeated(key, section):
    text = f"mqtt: {{{key}: {CANARY}}}" if section else f"{key}: {CANARY}"

    (mistake,) = mistakes_of(text)

    assert "password_file" in mistake
    assert "password_env" in mistake
    assert CANARY not in mistake


@pytest.mark.parametrize(
    "text",
    [
        f"mqtt: {{passwort: {CANARY}}}",
        f"mqtt: {{host: 'mqtt://u:{CANARY}@h'}}",
        f"mqtt: {{password_env: '{CANARY}'}}",
        f"mqtt: {{password_file: [{CANARY}]}}",
        f"mqtt: {{port: {CANARY}}}",
        f"mqtt: {{protocol: {CANARY}}}",
        f"mqtt: {CANARY}",
        f"mqtt: {{tls: {{cert_file: {CANARY}}}}}",
        f"mqtt: {{host: a\n  password: {CANARY}\n",
        f"mqtt:\n  host: a: {CANARY}\n",
        f"mqtt: {{password: *{CANARY}}}",
    ],
)
def test_no_value_is_repeated_in_a_mistake(text):
    with pytest.raises(SettingsError) as caught:
        settings_of(text)

    assert CANARY not in f"{caught.value} {caught.value!r} {caught.value.mistakes}"
