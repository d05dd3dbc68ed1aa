"""Sections are strict, and cannot be changed."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from monitor.config import Mqtt, Settings


def test_settings_cannot_be_changed():
    with pytest.raises(ValidationError):
        Settings().mqtt.port = 1
    with pytest.raises(TypeError):
        Settings().sources[0] = None


def test_settings_made_in_code_are_checked_too():
    with pytest.raises(ValidationError, match="needs its key"):
        Mqtt(tls={"cert_file": "a.pem"})
