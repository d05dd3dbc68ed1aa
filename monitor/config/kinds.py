"""What every part of the settings is made of: strict models and the kinds of values they hold.

Rules of this file: a refusal is a whole sentence that says what to write instead; a value that is
refused is not repeated in it, for it may be a secret in the wrong place.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from monitor.config.mistakes import KeyPath
from monitor.mqtt.topic_templates import Template, TemplateError, valid_name

_GLOB: Final = re.compile(r"[A-Za-z0-9_.:*?\[\]!-]{1,128}")
_HOST: Final = re.compile(r"[A-Za-z0-9_.:%-]{1,253}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class Contradiction(NamedTuple):
    """Two settings that do not go together; ``path`` (from the model that says so) is to change.

    ``needs`` names the sections whose values were compared.
    """

    path: KeyPath
    what: str
    needs: tuple[str, ...] = ()


def refusal(what: str) -> PydanticCustomError:
    """Return the error that says ``what`` about the value at hand."""
    return PydanticCustomError("refused", "{what}", {"what": what})


class Section(BaseModel):
    """A part of the settings; unknown keys, wrong types and numbers not finite are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        defer_build=True,  # most parts are used within the whole alone
    )

    def contradictions(self) -> Iterable[Contradiction]:
        """Return what in this part does not go together."""
        return ()

    @model_validator(mode="after")
    def _agrees(self) -> Section:
        found = list(self.contradictions())
        if found:
            what = "; ".join(each.what for each in found)
            raise PydanticCustomError("contradiction", "{what}", {"what": what, "found": found})
        return self


def _topic(text: str) -> str:
    try:
        Template.parse(text)
    except TemplateError as error:
        raise refusal(str(error)) from error
    return text


def _glob(pattern: str) -> str:
    if _GLOB.fullmatch(pattern) is None:
        raise refusal("is not a pattern of names; use A-Z a-z 0-9 _ . : - with * ? or [abc]")
    return pattern


def _host(host: str) -> str:
    if _HOST.fullmatch(host) is None:
        raise refusal("is not a host; write a name or an address alone, without mqtt://, @ or port")
    return host


def _name(name: str) -> str:
    if not valid_name(name):
        raise refusal("is not a name; use 1 to 128 of A-Z a-z 0-9 _ . : -")
    return name


def _variable(name: str) -> str:
    if _VARIABLE.fullmatch(name) is None:
        raise refusal("is not the name of an environment variable; use A-Z a-z 0-9 _")
    return name


def _file(path: str) -> str:
    if not path or not path.isprintable():
        raise refusal("is not the path of a file")
    return path


def _unit(unit: str) -> str:
    if not unit.isprintable():
        raise refusal("is not a unit; use printable characters, such as kg")
    return unit


Topic = Annotated[str, AfterValidator(_topic)]
Glob = Annotated[str, AfterValidator(_glob)]
Globs = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=1000, strict=False)]
Host = Annotated[str, AfterValidator(_host)]
Name = Annotated[str, AfterValidator(_name)]
Variable = Annotated[str, AfterValidator(_variable)]
File = Annotated[str, Field(max_length=4096), AfterValidator(_file)]
Unit = Annotated[str, Field(max_length=32), AfterValidator(_unit)]
Port = Annotated[int, Field(ge=1, le=65535)]


def setting(default: Any, description: str, **limits: Any) -> Any:  # noqa: ANN401 - as Field's
    """Return a field with its default and what it means."""
    return Field(default=default, description=description, **limits)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine alone; of a name only ``localhost`` is known to be."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
