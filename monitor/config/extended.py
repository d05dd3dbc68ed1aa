"""The settings' model with the keys of extensions: made for the extensions that a file asks for.

A key of an extension may stand at the top (``otlp``) or in a section of the house
(``alerts.due``, ``sources.certificate``). In a section that groups and overrides may set, they may
set the extension's key as well. The model is a subclass of :class:`Settings`; a file without such
keys is read by :class:`Settings` itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from functools import lru_cache
from typing import Annotated, Any, Final, Optional, Union, get_args, get_origin

from pydantic import create_model
from pydantic.fields import FieldInfo

from monitor import extensions
from monitor.config.kinds import Section, setting
from monitor.config.parts import Group, Overridable, Override
from monitor.config.settings import Settings

Fields = dict[str, tuple[Any, FieldInfo]]

_LAYERS: Final = ("groups", "overrides")


def model_of(values: object) -> type[Settings]:
    """Return the model for the plain values of a settings file."""
    keys = set(_keys(values))
    return settings_model(extensions.named_by_settings(keys, _known_keys()))


def every_model() -> type[Settings]:
    """Return the model with the keys of every extension."""
    return settings_model(tuple(sorted(each.name for each in extensions.all_extensions())))


@lru_cache(64)
def settings_model(names: tuple[str, ...]) -> type[Settings]:
    """Return the model with the keys of the named extensions."""
    if not names:
        return Settings
    by_section: dict[str, Fields] = {}
    for name in names:
        for path, reference in extensions.extension(name).settings.items():
            section, _, key = path.rpartition(".")
            by_section.setdefault(section, {})[key] = extensions.imported(reference)
    own = by_section.pop("", {})
    models = _section_models(by_section)
    for layer in (Group, Override):
        if layered := _with_models(layer, models):
            models[layer] = _subclass(layer, layered)
    model = _subclass(Settings, _with_models(Settings, models) | own)
    model.extension_names = names
    return model


def _section_models(by_section: Mapping[str, Fields]) -> dict[type[Section], type[Section]]:
    """Return the extended models of the house's sections, and of their parts in groups."""
    models: dict[type[Section], type[Section]] = {}
    for section, fields in by_section.items():
        (model,) = _sections_in(Settings.model_fields[section].annotation)
        named: list[Any] = list(fields.values())
        bases: tuple[type[Any], ...] = tuple(of for of in named if isinstance(of, type))
        added = {key: of for key, of in fields.items() if not isinstance(of, type)}
        models[model] = _subclass(model, added, bases or None)
        if section in Overridable.model_fields:
            (part,) = _sections_in(Overridable.model_fields[section].annotation)
            models[part] = _subclass(part, {key: _or_nothing(*of) for key, of in fields.items()})
    return models


def _or_nothing(kind: Any, field: FieldInfo) -> tuple[Any, FieldInfo]:  # noqa: ANN401 - a type
    return Optional[kind], setting(None, str(field.description))  # noqa: UP045 - made here


def _with_models(model: type[Section], models: Mapping[Any, type[Section]]) -> Fields:
    """Return the fields of ``model`` that hold one of ``models``, with that in its place."""
    fields: Fields = {}
    for key, field in model.model_fields.items():
        if any(each in models for each in _sections_in(field.annotation)):
            renewed = copy(field)
            renewed.default = _renewed(field.default, models)
            fields[key] = (_replaced(field.annotation, models), renewed)
    return fields


def _renewed(value: Any, models: Mapping[Any, type[Section]]) -> Any:  # noqa: ANN401 - a default
    """Return a field's default made of ``models``."""
    if isinstance(value, tuple):
        return tuple(_renewed(each, models) for each in value)
    if type(value) not in models:
        return value
    return models[type(value)](**{key: getattr(value, key) for key in value.model_fields_set})


def _subclass(
    model: type[Any], fields: Fields, bases: tuple[type[Any], ...] | None = None
) -> type[Any]:
    made: Any = fields
    return create_model(model.__name__, __base__=bases or model, __doc__=model.__doc__, **made)


def field_of(reference: str, key: str) -> FieldInfo:
    """Return the field of a key that an extension names."""
    named: Any = extensions.imported(reference)
    of_section = getattr(named, "model_fields", None)
    field: FieldInfo = named[1] if of_section is None else of_section[key]
    return field


def _sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for each in get_args(annotation):
        yield from _sections_in(each)


def _replaced(annotation: Any, models: Mapping[Any, type[Section]]) -> Any:  # noqa: ANN401 - types
    parts = get_args(annotation)
    if not parts:
        return models.get(annotation, annotation)
    inner = tuple(_replaced(each, models) for each in parts)
    if get_origin(annotation) is Annotated:
        return Annotated[inner]
    of: Any = tuple if get_origin(annotation) is tuple else Union
    return of[inner]


def _keys(values: object) -> Iterator[str]:
    """Yield the keys of plain values, as extensions name theirs."""
    if not isinstance(values, dict):
        return
    for key, value in values.items():
        yield str(key)
        below = value if isinstance(value, list) else [value]
        for each in below:
            if isinstance(each, dict):
                yield from (f"{key}.{inner}" for inner in each)
                if key in _LAYERS:
                    yield from (inner for inner in _keys(each) if "." in inner)


@lru_cache(1)
def _known_keys() -> frozenset[str]:
    """Return the keys of the house, to the depth at which extensions may have theirs."""
    keys = set(Settings.model_fields)
    for key, field in Settings.model_fields.items():
        for model in _sections_in(field.annotation):
            keys |= {f"{key}.{inner}" for inner in model.model_fields}
    return frozenset(keys)
