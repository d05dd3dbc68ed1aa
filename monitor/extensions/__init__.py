"""The one seam: what a default installation does not use stands behind it.

An extension is a folder of this room with everything that it needs: theory, settings, commands, a
listener in the daemon, metrics, routes and pages. It is described by one :class:`Extension` in its
``__init__``, which costs no import of a library. The house knows the type and :data:`TABLE`, and
never an extension's name: it imports one when a settings file has one of its keys, or when one of
its commands is called. Parts are named as ``module:attribute`` and imported when they are used.

Others add theirs by an entry point of the group ``monitor.extensions`` whose object is an
:class:`Extension`. It is looked for where a key or a command is not known, and where everything is
listed (``monitor --help``, the schema of the settings).

Invariants: no module of the house imports a module of an extension, and no extension imports
another; import contracts say so. Settings keys, commands, metrics, JSON names and journal notes are
an extension's promise as they are the house's; a journal written with an extension opens without it
and loses nothing.

Considered and rejected: a registry that extensions fill when they are imported (then each must be
imported to be known); hooks by naming convention (nobody finds who calls them).

What breaks first: a hook that one extension needs and the others ignore. Before adding a field to
:class:`Extension`, see whether :class:`monitor.daemon.listeners.Listener` has the place already.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NamedTuple

GROUP: Final = "monitor.extensions"

_log: Final = logging.getLogger("monitor")


class Command(NamedTuple):
    """A command: what it does, its part of ``monitor --help``, and its module.

    The module has ``arguments(parser)`` and ``run(options) -> exit code``.
    """

    summary: str
    module: str
    group: str = "more"


class Extension(NamedTuple):
    """One extension. Parts are ``module:attribute``, empty where it has none.

    * ``settings``: a pydantic field ``(type, FieldInfo)`` for each key, such as ``otlp`` at the top
      or ``alerts.due`` in a section of the house; for a key of a section that groups and overrides
      do not set, also a subclass of the section that has the key, with checks of its own.
    * ``contradictions``: ``(settings) -> Iterator[Contradiction]`` between sections.
    * ``checks``: ``(settings)``: raises SettingsError where files that the settings name cannot be
      used; called before a start. ``remarks``: ``(settings) -> Iterable[str]``, sentences for
      ``check-config``.
    * ``plan``: ``() -> Addition``, what it adds to snapshots
      (:class:`monitor.core.snapshot.additions.Addition`).
    * ``router``: ``(settings) -> Supplement``, what it adds to decoding
      (:class:`monitor.decode.supplement.Supplement`).
    * ``listener``: ``(ListenerContext) -> Listener | None``, its place in the daemon.
    * ``report``: ``(Recorded) -> Mapping[int, Sequence[str]]``, sentences of ``monitor report`` on
      series, by their rows; the rules of the series say what the settings ask.
    * ``routes``: ``(Published, Renderer) -> APIRouter``, and ``menu``, the paths and words of its
      pages; they are there if ``has_pages``, ``(settings) -> bool``, says so.
    * ``members``: a TypedDict of what its findings add to the JSON of a series.
    * ``metrics``: metrics of series by name with their help; ``families`` the daemon's, each with
      one sample, for docs/metrics.md.
    * ``page`` of the documentation that explains it.
    """

    name: str
    summary: str
    page: str
    commands: Mapping[str, Command] = {}
    settings: Mapping[str, str] = {}
    contradictions: str = ""
    checks: str = ""
    remarks: str = ""
    plan: str = ""
    router: str = ""
    listener: str = ""
    routes: str = ""
    has_pages: str = ""
    report: str = ""
    menu: tuple[tuple[str, str], ...] = ()
    members: str = ""
    metrics: str = ""
    families: str = ""

    def part(self, field: str) -> Any:  # noqa: ANN401 - each field's type stands above
        """Return the object that ``field`` names, None where it names none."""
        reference: str = getattr(self, field)
        return imported(reference) if reference else None


class Asks(NamedTuple):
    """Keys of settings and commands that ask for an extension."""

    settings: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


# The extensions of this room. Each is described in ``monitor.extensions.<name>``.
TABLE: Final[Mapping[str, Asks]] = {
    "assistants": Asks((), ("mcp",)),
    "budget": Asks(("budget",), ("budget",)),
    "certificates": Asks(("sources.certificate",), ("certificate",)),
    "cluster": Asks(("cluster",), ("cluster",)),
    "costs": Asks(("scoring.cost_weight",)),
    "corrected": Asks(("correct",), ("correct", "accept")),
    "discover": Asks((), ("discover",)),
    "due": Asks(("alerts.due",), ("due",)),
    "neighbours": Asks(("neighbours",), ("neighbours",)),
    "otlp": Asks(("otlp",)),
    "papers": Asks((), ("reproduce",)),
    "targets": Asks(
        ("scoring.targets", "scoring.limit_value", "scoring.limit_u_ref"), ("targets",)
    ),
    "topics": Asks(("verdicts",)),
    "what_if": Asks((), ("what-if",)),
    "where": Asks(("covariates",)),
}


def imported(reference: str) -> Any:  # noqa: ANN401 - whatever it names
    """Return the object that ``module:attribute`` names."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


@cache
def extension(name: str) -> Extension:
    """Return the extension of that name; raises KeyError where there is none."""
    if name in TABLE:
        described: Extension = import_module(f"{__name__}.{name}").EXTENSION
        return described
    return {each.name: each for each in _of_others()}[name]


@cache
def _of_others() -> tuple[Extension, ...]:
    """Return the extensions that other packages add, in the order of their names.

    One that cannot be loaded, or takes a name that is given, is left out, with a warning: help and
    suggestions go on without it.
    """
    given = {name for of, asks in TABLE.items() for name in (of, *asks.settings, *asks.commands)}
    usable = filter(None, (_of_another(entry, given) for entry in entry_points(group=GROUP)))
    return tuple(sorted(usable, key=lambda each: each.name))


def _of_another(entry: EntryPoint, given: set[str]) -> Extension | None:
    try:
        described = entry.load()
        reason = f"{described!r} is no {Extension.__module__}.Extension"
    except Exception as error:  # noqa: BLE001 - whatever another's module raises
        described, reason = None, str(error)
    if isinstance(described, Extension):
        names = {described.name, *described.settings, *described.commands}
        if names.isdisjoint(given):
            given |= names
            return described
        reason = f"another extension has {min(names & given)!r} already"
    text = "the extension %s (%s) is left out: %s; install what it needs, or uninstall its package"
    _log.warning(text, entry.name, entry.value, reason)
    return None


def all_extensions() -> tuple[Extension, ...]:
    """Return every extension: those of the table, then others'."""
    return (*map(extension, TABLE), *_of_others())


def of_command(command: str) -> Extension | None:
    """Return the extension that has a command."""
    for name, asks in TABLE.items():
        if command in asks.commands:
            return extension(name)
    return next((each for each in _of_others() if command in each.commands), None)


def named_by_settings(keys: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the extensions that have some of these keys, in order.

    ``known`` are keys of the house: extensions of others are looked for only beyond them.
    """
    unknown = set(keys) - set(known)
    names = {name for name, asks in TABLE.items() if unknown.intersection(asks.settings)}
    if unknown - {key for name in names for key in TABLE[name].settings}:
        names |= {each.name for each in _of_others() if unknown.intersection(each.settings)}
    return tuple(sorted(names))


def hooks(extensions: Iterable[Extension], field: str) -> Iterator[Any]:
    """Yield the objects that ``field`` names in those extensions that have it."""
    return (each.part(field) for each in extensions if getattr(each, field))
