"""The hash that says whether two runs had the same settings."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from monitor.config.settings import Settings

_CREDENTIALS: Final = {"username", "username_env", "password_file", "password_env"}
_WEBHOOK: Final = {
    *("url", "url_file", "url_env", "secret_file", "secret_env"),
    *("authorization_file", "authorization_env"),
}
_HIDDEN: Final[dict[str, Any]] = {"mqtt": _CREDENTIALS, "sinks": {"webhook": _WEBHOOK}}


def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 (hex) of the settings as canonical JSON, without who logs in and how.

    A key that is given its default and one that is left out give the same hash; not so in groups
    and overrides, where what is left out stays as it is above.
    """
    values = shown_settings(settings)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def shown_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings in force as plain values, without who logs in and how."""
    values: dict[str, Any] = settings.model_dump(mode="json", exclude=_HIDDEN)
    for key in ("groups", "overrides"):
        values[key] = [
            each.model_dump(mode="json", exclude_unset=True) for each in getattr(settings, key)
        ]
    return values
