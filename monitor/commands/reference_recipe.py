"""A recipe: the options of ``monitor reference`` that read one station's tables, in a file."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from monitor.config.document import Flaw, Value, read_document
from monitor.config.mistakes import Mistake, nearest_text, path_text
from monitor.errors import UsageError
from monitor.files.whole_file import whole_file

_NOT_KEPT: Final = {"command", "module", "what", "recipe", "save_recipe", "watch", "dry_run"}
_FILES: Final = {"config", "password_file", "ca", "cert", "cert_key"}


def recipe_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of recipes and of the folder that is watched by one."""
    group = parser.add_argument_group("a recipe, and a folder of tables")
    group.add_argument(
        "--recipe", metavar="FILE", help="take the options that are not given from this file (YAML)"
    )
    group.add_argument(
        "--save-recipe", metavar="FILE", help="write the options of this command to a recipe"
    )
    group.add_argument(
        "--watch",
        metavar="FOLDER",
        help="publish each new or grown table in a folder, until SIGTERM or SIGINT",
    )


def take_recipe(options: argparse.Namespace) -> None:
    """Take the options that are not given from the recipe; raises UsageError."""
    path = Path(options.recipe)
    try:
        document = read_document(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    flaws = [*document.flaws]
    values = document.values if isinstance(document.values, dict) else {}
    for key, value in values.items():
        flaws += (
            Flaw(document.place((key,), of_key=True), (key,), fault)
            for fault in _faults(options, key, value)
        )
    if flaws:
        mistakes = (
            Mistake(str(path), *each.place, path_text(each.path), each.what) for each in flaws
        )
        raise UsageError("the recipe cannot be used\n" + "\n".join(map(str, mistakes)))
    for key, value in values.items():
        if not getattr(options, key):
            text = value if isinstance(value, bool) else str(value)
            setattr(options, key, str(path.parent / str(text)) if key in _FILES else text)


def save_recipe(options: argparse.Namespace) -> None:
    """Write the options that are given to a recipe; raises UsageError."""
    path = Path(options.save_recipe)
    if path.exists() and options.save_recipe != options.recipe:
        raise UsageError(
            f"{path}: is there already; change it by --recipe {path} --save-recipe {path}"
        )
    lines = ["# monitor reference --recipe"]
    for key, value in _kept(options):
        if value:
            stated = os.path.relpath(str(value), path.parent) if key in _FILES else value
            lines.append(f"{key}: {json.dumps(stated, ensure_ascii=False)}")
    try:
        with whole_file(path) as part:
            part.write_text("\n".join([*lines, ""]), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _kept(options: argparse.Namespace) -> Iterator[tuple[str, str | bool | None]]:
    return ((key, value) for key, value in vars(options).items() if key not in _NOT_KEPT)


def _faults(options: argparse.Namespace, key: str, value: Value) -> Iterator[str]:
    """Yield what is wrong with a key of a recipe."""
    known = dict(_kept(options))
    if key not in known:
        yield f"is no option of a recipe; {nearest_text(key, known)}"
    elif isinstance(known[key], bool) != isinstance(value, bool):
        yield "must be true or false" if isinstance(known[key], bool) else "must be a text"
    elif not isinstance(value, bool | str | int | float):
        yield "must be a text"
