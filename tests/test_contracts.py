"""What holds for all of the code: style, types, and who may import whom."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement

import monitor

PROJECT = Path(__file__).parents[1]
CHECKS = {
    "style": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "types": [sys.executable, "-m", "mypy", "--num-workers", "2"],
    "imports": [
        sys.executable,
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())",
    ],
}

# mypy gives a worker three seconds to start, however busy the machine; without workers it waits.
NO_WORKER = "Failed to establish connection with worker"


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_keeps_its_contracts(check):
    command = CHECKS[check]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=PROJECT)
    if NO_WORKER in done.stdout:
        command = command[: command.index("--num-workers")]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=PROJECT)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_of_the_package_is_documented():
    empty = [
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "monitor").rglob("*.py")
        if not path.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]

    assert empty == []


# -- private names of others ----------------------------------------------------------------------

# What a NamedTuple offers to everybody, with an underscore only to stay clear of its fields.
OF_NAMED_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}
NEED_AN_EXTRA = {"confluent_kafka", "pandas", "pyarrow", "pyspark"}
BY_NAME = ("getattr", "setattr", "hasattr", "delattr")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in OF_NAMED_TUPLES


def private_names_used(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (the object in the source's words, the private name) of each use of an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield ast.unparse(node.value), node.attr
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in BY_NAME
        ):
            name = node.args[1]
            if isinstance(name, ast.Constant) and is_private(str(name.value)):
                yield ast.unparse(node.args[0]), str(name.value)
        if isinstance(node, ast.ImportFrom) and not str(node.module).startswith("monitor"):
            private = [*filter(is_private, str(node.module).split("."))]
            private += [each.name for each in node.names if is_private(each.name)]
            yield from ((str(node.module), name) for name in private)


def own_names(tree: ast.AST) -> set[str]:
    """Return the private names that a module itself gives to attributes, methods and functions."""
    found = {name for on, name in private_names_used(tree) if on in ("self", "cls")}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found


@pytest.fixture(scope="module")
def sources() -> dict[Path, ast.Module]:
    """Return the syntax tree of every module by its path; to read them takes seconds."""
    return {
        path.relative_to(PROJECT): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((PROJECT / "monitor").rglob("*.py"))
    }


def strange_names(tree: ast.AST) -> list[str]:
    """Return uses of private names of objects that are not of their own module."""
    ours = own_names(tree)
    return [
        f"{on}.{name}"
        for on, name in private_names_used(tree)
        if on not in ("self", "cls", "super()") and name not in ours
    ]


def test_no_module_uses_a_private_name_that_is_not_its_own(sources):
    """A class may use those of a base class that is ours too: see the next test."""
    found = {str(path): strange_names(tree) for path, tree in sources.items()}

    assert {path: names for path, names in found.items() if names} == {}


# Names that tell nothing of what is in them.
EMPTY_NAMES = {"found", "told", "said", "kept", "seen", "those", "what", "which", "ways"}


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that functions bind, arguments too, without those of comprehensions."""
    in_comprehensions = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
    }
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield from () if node in in_comprehensions else (node.id,)
                elif isinstance(node, ast.arg):
                    yield node.arg
                elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.ExceptHandler):
                    yield from (node.name,) if node.name else ()


def test_arguments_and_locals_are_named_by_their_content(sources):
    empty = {
        str(path): EMPTY_NAMES.intersection(bound_names(tree)) for path, tree in sources.items()
    }

    assert {path: names for path, names in empty.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f(found): pass",
        "lambda *seen: seen",
        "async def f():\n    for told in (): pass",
        "def f():\n    if (kept := 1): pass",
        "def f(x):\n    match x:\n        case [*said]: pass",
        "def f():\n    try: g()\n    except OSError as what: pass",
    ],
)
def test_a_name_that_tells_nothing_is_noticed(text):
    assert not EMPTY_NAMES.isdisjoint(bound_names(ast.parse(text)))


def test_a_comprehension_may_use_a_short_name():
    assert EMPTY_NAMES.isdisjoint(bound_names(ast.parse("def f(x): return [told for told in x]")))


