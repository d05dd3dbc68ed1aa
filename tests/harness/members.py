"""What an extension adds to the JSON of a series, held against what it says that it adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from monitor.extensions import extension


def assert_described(name: str, document: Mapping[str, Any]) -> None:
    """Check that the members of an extension in an entry are of their types, without others."""
    members = extension(name).part("members")
    own = {key: document[key] for key in members.__annotations__}
    assert any(value not in (None, "", []) for value in own.values())
    assert TypeAdapter(members).validate_python(own, strict=True) == own
