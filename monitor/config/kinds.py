"""The building blocks of all sections: a strict base model and the kinds of values.

Rules of this file: an error is a whole sentence that says what to write instead; it never repeats
the value, which may be a secret in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from monitor.core.setting import Contradiction, Glob
from monitor.mqtt.topic_templates import Template, TemplateError, valid_name

_HOST: Final = re.compile(r"[A-Za-z0-9_.:%-]{1,253}")


def refuse_contradictions(contradictions: Iterable[Contradiction]) -> None:
    """Raise pydantic's error if there are any."""
    if found := list(contradictions):
        what = "; ".join(each.what for each in found)
        raise PydanticCustomError("contradiction", "{what}", {"what": what, "found": found})


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
    if _HOST.fullmatch(host) is None:
        raise ValueError(
            "is not a host; write a name or an address alone, without mqtt://, @ or port"
        )
    return host


def _name(name: str) -> str:
    if not valid_name(name):
        raise ValueError("is not a name; use 1 to 128 of A-Z a-z 0-9 _ . : -")
    return name


Topic = Annotated[str, AfterValidator(_topic)]
Globs = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=1000, strict=False)]
Host = Annotated[str, AfterValidator(_host)]
Name = Annotated[str, AfterValidator(_name)]
Port = Annotated[int, Field(ge=1, le=65535)]


def setting(default: Any, description: str, **limits: Any) -> Any:  # noqa: ANN401 - as Field's
    """Return a field with its default and meaning."""
    return Field(default=default, description=description, **limits)