@pytest.mark.parametrize(
    "text",
    [
        "self._client._sock_close()",
        "getattr(client, '_sock_close')",
        "from paho.mqtt import _packet",
        "from uvicorn._types import Scope",
    ],
)
def test_a_private_name_of_another_is_found(text):
    assert strange_names(ast.parse(text))


def modules() -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(monitor.__path__, "monitor."):
        if each.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(each.name)
        except ImportError as error:
            if str(error.name).split(".")[0] not in NEED_AN_EXTRA:
                raise


def private_names_of_bases(made: type) -> set[str]:
    """Return the private names that a class has from bases that are not ours."""
    bases = [base for base in made.__mro__ if not base.__module__.startswith("monitor")]
    return {name for base in bases if base is not object for name in vars(base) if is_private(name)}


def class_of(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(
        each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == name
    )


def test_no_class_uses_or_replaces_a_private_name_of_a_librarys_class(sources):
    strange, looked_at = [], 0
    for module in modules():
        for made in vars(module).values():
            if not inspect.isclass(made) or made.__module__ != module.__name__:
                continue
            theirs = private_names_of_bases(made)
            if not theirs:
                continue
            looked_at += 1
            tree = class_of(sources[Path(str(module.__file__)).relative_to(PROJECT)], made.__name__)
            used = own_names(tree) | {name for _, name in private_names_used(tree)}
            strange += [f"{made.__qualname__}.{name}" for name in sorted(used & theirs)]
    assert strange == []
    assert looked_at > 2


# -- one name for one thing -----------------------------------------------------------------------

# What every module of a kind has: commands, the parsers of formats, and papers.
OF_A_KIND = {
    "arguments": "commands",
    "run": "commands",
    "parse": "decode/formats",
    "reproduce": "extensions/papers",
}
# What many extensions have: the parts that an ``Extension`` names.
OF_EXTENSIONS = {"arguments", "contradictions", "families", "has_pages", "remarks", "run"} | {
    "supplement"
}
# What a reader of the settings, of the interface's JSON or of an explanation sees is named as what
# it stands for in the code.
STANDS_FOR_ANOTHER = {
    Path("monitor", *where)
    for where in (
        ("config", "sections.py"),
        ("config", "sources.py"),
        ("core", "verdict", "verdict_document.py"),
        ("extensions", "cluster", "settings.py"),
        ("explain", "explanation.py"),
        ("http", "models.py"),
    )
}
# `self_check` compares in the core and is run by the daemon.
MODULES_OF_TWO_ROOMS = {"self_check"}


def public_names(sources: dict[Path, ast.Module]) -> Iterator[tuple[str, Path]]:
    """Yield the public functions and classes at the top of modules, and where each is defined."""
    for path, tree in sources.items():
        for node in tree.body:
            is_class = isinstance(node, ast.ClassDef)
            if not (is_class or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
                continue
            room = path.parent.relative_to("monitor").as_posix()
            is_other = is_class and path in STANDS_FOR_ANOTHER
            is_part = room.startswith("extensions/") and node.name in OF_EXTENSIONS
            is_of_a_kind = is_part or OF_A_KIND.get(node.name) == room
            if not (node.name.startswith("_") or is_other or is_of_a_kind):
                yield node.name, path


def test_a_name_stands_in_one_module_only(sources):
    places: dict[str, set[str]] = {}
    for name, path in public_names(sources):
        places.setdefault(name, set()).add(str(path))

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_module_has_a_name_of_its_own(sources):
    """Test the house; a module of an extension is one of a small house of its own."""
    names = [path.stem for path in sources if path.parts[1] not in ("commands", "extensions")]
    twice = {name for name in names if names.count(name) > 1 and not name.startswith("__")}

    assert twice == MODULES_OF_TWO_ROOMS


# -- the same versions with uv and without --------------------------------------------------------

CONSTRAINTS = {"dev": "constraints.txt", "cluster-test": "constraints-cluster.txt"}
PLATFORMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}


def environment_of(python: str, platform: str) -> dict[str, str]:
    """Return what markers ask about a machine."""
    return {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": platform,
        "platform_system": PLATFORMS[platform],
        "os_name": "nt" if platform == "win32" else "posix",
    }


def locked_versions(extra: str, environment: dict[str, str]) -> set[tuple[str, str]]:
    """Return what uv.lock installs with an extra, by its edges from the project on."""
    packages = tomllib.loads((PROJECT / "uv.lock").read_text(encoding="utf-8"))["package"]
    (project,) = (package for package in packages if package["source"] == {"editable": "."})
    name = project["name"]
    fork = {**environment, "extra": f"extra-{len(name)}-{name}-{extra}"}  # uv's name of a conflict
    reached: list[tuple[str, str]] = []
    edges = [{"name": name, "extra": [extra]}]
    for edge in edges:  # grows meanwhile
        if "marker" in edge and not Marker(edge["marker"]).evaluate(fork):
            continue
        (package,) = (
            package
            for package in packages
            if package["name"] == edge["name"]
            and edge.get("version") in (None, package.get("version"))
        )
        needed = [*package.get("dependencies", [])]
        for option in edge.get("extra", []):
            needed += package["optional-dependencies"][option]
        edges += [one for one in needed if one not in edges]
        reached.append((package["name"], package.get("version", "")))
    return {*reached} - {(name, "")}


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("extra", CONSTRAINTS)
def test_pip_installs_the_versions_of_uvs_lock(python, platform, extra):
    """Otherwise run `make lock`."""
    environment = environment_of(python, platform)
    text = (PROJECT / "deploy" / CONSTRAINTS[extra]).read_text(encoding="utf-8")
    lines = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    pinned = [
        (line.name, str(line.specifier).removeprefix("=="))
        for line in lines
        if line.marker is None or line.marker.evaluate(environment)
    ]

    assert sorted(pinned) == sorted(locked_versions(extra, environment))


def test_a_base_dependency_is_used_without_an_extension(sources):
    """What only an extension imports belongs to that extension's extra."""
    house = [path for path in sources if "extensions" not in path.parts]
    imported = {
        name
        for path in house
        for node in ast.walk(sources[path])
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in node.names]
        )
    }
    modules = {"protobuf": "google.protobuf", "paho-mqtt": "paho", "pyyaml": "yaml"}
    modules["markdown-it-py"] = "markdown_it"
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    unused = [
        name
        for name in (Requirement(line).name for line in project["dependencies"])
        if name != "tzdata"  # the data of the standard library's zoneinfo
        and not any(
            f"{one}.".startswith(f"{modules.get(name, name.replace('-', '_'))}.")
            for one in imported
        )
    ]

    assert unused == []


