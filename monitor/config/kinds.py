"""The building blocks of all sections: a strict base model and the kinds of values.

Rules of this file: an error is a whole sentence that says what to write instead; it never repeats
the value, which may be a secret in the wrong place.
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
_NO_GLOB: Final = "is not a pattern of names; use A-Z a-z 0-9 _ . : - with * ? or [abc]"
_HOST: Final = re.compile(r"[A-Za-z0-9_.:%-]{1,253}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class Contradiction(NamedTuple):
    """Two settings that contradict each other; ``path`` is the one to change, from this model on.

    ``needs`` names the sections whose values were compared.
    """

    path: KeyPath
    what: str
    needs: tuple[str, ...] = ()


def refusal(what: str) -> PydanticCustomError:
    """Return the error that says ``what`` about the value being validated."""
    return PydanticCustomError("refused", "{what}", {"what": what})


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
        raise refusal(str(error)) from error
    return text


def _glob(pattern: str) -> str:
    if _GLOB.fullmatch(pattern) is None:
        raise refusal(_NO_GLOB)
    return pattern


def glob_contradictions(key: str, patterns: Iterable[str]) -> Iterable[Contradiction]:
    """Return which of ``patterns``, the list at ``key``, cannot be patterns of names."""
    for at, pattern in enumerate(patterns):
        if _GLOB.fullmatch(pattern) is None:
            yield Contradiction((key, at), _NO_GLOB)


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


Topic = Annotated[str, AfterValidator(_topic)]
Glob = Annotated[str, AfterValidator(_glob)]
Globs = Annotated[tuple[Glob, ...], Field(min_length=1, max_length=1000, strict=False)]
Host = Annotated[str, AfterValidator(_host)]
Name = Annotated[str, AfterValidator(_name)]
Variable = Annotated[str, AfterValidator(_variable)]
File = Annotated[str, Field(max_length=4096), AfterValidator(_file)]
Port = Annotated[int, Field(ge=1, le=65535)]


def setting(default: Any, description: str, **limits: Any) -> Any:  # noqa: ANN401 - as Field's
    """Return a field with its default and meaning."""
    return Field(default=default, description=description, **limits)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is a loopback address; of names, only ``localhost`` is."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
