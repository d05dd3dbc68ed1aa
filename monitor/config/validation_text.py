"""pydantic's errors as sentences: what is wrong with a value and what to write instead.

Rules of this file: one entry of ``SENTENCES`` per type of error; the value itself is not repeated
unless it is close to one of a few allowed words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, cast, get_args

from pydantic_core import ErrorDetails

from monitor.config.derived import section_of
from monitor.config.kinds import Section
from monitor.config.mistakes import listed, nearest_text
from monitor.config.settings import Settings
from monitor.core.setting import KeyPath

_Context = dict[str, Any]

_QUOTED: Final = re.compile(r"'([^']+)'")
_NOT_HERE: Final = (
    "a password does not belong in this file; put it in a file of its own and name that in "
    "mqtt.password_file, or in an environment variable and name that in mqtt.password_env"
)
HINTS: Final = dict.fromkeys(("password", "passwd", "pass", "secret"), _NOT_HERE)


def sentence(error: ErrorDetails) -> str:
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
    """Return what the unknown key at the end of ``path`` may have been meant to be."""
    key = str(path[-1])
    if key in HINTS:
        return HINTS[key]
    known = list(model_at(path[:-1]).model_fields)
    elsewhere = [
        f"{section}.{key}"
        for section in Settings.model_fields
        if key in model_at((section,)).model_fields and section not in ("groups", "overrides")
    ]
    if elsewhere:
        return f"unknown key here; did you mean {listed(elsewhere)}?"
    return f"unknown key; {nearest_text(key, known)}"


def model_at(path: KeyPath) -> type[Section]:
    """Return the model of the section at ``path``."""
    model: type[Section] = Settings
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
    "less_than_equal": lambda context, _: f"must be at most {context['le']}",
    "string_too_short": lambda *_: "is empty; give it a value or leave the key out",
    "string_too_long": lambda context, _: f"must have at most {context['max_length']} characters",
    "too_short": lambda *_: "must have at least one entry",
    "too_long": lambda context, _: f"must have at most {context['max_length']} entries",
}