def test_every_instruction_to_install_says_which_versions():
    """By the constraints, or with each package's version; `uv pip` tries others on purpose."""
    folders = ("docs", "deploy", ".ci")
    files = [
        *PROJECT.glob("*"),
        *(path for name in folders for path in (PROJECT / name).rglob("*")),
    ]
    texts = {
        path: path.read_text(encoding="utf-8").replace("\\\n", " ")
        for path in files
        if path.is_file() and path.suffix in {"", ".md", ".ipynb", ".py", ".service", ".cluster"}
    }
    lines = {
        line: path
        for path, text in texts.items()
        for line in text.splitlines()
        if re.search(r"(?<!uv )pip install ", line)
    }

    assert {"Makefile", "README.md", "run"} <= {path.name for path in lines.values()}
    pinned = re.compile(r"constraints|CONSTRAINTS|pip install (-\S+ )*[\w-]+==")
    assert [line for line in lines if not pinned.search(line)] == []


# -- tests in the rooms of what they test ---------------------------------------------------------

# A module of `monitor/ROOM/` has its tests in `tests/ROOM/test_MODULE.py`. Wanted is 0.9; who adds
# a file of tests raises the number.
NAMED_SHARE = 0.97


def test_the_tests_of_a_module_are_found_by_its_name():
    package, tests = PROJECT / "monitor", PROJECT / "tests"
    paths = [path for path in package.rglob("*.py") if not path.name.startswith("__")]
    rooms = {path: tests / path.relative_to(package).parent for path in paths}
    unnamed = [
        str(path.relative_to(package))
        for path in paths
        if not (rooms[path] / f"test_{path.name}").is_file()
    ]

    assert len(unnamed) <= (1.0 - NAMED_SHARE) * len(paths), sorted(unnamed)
