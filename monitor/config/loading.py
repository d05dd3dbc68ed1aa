"""Reads a settings file, or reports all of its mistakes at once; the hash of settings.

pydantic's errors become sentences: what is wrong with a value and what to write instead. There is
one entry of ``SENTENCES`` per type of error; the value itself is not repeated unless it is close to
one of a few allowed words.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, cast, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from monitor.alerts.sinks import SINKS
from monitor.config.connections import secret_keys
from monitor.config.document import BYTES_MAX, Document, Place, Value, read_document
from monitor.config.extended import every_model, field_of, model_of
from monitor.config.kinds import Section, section_of, with_files
from monitor.config.mistakes import (
    SHOWN_MAX,
    Mistake,
    SettingsError,
    listed,
    nearest_text,
    path_text,
)
from monitor.config.settings import Settings
from monitor.core.setting import Contradiction, KeyPath

# -- sentences ------------------------------------------------------------------------------------

_Context = dict[str, Any]

_QUOTED: Final = re.compile(r"'([^']+)'")
_NOT_HERE: Final = (
    "a password does not belong in this file; put it in a file of its own and name that in "
    "mqtt.password_file, or in an environment variable and name that in mqtt.password_env"
)
HINTS: Final = dict.fromkeys(("password", "passwd", "pass", "secret"), _NOT_HERE)


def mistake_sentence(error: ErrorDetails) -> str:
    """Return an error of pydantic in plain words."""
    if error["type"] == "extra_forbidden":
        return _unknown_key(error["loc"])
    if error["input"] is None and error["type"] not in ("missing", "value_error"):
        return "is empty; give it a value or leave the key out"
    written = SENTENCES.get(error["type"])
    if written is None:
        return error["msg"]
    return written(error.get("ctx", {}), error["input"])


def _unknown_key(path: KeyPath) -> str:
    """Return a suggestion for the unknown key at the end of ``path``."""
    key = str(path[-1])
    if key in HINTS:
        return HINTS[key]
    every = every_model()
    if len(path) > 1 and key in every.model_fields:
        return f"unknown key here; {key} is a section of its own, beside {path[0]}"
    known = list(model_at(path[:-1]).model_fields)
    elsewhere = [
        f"{section}.{key}"
        for section in every.model_fields
        if key in model_at((section,)).model_fields and section not in ("groups", "overrides")
    ]
    if elsewhere:
        return f"unknown key here; did you mean {listed(elsewhere)}?"
    return f"unknown key; {nearest_text(key, known)}"


def model_at(path: KeyPath) -> type[Section]:
    """Return the model of the section at ``path``, with the keys of every extension."""
    model: type[Section] = every_model()
    for step in path:
        if isinstance(step, str):
            model = _model_in(model.model_fields[step].annotation) or model
    return model


def _model_in(annotation: object) -> type[Section] | None:
    if isinstance(annotation, type):
        if issubclass(annotation, Section):
            return annotation
        if hasattr(annotation, "_field_defaults"):
            return section_of(cast("Any", annotation))
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _integer(_: _Context, value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"must be a whole number, written without point or exponent: {value:.0f}"
    return "must be a whole number"


def _truth(_: _Context, value: object) -> str:
    wanted = {"on": "true", "yes": "true", "off": "false", "no": "false"}
    meant = wanted.get(value.lower()) if isinstance(value, str) else None
    return f"must be true or false; write {meant}" if meant else "must be true or false"


def _number(_: _Context, value: object) -> str:
    if isinstance(value, str):
        return "must be a number, such as 60 or 1e-3, without quotes, unit or colon"
    return "must be a number"


def _text(_: _Context, value: object) -> str:
    if isinstance(value, bool):
        return "must be text, not true or false"
    if isinstance(value, (int, float)):
        return "must be text; put it in quotes"
    return "must be text"


def _choice(context: _Context, value: object) -> str:
    choices = _QUOTED.findall(context["expected"])
    if not isinstance(value, str) and str(value)[:20] in choices:
        return f'must be text; put it in quotes: "{value}"'
    close = nearest_text(value, choices) if isinstance(value, str) else ""
    hint = f"; {close}" if close.startswith("did") else ""
    return f"must be {listed(choices)}{hint}"


def _share(value: object) -> str:
    """Return a percentage as a share, if one was written in its place."""
    if isinstance(value, int | float) and 1.0 < value < 100.0:
        return f"; {value:g} % is {value / 100.0:g}"
    return ""


SENTENCES: Final[dict[str, Callable[[_Context, Any], str]]] = {
    "value_error": lambda context, _: str(context["error"]),
    "missing": lambda *_: "is missing; it has no default",
    "int_type": _integer,
    "int_from_float": _integer,
    "float_type": _number,
    "bool_type": _truth,
    "string_type": _text,
    "literal_error": _choice,
    "finite_number": lambda *_: "must be a finite number",
    "model_type": lambda *_: "must be a section with keys of its own",
    "tuple_type": lambda *_: "must be a list: [a, b], or one '- ' line each",
    "greater_than": lambda context, _: f"must be more than {context['gt']}",
    "greater_than_equal": lambda context, _: f"must be at least {context['ge']}",
    "less_than": lambda context, _: f"must be less than {context['lt']}",
    "less_than_equal": lambda context, value: (
        f"must be at most {context['le']}" + (_share(value) if context["le"] <= 1 else "")
    ),
    "string_too_short": lambda *_: "is empty; give it a value or leave the key out",
    "string_too_long": lambda context, _: f"must have at most {context['max_length']} characters",
    "too_short": lambda *_: "must have at least one entry",
    "too_long": lambda context, _: f"must have at most {context['max_length']} entries",
}


# -- files ----------------------------------------------------------------------------------------

_CREDENTIALS: Final = {"username", "username_env", "password_file", "password_env"}


def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 (hex) of the settings as canonical JSON, without credentials.

    A key set to its default and a key left out give the same hash, except in groups and overrides,
    where a key left out inherits.
    """
    values = shown_settings(settings)
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def shown_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings as plain values, without the settings that name credentials.

    Paths of files are as they were written, so that a file means the same in another folder.
    """
    settings = with_files(settings, lambda path: path.written)
    values: dict[str, Any] = settings.model_dump(mode="json", exclude={"mqtt": _CREDENTIALS})
    for name, kind in SINKS.items():
        for key in (key for secret in kind.secrets for key in secret_keys(secret)):
            (values["sinks"][name] or {}).pop(key, None)
    for key in ("groups", "overrides"):
        values[key] = [
            each.model_dump(mode="json", exclude_unset=True) for each in getattr(settings, key)
        ]
    _drop_unused(settings, values)
    return values


def _drop_unused(settings: Settings, values: dict[str, Any]) -> None:
    """Drop the keys of extensions that have their defaults, as if they had been left out."""
    for extension in settings.extensions:
        for path, reference in extension.settings.items():
            section, _, key = path.rpartition(".")
            default = to_jsonable_python(field_of(reference, key).default)
            within = values[section] if section else values
            for each in within if isinstance(within, list) else [within]:
                if each.get(key) == default:
                    each.pop(key, None)


class _Finding(NamedTuple):
    """A mistake that has no sentence yet: pydantic's error, or a sentence of our own."""

    place: Place
    path: KeyPath
    what: ErrorDetails | str


