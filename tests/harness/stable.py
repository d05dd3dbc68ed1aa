"""Names that users build on, one line each, and the lists of them that releases keep.

``python tests/harness/stable.py`` adds to the lists what is new; it takes nothing away. A line
holds a name with its meaning for a program: a type, a unit, labels. A name that goes, or changes
what its line holds, leaves a line in the list that nothing in the code stands for any more.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(PROJECT), str(PROJECT / "tests")]

from pydantic import TypeAdapter  # noqa: E402 - it may be run as a program

import monitor  # noqa: E402
from monitor import errors  # noqa: E402
from monitor.alerts.transition import TransitionDocument  # noqa: E402
from monitor.alerts.webhook import VERSION as WEBHOOK_VERSION  # noqa: E402
from monitor.cli import all_commands, main  # noqa: E402
from monitor.config.settings_docs import schema_json  # noqa: E402
from monitor.core.model import BESIDE, PAIR  # noqa: E402
from monitor.extensions import all_extensions  # noqa: E402
from monitor.http.application import application  # noqa: E402
from monitor.http.metrics_docs import metrics_page  # noqa: E402
from monitor.http.published import Published  # noqa: E402
from monitor.journal.schema import SCHEMA, SCHEMA_VERSION  # noqa: E402

STABLE: Final = PROJECT / "tests" / "small" / "stable"
_PAIRS: Final = str(PROJECT / "tests" / "small" / "pairs_interval.csv")
_HELD: Final = {"type", "labels", "unit"}
_CELL: Final = re.compile(r"`([^`]+)`( \*essential\*)?")
_FORM: Final = re.compile(r"form (\d+) ")
_VALUES: Final = {None: " VALUE", 0: "", "?": " [VALUE]", "*": " [VALUE...]", "+": " VALUE..."}

_Schema = Mapping[str, Any]


def complaints(list_name: str, kept: Iterable[str], present: Iterable[str]) -> list[str]:
    """Return what is wrong with a list, and what to do: names that went, and names not listed.

    Lines of a journal's earlier form only tell what it was: no daemon writes it again.
    """
    kept, present = set(kept), set(present)
    gone = sorted(line for line in kept - present if not _is_of_an_earlier_form(line))
    unlisted = sorted(present - kept)
    file = f"tests/small/stable/{list_name}.txt"
    said = []
    if gone:
        said.append(
            f"{file} promises what is no longer so:\n  " + "\n  ".join(gone) + "\nUsers build on "
            "it: keep the old name working beside the new one, or the old meaning under the old "
            "name (docs/stability.md). A line goes only by hand: before 1.0; where more is allowed "
            "than before; or in a release with a new first number, after it was deprecated."
        )
    if unlisted:
        said.append(
            f"{file} does not have:\n  " + "\n  ".join(unlisted) + "\nFrom its release on this "
            "stays. If the names are right, `make generated` adds them to the list."
        )
    return said


def _is_of_an_earlier_form(line: str) -> bool:
    form = _FORM.match(line)
    return form is not None and int(form[1]) < SCHEMA_VERSION


def kept_lines(list_name: str) -> list[str]:
    """Return a list as it is kept, empty if there is none yet."""
    path = STABLE / f"{list_name}.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def present_lines(list_name: str) -> list[str]:
    """Return what stands in the code now, in the lines of a list."""
    return sorted(set(LISTS[list_name]()))


# -- metrics --------------------------------------------------------------------------------------


def _metrics() -> Iterator[str]:
    """Yield the rows of docs/metrics.md without their words."""
    heads: list[str] = []
    before = ""
    for line in metrics_page().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = _CELL.fullmatch(cells[0])
        if line.startswith("|") and not before.startswith("|"):
            heads = cells
        elif line.startswith("|") and name:
            held = zip(heads[1:], cells[1:], strict=False)
            more = [f"{head} {cell}" for head, cell in held if cell and head in _HELD]
            yield "; ".join([f"{heads[0]} {name[1]}", *more, *(["essential"] if name[2] else [])])
        before = line


# -- settings and documents, by their schemas -----------------------------------------------------


def _settings() -> Iterator[str]:
    """Yield keys with a line for each type and each value: whoever takes one away breaks files."""
    schema = json.loads(schema_json())
    for path, field, _ in _fields("", schema, schema["$defs"]):
        for option in _options(field, schema["$defs"]):
            yield f"{path}: {_type(option)}"
            yield from (f"{path} = {value}" for value in option.get("enum", ()))


def _interface() -> Iterator[str]:
    """Yield routes, their queries, and the members of their answers."""
    described = application(Published(), 1, extensions=all_extensions()).openapi()
    schemas = described["components"]["schemas"]
    for route, method in described["paths"].items():
        yield f"GET {route} ({method['get']['operationId']})"
        for query in method["get"].get("parameters", ()):
            types = "".join(f" {_type(each)}" for each in _options(query["schema"], schemas))
            yield f"GET {route} takes {query['name']}:{types}"
        answer = method["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        yield from _members(f"GET {route} ", answer, schemas)


def _members(prefix: str, schema: _Schema, schemas: _Schema) -> Iterator[str]:
    for path, field, is_required in _fields("", schema, schemas):
        options = _options(field, schemas)
        types = " or ".join(sorted(map(_type, options)))
        yield f"{prefix}{path}{'' if is_required else '?'}: {types}"
        for option in options:
            yield from (f"{prefix}{path} = {value}" for value in option.get("enum", ()))


def _fields(path: str, schema: _Schema, schemas: _Schema) -> Iterator[tuple[str, _Schema, bool]]:
    """Yield all members below a schema: path, schema, and whether it is always there."""
    for option in _options(schema, schemas):
        below = [
            (f"{path}.{key}" if path else key, field, key in option.get("required", ()))
            for key, field in option.get("properties", {}).items()
        ]
        for of, mark in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(option.get(of), dict):
                below.append((path + mark, option[of], True))
        for place, field, is_required in below:
            yield place, field, is_required
            yield from _fields(place, field, schemas)


def _options(schema: _Schema, schemas: _Schema) -> list[_Schema]:
    """Return what a value may be: alternatives, and what references lead to."""
    if "$ref" in schema:
        return _options(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "anyOf" in schema:
        return [option for each in schema["anyOf"] for option in _options(each, schemas)]
    return [schema]


def _type(option: _Schema) -> str:
    return str(option.get("type", "any"))


# -- documents of files and of alerts -------------------------------------------------------------


def _documents() -> Iterator[str]:
    """Yield members of what is printed of files, and posted of alerts."""
    for words in (("score", "--bca"), ("compare", "--sensors", "cart-10", "cart-11")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            code = main([words[0], _PAIRS, *words[1:], "--json"])
        assert code == 0
        document = json.loads(printed.getvalue())
        yield f"{words[0]} --json version {document['version']}"
        yield from (f"{words[0]} --json {path}" for path in _paths("", document))
    schema = TypeAdapter(TransitionDocument).json_schema()
    yield f"webhook version {WEBHOOK_VERSION}"
    yield from _members("alert ", schema, schema.get("$defs", {}))


def _paths(path: str, value: object) -> Iterator[str]:
    """Yield the paths in a document; which statistics have an interval depends on the data."""
    if isinstance(value, list):
        for each in value:
            yield from _paths(f"{path}[]", each)
    elif isinstance(value, dict):
        for key, below in value.items():
            name = "*" if path.endswith(("intervals", "judged")) else key
            place = f"{path}.{name}" if path else name
            yield place
            yield from _paths(place, below)


# -- commands, exit codes, Python -----------------------------------------------------------------


def _commands() -> Iterator[str]:
    for name, command in all_commands().items():
        parser = argparse.ArgumentParser()
        import_module(command.module).arguments(parser)
        yield from _arguments(f"monitor {name}", parser)


def _arguments(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    needed = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _arguments(f"{command} {name}", below)
            continue
        value = _VALUES.get(action.nargs, f" {action.nargs} VALUES")
        called = action.option_strings or [str(action.metavar or action.dest)]
        needed += called[:1] if action.required else []
        for name in called:
            yield f"{command} {name}{value}"
            yield from (f"{command} {name} = {choice}" for choice in action.choices or ())
    yield " ".join([command, "needs", *(needed or ["nothing"])])


def _exit_codes() -> Iterator[str]:
    for name, value in vars(errors).items():
        if name.isupper() and isinstance(value, int):
            yield f"{value} {name}"


def _python() -> Iterator[str]:
    for name in monitor.__all__:
        of = getattr(monitor, name)
        yield f"monitor.{name}: {'class' if inspect.isclass(of) else type(of).__name__}"
        yield from (f"monitor.{name}.{field}" for field in getattr(of, "_fields", ()))
        yield from _called(f"monitor.{name}", of)
        for member, value in vars(of).items() if inspect.isclass(of) else ():
            if not member.startswith("_") and member not in getattr(of, "_fields", ()):
                yield f"monitor.{name}.{member}: {type(value).__name__}"
                yield from _called(f"monitor.{name}.{member}", value)


def _called(name: str, of: object) -> Iterator[str]:
    """Yield what a function or a constructor takes and returns."""
    if not inspect.isfunction(of) and not (inspect.isclass(of) and "__init__" in vars(of)):
        return
    signature = inspect.signature(of)
    for each in signature.parameters.values():
        if each.name != "self":
            yield f"{name}({each.kind.description} {each})"
    if signature.return_annotation is not signature.empty:
        yield f"{name}() -> {signature.return_annotation}"


# -- the journal ----------------------------------------------------------------------------------


def _journal() -> Iterator[str]:
    for statement in SCHEMA.split(";"):
        yield f"form {SCHEMA_VERSION} {' '.join(statement.split())}"
    for name, row in (("pair", PAIR), ("covariate", BESIDE)):
        for field, (kind, *_) in (row.fields or {}).items():
            yield f"form {SCHEMA_VERSION} row of a {name}: {field} {kind.str}"


LISTS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "commands": _commands,
    "documents": _documents,
    "exit_codes": _exit_codes,
    "interface": _interface,
    "journal": _journal,
    "metrics": _metrics,
    "python": _python,
    "settings": _settings,
}


def add() -> None:
    """Add to the lists what is new."""
    STABLE.mkdir(exist_ok=True)
    for name in LISTS:
        lines = sorted({*kept_lines(name), *present_lines(name)})
        (STABLE / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    add()
