"""The inputs that are kept: one file a decoder in tests/small/fuzz, one JSON object a line.

``target`` is a name of ``TARGETS``; ``text`` or ``hex`` is the input, or ``parts``: texts (or
``{"hex": ...}``) with how often each is repeated; ``gives`` are the words that come out of it,
``why`` says what it once broke, or what it stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).parents[1] / "small" / "fuzz"


class Kept(NamedTuple):
    """One input of the corpus."""

    target: str
    raw: bytes
    gives: frozenset[str]
    why: str


def corpus() -> Iterator[Kept]:
    """Yield every input that is kept."""
    for file in sorted(FOLDER.glob("*.jsonl")):
        yield from kept_in(file)


def kept_in(file: Path) -> Iterator[Kept]:
    """Yield the inputs of one file."""
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line:
            yield _kept(json.loads(line))


def _kept(line: dict[str, Any]) -> Kept:
    parts = line.get("parts") or [[line if "hex" in line else line["text"], 1]]
    raw = b"".join(_bytes(part) * times for part, times in parts)
    return Kept(line["target"], raw, frozenset(line["gives"]), line["why"])


def _bytes(part: str | dict[str, str]) -> bytes:
    return part.encode() if isinstance(part, str) else bytes.fromhex(part["hex"])


def line_of(target: str, raw: bytes, why: str) -> str:
    """Return the line that would keep ``raw``; what it gives is to be written when it is mended."""
    try:
        text = raw.decode()
        body = {"text": text} if text.isprintable() else {"hex": raw.hex()}
    except UnicodeDecodeError:
        body = {"hex": raw.hex()}
    return json.dumps({"target": target, **body, "gives": [], "why": why}, ensure_ascii=False)