def load(path: str | PathLike[str]) -> Settings:
    """Return the settings in the file at ``path``; raises SettingsError with every mistake."""
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(BYTES_MAX + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        if isinstance(error, FileNotFoundError):
            reason += "; `monitor init` writes one to start from"
        raise SettingsError([Mistake(file, 1, 1, path_text(()), reason)]) from error
    return parse(raw, file)


def parse(raw: bytes, file: str) -> Settings:
    """Return the settings that ``raw``, the content of ``file``, holds; raises SettingsError.

    Relative paths start from the folder of ``file``; of a pipe, from the working directory.
    """
    document = read_document(raw)
    findings = [_Finding(*flaw) for flaw in document.flaws]
    settings = None
    if document.complete:
        values = {} if document.values is None and not document.missing else document.values
        settings, more = _validated(values, document)
        findings += more
    if settings is None or findings:
        raise SettingsError(_mistakes(findings, file))
    folder = "" if file.startswith("/dev/") else os.path.dirname(file)  # noqa: PTH120
    located: Settings = with_files(settings, lambda path: path.in_folder(folder))
    return located


def _validated(values: Value, document: Document) -> tuple[Settings | None, list[_Finding]]:
    try:
        return model_of(values).model_validate(values), []
    except ValidationError as error:
        errors = error.errors(include_url=False)
    findings = [finding for each in errors for finding in _findings(each, document)]
    wrong = {str(each["loc"][0]) for each in errors if each["loc"]}
    if wrong and isinstance(values, dict):
        findings += _between_sections(values, wrong, document)
    return None, [each for each in findings if not _unreadable(each.path, document)]


def _between_sections(
    values: dict[str, Value], wrong: set[str], document: Document
) -> Iterable[_Finding]:
    """Return the contradictions between sections that are valid by themselves."""
    try:
        right = {key: each for key, each in values.items() if key not in wrong}
        model_of(right).model_validate(right)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            for contradiction in _contradictions(each):
                if not wrong & set(contradiction.needs):
                    path = contradiction.path
                    yield _Finding(document.place(path), path, contradiction.what)


def _findings(error: ErrorDetails, document: Document) -> Iterable[_Finding]:
    path = error["loc"]
    if error["type"] == "too_short" and error["input"]:
        return  # each wrong entry is reported by itself
    contradictions = _contradictions(error)
    for each in contradictions:
        compared: list[KeyPath] = [(section,) for section in each.needs] or [path]
        if not any(_unreadable(section, document) for section in compared):
            whole = (*path, *each.path)
            yield _Finding(document.place(whole), whole, each.what)
    if not contradictions:
        of_key = error["type"] == "extra_forbidden"
        yield _Finding(document.place(path, of_key=of_key), path, error)


def _contradictions(error: ErrorDetails) -> list[Contradiction]:
    return list(error.get("ctx", {}).get("found", []))


def _unreadable(path: KeyPath, document: Document) -> bool:
    """Whether the value at ``path``, or a part of it, could not be read and was reported."""
    return any(missing[: len(path)] == path for missing in document.missing)


def _mistakes(findings: list[_Finding], file: str) -> Iterable[Mistake]:
    """Put the first findings into words: this takes time, and every line of a file may be wrong."""
    findings.sort(key=lambda each: each.place)
    for place, path, reason in findings[:SHOWN_MAX]:
        text = reason if isinstance(reason, str) else mistake_sentence(reason)
        yield Mistake(file, place.line, place.column, path_text(path), text)
    more = len(findings) - SHOWN_MAX
    if more > 0:
        place = findings[SHOWN_MAX].place
        yield Mistake(file, place.line, place.column, path_text(()), f"and {more} more mistakes")
