"""Commands to type for a sensor: the lines of its page, with its names, ready to copy."""

from __future__ import annotations

import glob
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from monitor.config.core_plan import may_carry, rules_of
from monitor.config.document import BYTES_MAX, read_document
from monitor.config.mistakes import path_text
from monitor.config.settings import Settings
from monitor.config.sources import Source

_FIELD: Final = re.compile(r"\{[a-z_][a-z0-9_]*\}")
_NO_FILE: Final = "FILE"


class LinesByHand:
    """The commands for each sensor of a daemon with ``settings``, begun with the file ``path``."""

    def __init__(self, settings: Settings, path: str = "") -> None:
        self._settings: Final = settings
        self._file: Final = str(Path(path).absolute()) if path else _NO_FILE
        self._native: Final = {each.kind for each in settings.sources if each.decoder == "native"}
        self.has_account: Final = bool(settings.mqtt.username or settings.mqtt.username_env)
        self._assumed: Final = [*self._all_assumed(path)]

    def event(self, sensor: str) -> str:
        """Return the line after work on a sensor; "" if the settings read no events by hand."""
        return self._line("event", [], [sensor, "adjusted"])

    def reference(self, sensor: str, quantity: str) -> str:
        """Return the line for a better-known value; "" if none by hand would be paired."""
        pairing = self._settings.pairing
        mode = rules_of(self._settings, sensor, quantity).pairing.mode
        if mode == "mean_over_reference_interval":
            return ""
        is_keyed = pairing.mode == "key" or pairing.match_on == ("key",)
        key = ["--key", "KEY"] if is_keyed else []
        return self._line("reference", [*key, "--u", "U"], [sensor, quantity, "VALUE"])

    def assumed(self, sensor: str, quantity: str) -> list[str]:
        """Return the places in the settings that assume the u of a series, with their formulas."""
        return [
            place
            for source, named, place in self._assumed
            if may_carry(source, named, quantity) and _may_name(source, sensor)
        ]

    def _line(self, command: str, options: list[str], words: list[str]) -> str:
        if command not in self._native:
            return ""
        own = ["--"] if any(each.startswith("-") for each in words) else []
        return shlex.join(["monitor", command, "--config", self._file, *options, *own, *words])

    def _all_assumed(self, path: str) -> Iterator[tuple[Source, str, str]]:
        """Yield for each assumed u its source, the name of its quantity and its place."""
        stated = [
            (("sources", at, "map", "series", number, "assumed"), source, each)
            for at, source in enumerate(self._settings.sources)
            for number, each in enumerate(() if source.map is None else source.map.series)
            if each.assumed
        ]
        document = read_document(_content(path) if stated else b"")
        for key, source, each in stated:
            line = f"{self._file}:{document.place(key).line}: " if path else ""
            yield source, each.quantity, f"{line}{path_text(key)}: {each.assumed}"


def _may_name(source: Source, sensor: str) -> bool:
    """Return whether a source may call a sensor so."""
    named = "{sensor}" if source.map is None else source.map.sensor
    # Not as a regular expression, which takes hours for a name that six fields nearly match.
    return fnmatchcase(sensor, _FIELD.sub("?*", glob.escape(named)))


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(BYTES_MAX)
    except OSError:
        return b""
