"""Groups and overrides: settings of their own for some series.

The keys they may set are made from the sections themselves (:func:`some_of`): the same keys with
the same limits, all optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Optional

from pydantic import Field, GetJsonSchemaHandler, ValidationInfo, create_model, field_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from monitor.config.kinds import Globs, Name, Section, setting
from monitor.config.sections import Alerts, Pairing, Scoring, Series, Windows
from monitor.core.setting import Contradiction, Glob


class Part(Section):
    """A section of a group or an override; keys that are left out inherit their value.

    Null is refused, but for the keys in ``nullable``, where it has a meaning of its own.
    """

    nullable: ClassVar[frozenset[str]] = frozenset()

    @field_validator("*", mode="before")
    @classmethod
    def _null_says_nothing(cls, value: object, field: ValidationInfo) -> object:
        if value is None and field.field_name not in cls.nullable:
            raise ValueError("is empty; give it a value or leave the key out")
        return value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return a schema that, like the validator, accepts no null for a key left out."""
        schema = handler(core_schema)
        for key, field in handler.resolve_ref_schema(schema)["properties"].items():
            if "anyOf" in field and key not in cls.nullable:
                field.update(field.pop("anyOf")[0])
            if "default" in field and field["default"] is None:
                del field["default"]
        return schema


def some_of(section: type[Section], *keys: str) -> Callable[[type[Part]], type[Part]]:
    """Give a part these ``keys`` of ``section``, all optional."""
    fields = {key: section.model_fields[key] for key in keys}

    def made(part: type[Part]) -> type[Part]:
        of_part: Any = {
            key: (_or_nothing(field), setting(None, str(field.description)))
            for key, field in fields.items()
        }
        model = create_model(part.__name__, __base__=Part, __doc__=part.__doc__, **of_part)
        model.nullable = frozenset(key for key, field in fields.items() if field.default is None)
        return model

    return made


def _or_nothing(field: FieldInfo) -> Any:  # noqa: ANN401 - a type
    limited = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return Optional[limited]  # noqa: UP045 - of a type made here


@some_of(
    Pairing,
    *("mode", "candidates", "tolerance_seconds", "lag_seconds", "reading_seconds"),
    *("completeness", "correlation", "uncertainty"),
)
class PairingPart(Part):
    """Settings of `pairing` for some series."""


@some_of(Windows, "pairs", "days")
class WindowsPart(Part):
    """Settings of `windows` for some series."""


@some_of(Scoring, "density", "level", "u_systematic", "profile")
class ScoringPart(Part):
    """Settings of `scoring` for some series."""


@some_of(Alerts, "patience", "reference_stale_hours", "tolerance", "rejected_share", "severity")
class AlertsPart(Part):
    """Settings of `alerts` for some series."""


@some_of(Series, "stale_after_seconds")
class SeriesPart(Part):
    """Settings of `series` for some series."""


class Overridable(Part):
    """The sections that groups and overrides may set."""

    pairing: PairingPart | None = setting(None, "How references are paired with readings.")
    windows: WindowsPart | None = setting(
        None, "The window of pairs from which statistics are computed."
    )
    scoring: ScoringPart | None = setting(None, "How stated uncertainties are interpreted.")
    alerts: AlertsPart | None = setting(None, "When alerts are raised.")
    series: SeriesPart | None = setting(None, "When a series is stale.")


class Group(Overridable):
    """Sensors that belong together; a series is in the first group that matches it."""

    name: Name = Field(description="Name of the group, shown beside each of its series.")
    sensors: Globs = Field(description="Patterns of its sensors, with * ? and [abc] as in a shell.")
    quantities: Globs = setting(("*",), "Patterns of its quantities.")


class Override(Overridable):
    """Other settings for some series; of several that match, later ones win."""

    sensor: Glob = setting("*", "Pattern of the sensors.")
    quantity: Glob = setting("*", "Pattern of the quantities.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that the override sets something."""
        if not self.model_fields_set & set(Overridable.model_fields):
            yield Contradiction((), f"changes nothing; add {', '.join(Overridable.model_fields)}")
