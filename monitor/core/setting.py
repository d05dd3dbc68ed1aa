"""How a settings type describes its fields beyond name, type and default; a document its members.

A settings type of the core, the decoders or a sink is a NamedTuple whose fields carry their range
(``annotated_types``), their meaning (``annotated_types.doc``) and, where neither is enough, a
:class:`Check`. monitor.config makes the section of the settings file from that. A document is a
TypedDict whose members carry an :class:`About`; the description of the interface has its words.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple, Self

from annotated_types import MaxLen, MinLen

KeyPath = tuple[str | int, ...]
Number = float | None  # of a document: null where it is not defined

_GLOB: Final = re.compile(r"[^/+#\x00-\x1f\x7f-\x9f]{1,128}")
_EXPANDED: Final = re.compile(r"\$\{?[A-Za-z_]")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class Contradiction(NamedTuple):
    """Two settings that contradict each other; ``path`` is the one to change, below this type.

    ``needs`` names the sections whose values were compared.
    """

    path: KeyPath
    what: str
    needs: tuple[str, ...] = ()


def no_contradictions(*_values: object) -> tuple[Contradiction, ...]:
    """Return no contradictions: whatever the values are, they agree."""
    return ()


@dataclass(frozen=True)
class Check:
    """A rule for a value that a type and a range cannot express.

    ``accept`` returns the value, or raises ValueError that says what to write instead. With
    ``is_whole`` it checks the type too, for values that may be of several types.
    """

    accept: Callable[[Any], Any]
    is_whole: bool = False

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], Any]
    ) -> dict[str, Any]:
        """Return the check as pydantic needs it: plain values, because nothing here imports it."""
        function = {"type": "no-info", "function": self.accept}
        if self.is_whole:
            inner = handler(source)
            return {
                "type": "function-plain",
                "function": function,
                "json_schema_input_schema": inner,
            }
        return {"type": "function-after", "function": function, "schema": handler(source)}


@dataclass(frozen=True)
class About:
    """Words about a member of a document, and the only texts it may be, for those who read it."""

    words: str = ""
    names: Sequence[str | None] = ()

    def __get_pydantic_json_schema__(
        self, schema: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the description of the member as pydantic writes it; nothing here imports it."""
        own = {"description": self.words, "enum": [*self.names]}
        return handler(schema) | {key: value for key, value in own.items() if value}


def _glob(pattern: str) -> str:
    if _GLOB.fullmatch(pattern) is None:
        raise ValueError(
            "is not a pattern of names; use 1 to 128 characters, * ? or [abc], but no / + #"
        )
    return pattern


def _variable(name: str) -> str:
    if _VARIABLE.fullmatch(name) is None:
        raise ValueError("is not the name of an environment variable; use A-Z a-z 0-9 _")
    return name


def refuse_variables(text: str) -> None:
    """Raise ValueError for a text that contains a variable of the environment."""
    if _EXPANDED.search(text) is not None:
        raise ValueError(
            "holds a variable of the environment, which is not expanded here; write the value. A "
            "user name and a password may come from the environment: username_env, password_env"
        )


class FilePath(str):
    """The path of a file that settings name, and as it was ``written`` in their file."""

    __slots__ = ("written",)
    written: str

    def __new__(cls, path: str, written: str = "") -> Self:
        """Return a path; one that was not written anywhere is a default."""
        made = super().__new__(cls, path)
        made.written = written or path
        return made

    def in_folder(self, folder: str) -> FilePath:
        """Return the path as it starts from a folder, unless it is absolute or a URL."""
        if "://" in self.written:
            return self
        return FilePath(posixpath.join(folder, self.written), self.written)


def _file(path: str) -> FilePath:
    refuse_variables(path)
    if not path or not path.isprintable():
        raise ValueError("is not the path of a file")
    return FilePath(path)


Glob = Annotated[str, Check(_glob)]
Patterns = Annotated[tuple[Glob, ...], MinLen(1), MaxLen(1000)]
Variable = Annotated[str, Check(_variable)]
File = Annotated[str, MaxLen(4096), Check(_file)]
