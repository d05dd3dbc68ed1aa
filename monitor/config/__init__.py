"""The settings file: YAML to the core's own settings, or to every mistake in it with its place.

A wrong settings file is the most common way to misuse the daemon, so it is checked as a whole
before anything starts: `load` either returns settings that can be used, or raises one error that
lists every mistake as ``file:line:column: path: what to write instead``. A reload that fails
therefore changes nothing.

* `document` parses YAML 1.2 into values and remembers where each key and value is. It refuses
  anchors, tags and duplicate keys, and never recurses, so hostile files cost a sentence and not
  the stack.
* `kinds`, `sections` and the other sections are pydantic models. Each setting is defined once:
  name, default, range, meaning. The JSON schema, docs/settings.md and the comments of
  configs/default.yaml are made from that (`settings_docs`).
* Where the core or the decoders have a type for a section (`MapSpec`, `Threshold`, `FleetRules`,
  `PairUncertainty`), that type carries the definitions and `kinds` makes the section from it.
  Groups and overrides are made from the sections (`parts`).
* `core_plan` merges group and overrides over the sections and hands the core its `SeriesRules`.

Invariants: settings are immutable; a value never appears in a message, because it may be a secret
in the wrong place; passwords are read from files or variables (`credentials`) and never are part
of `Settings`, so no dump, hash or page can show them; two files that mean the same have the same
`settings_hash`.

Considered and rejected: pydantic models beside the core's types, field by field (every setting is
then said two to seven times, and nothing keeps the copies equal); pydantic-settings and
environment variables for every key (no place to point at, two sources for one value); YAML 1.1, in
which ``on`` is a truth value and ``1:30`` a number.

What breaks first: `loading` maps pydantic's error types to sentences; an error type that
it does not know is shown in pydantic's words. A new pydantic may bring one.
"""

from monitor.config.connections import Mqtt
from monitor.config.credentials import Credentials, resolve_secret
from monitor.config.loading import load, parse, settings_hash, shown_settings
from monitor.config.mistakes import SettingsError
from monitor.config.settings import Settings

__all__ = [
    "Credentials",
    "Mqtt",
    "Settings",
    "SettingsError",
    "load",
    "parse",
    "resolve_secret",
    "settings_hash",
    "shown_settings",
]
