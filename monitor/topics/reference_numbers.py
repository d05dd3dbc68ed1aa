"""References typed in Home Assistant: a number entity per series whose command is a reference.

https://www.home-assistant.io/integrations/number.mqtt/: Home Assistant renders the typed number
with a template and publishes it. The template writes the native payload, and the topic is that of
the settings' native source of references: a reference typed on a phone is therefore read, kept and
acknowledged like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from monitor.config.sections import TypedReference
from monitor.core.registry import SeriesName
from monitor.mqtt.topic_templates import topic_level

# Home Assistant's own functions; it renders the template when a number is typed.
_NOW: Final = "{{ utcnow().isoformat() }}"
_TYPED: Final = "{{ value }}"


class ReferenceNumbers:
    """Which series have a number entity for references, and what it sends.

    ``topic`` is the template of the native source of references, with {subject} and {quantity}.
    """

    def __init__(self, wanted: Sequence[TypedReference] = (), topic: str = "") -> None:
        self._wanted: Final = wanted
        self._topic: Final = topic

    def entity(self, of: SeriesName) -> dict[str, Any] | None:
        """Return the number entity of a series, without names; None if there is none.

        A series whose name is not usable as a topic level has none: no source could name it.
        """
        if topic_level(of.sensor) != of.sensor or topic_level(of.quantity) != of.quantity:
            return None
        for each in self._wanted:
            if fnmatchcase(of.sensor, each.sensor) and fnmatchcase(of.quantity, each.quantity):
                return self._number(of, each)
        return None

    def _number(self, of: SeriesName, wanted: TypedReference) -> dict[str, Any]:
        names = {"{subject}": of.sensor, "{sensor}": of.sensor, "{quantity}": of.quantity}
        topic = "/".join(names.get(level, level) for level in self._topic.split("/"))
        return {
            "platform": "number",
            "command_topic": topic,
            "command_template": _payload(of.unit, wanted.u),
            "mode": "box",
            "min": wanted.minimum,
            "max": wanted.maximum,
            "step": wanted.step,
            **({"unit_of_measurement": of.unit} if of.unit else {}),
        }


def _payload(unit: str, u: float | None) -> str:
    """Return the template of a native reference; ``unit`` must not be read as template code."""
    stated: dict[str, Any] = {} if u is None else {"u": u}
    if unit and "{" not in unit:
        stated["unit"] = unit
    more = msgspec.json.encode(stated).decode()[1:-1]
    return f'{{"time":"{_NOW}","value":{_TYPED}{"," if more else ""}{more}}}'
