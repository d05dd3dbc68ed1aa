"""The outlets that the settings ask for: one for each sink."""

from __future__ import annotations

from monitor.alerts.outlet import Outlet
from monitor.alerts.sink_settings import SinkContext
from monitor.alerts.sinks import SINKS
from monitor.config import Settings, resolve_secret, resolve_sink_secrets
from monitor.daemon.assembly import publisher_of


def outlets(settings: Settings, path: str) -> list[Outlet]:
    """Return the outlets of the settings in the file at ``path``; none is started.

    Raises SettingsError if a secret that the settings name cannot be read.
    """
    broker = resolve_secret(settings, path)
    secrets = resolve_sink_secrets(settings, path)
    opened = []
    for name, kind in SINKS.items():
        section = getattr(settings.sinks, name)
        if section is not None:
            own = {each: secret.get_secret_value() for each, secret in secrets[name].items()}
            context = SinkContext(lambda: publisher_of(settings, broker), own)
            opened.append(Outlet(name, kind.open(section, context), section))
    return opened
