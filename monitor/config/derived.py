"""Sections made from the settings types of the core and the decoders.

Such a type is a NamedTuple that defines each setting once: name, default, range and meaning
(:func:`annotated_types.doc`). The section of the file, its schema and its row in docs/settings.md
are made from it, and the value in ``Settings`` is the NamedTuple itself, so there is nothing to
translate. A field without a meaning is not a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from annotated_types import DocInfo
from pydantic import Field, GetCoreSchemaHandler, Strict, create_model
from pydantic_core import CoreSchema, core_schema

from monitor.config.kinds import Section, refuse_contradictions
from monitor.core.setting import Contradiction


def _agree(_value: Any) -> Iterable[Contradiction]:  # noqa: ANN401 - any of the core's types
    return ()


@dataclass(frozen=True)
class Derived:
    """Marks a NamedTuple as a section: ``Annotated[FleetRules, Derived()]``."""

    contradictions: Callable[[Any], Iterable[Contradiction]] = _agree

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
    found = get_args(hint) if get_origin(hint) is Annotated else ()
    return next((each.documentation for each in found if isinstance(each, DocInfo)), None)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever settings are made of
    """Return a value as JSON has it."""
    if hasattr(value, "_fields"):
        source: Any = type(value)
        return {key: _plain(getattr(value, key)) for key in section_of(source).model_fields}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
