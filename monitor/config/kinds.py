"""The building blocks of all sections: a strict base model, the kinds of values, derived sections.

Rules of this file: an error is a whole sentence that says what to write instead; it never repeats
the value, which may be a secret in the wrong place.

A section can be made from a settings type of the core or the decoders: a NamedTuple that defines
each setting once, with name, default, range and meaning (:func:`annotated_types.doc`). The section
of the file, its schema and its row in docs/settings.md are made from it, and the value in
``Settings`` is the NamedTuple itself, so there is nothing to translate. A field without a meaning
is not a setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from annotated_types import DocInfo
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Strict,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from monitor.core.setting import Contradiction, FilePath, Glob, no_contradictions, refuse_variables
from monitor.decode.checks import is_word
from monitor.mqtt.topic_templates import NAME_RULE, Template, TemplateError, valid_name

# -- kinds of values ------------------------------------------------------------------------------

_HOST: Final = re.compile(r"[A-Za-z0-9_.:%-]{1,253}")


def refuse_contradictions(contradictions: Iterable[Contradiction]) -> None:
    """Raise pydantic's error if there are any contradictions."""
    if listed := list(contradictions):
        reason = "; ".join(each.what for each in listed)
        raise PydanticCustomError("contradiction", "{what}", {"what": reason, "found": listed})


def named_once(section: str, names: Iterable[str]) -> Iterator[Contradiction]:
    """Check that each entry of a section has a name of its own."""
    places: dict[str, int] = {}
    for at, name in enumerate(names):
        first = places.setdefault(name, at)
        if first != at:
            reason = f"is the name of {section}[{first}] too; give each its own"
            yield Contradiction((section, at, "name"), reason, (section,))


class Section(BaseModel):
    """A section of the settings; refuses unknown keys, wrong types and non-finite numbers."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # most sections are only used within Settings
    )

    def contradictions(self) -> Iterable[Contradiction]:
        """Return the contradictions within this section."""
        return ()

    @model_validator(mode="after")
    def _agrees(self) -> Section:
        refuse_contradictions(self.contradictions())
        return self


def _topic(text: str) -> str:
    try:
        Template.parse(text)
    except TemplateError as error:
        raise ValueError(str(error)) from error
    return text


def _host(host: str) -> str:
    refuse_variables(host)
    if _HOST.fullmatch(host) is None or host.count(":") == 1:  # an IPv6 address has more
        raise ValueError(
            "is not a host; write a name or an address alone, without mqtt://, @ or port"
        )
    return host


def _name(name: str) -> str:
    if not valid_name(name):
        raise ValueError(f"is not a name; {NAME_RULE}")
    return name


def _word(name: str) -> str:
    if not is_word(name):
        raise ValueError("is not a name; use 1 to 128 of A-Z a-z 0-9 _ . : -")
    return name


Topic = Annotated[str, AfterValidator(_topic)]
Globs = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=1000, strict=False)]
Host = Annotated[str, AfterValidator(_host)]
Name = Annotated[str, AfterValidator(_name)]
Word = Annotated[str, AfterValidator(_word)]
Port = Annotated[int, Field(ge=1, le=65535)]


def setting(default: Any, description: str, **limits: Any) -> Any:  # noqa: ANN401 - as Field's
    """Return a field with its default and meaning."""
    return Field(default=default, description=description, **limits)


def with_files(value: Any, change: Callable[[FilePath], str]) -> Any:  # noqa: ANN401 - any setting
    """Return settings, or a part of them, whose paths of files are changed."""
    if isinstance(value, FilePath):
        return change(value)
    if isinstance(value, Section):
        changed = {key: with_files(each, change) for key, each in value}
        return type(value).model_construct(value.model_fields_set, **changed)
    if isinstance(value, tuple):
        parts = [with_files(each, change) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


# -- sections made from other types ---------------------------------------------------------------


@dataclass(frozen=True)
class Derived:
    """Marks a NamedTuple as a section: ``Annotated[FleetRules, Derived()]``."""

    contradictions: Callable[[Any], Iterable[Contradiction]] = no_contradictions

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - a NamedTuple
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Return the schema of the section, whose value becomes a ``source``."""

        def read(given: Any, validate: Callable[[Any], Section]) -> Any:  # noqa: ANN401
            value = given if isinstance(given, source) else source(**dict(validate(given)))
            refuse_contradictions(self.contradictions(value))
            return value

        return core_schema.no_info_wrap_validator_function(
            read,
            handler.generate_schema(section_of(source)),
            serialization=core_schema.plain_serializer_function_ser_schema(_plain),
        )


@lru_cache
def section_of(source: Any) -> type[Section]:  # noqa: ANN401 - a NamedTuple
    """Return the section whose keys are the settings among the fields of ``source``."""
    hints = get_type_hints(source, include_extras=True)
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        meaning = _meaning(hint)
        if meaning is not None:
            default = source._field_defaults.get(name, ...)
            default = dict(default) if isinstance(default, Mapping) else default
            fields[name] = (_marked(hint), Field(default, description=meaning))
    return create_model(source.__name__, __base__=Section, __doc__=source.__doc__, **fields)


def _marked(hint: Any) -> Any:  # noqa: ANN401 - a type, of whatever kind
    """Return a type as a section takes it: tuples from lists, NamedTuples from sections."""
    parts = get_args(hint)
    if get_origin(hint) is Annotated:
        return Annotated[(_marked(parts[0]), *parts[1:])]
    if get_origin(hint) is Mapping:
        return Mapping[tuple(map(_marked, parts))]  # type: ignore[misc]
    if get_origin(hint) is tuple:
        return Annotated[tuple[tuple(map(_marked, parts))], Strict(strict=False)]  # type: ignore[misc]
    return Annotated[hint, Derived()] if hasattr(hint, "_field_defaults") else hint


def _meaning(hint: object) -> str | None:
    metadata = get_args(hint) if get_origin(hint) is Annotated else ()
    return next((each.documentation for each in metadata if isinstance(each, DocInfo)), None)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever settings are made of
    """Return a value in the form that JSON has for it."""
    if hasattr(value, "_fields"):
        source: Any = type(value)
        return {key: _plain(getattr(value, key)) for key in section_of(source).model_fields}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
