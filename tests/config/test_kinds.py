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


@pytest.mark.parametrize("end", ["2026-03-01T06:00Z", "2026-03-01T07:00+13:00"])
def test_maintenance_that_does_not_end_after_its_start_is_a_mistake(end):
    work = {"sensor": "a", "start": "2026-03-01T06:00Z", "end": end}
    with pytest.raises(ValidationError, match="is not after start"):
        Settings(maintenance=[work])
    Settings(maintenance=[work | {"end": "2026-03-01T06:01Z"}])


def test_settings_made_in_code_are_checked_too():
    with pytest.raises(ValidationError, match="needs its key"):
        Mqtt(tls={"cert_file": "a.pem"})
