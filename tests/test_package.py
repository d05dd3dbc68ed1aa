"""What is built holds what is needed and nothing stray, and works without a checkout."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TextIO

import pytest
from harness.programs import WAIT_SECONDS, until

from monitor.commands.init import STARTERS

PROJECT = Path(__file__).parents[1]
SHIPPED = {".py", ".html", ".css", ".js", ".typed", ".xml", ".svg"}
STRAY = ("__pycache__", ".pyc", "secrets/", ".venv", "/build/", ".sqlite", ".egg-info", "~")
TOP = {
    *("monitor", "tests", "benchmarks", "configs", "deploy", "docs"),
    *(
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "Makefile",
    ),
    *("pyproject.toml", "uv.lock", "PKG-INFO", ".gitignore"),
}


RELEASED = {"SOURCE_DATE_EPOCH": "1764000000"}


def build(project: Path, folder: Path, **environment: str) -> Path:
    """Build wheel and sdist of a project into a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **RELEASED, **environment}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def digests(folder: Path) -> dict[str, str]:
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    return build(PROJECT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory) -> Path:
    """Return a folder with the wheel's content, as pip would lay it out."""
    folder = tmp_path_factory.mktemp("installed")
    (path,) = built.glob("*.whl")
    shutil.unpack_archive(path, folder, "zip")
    return folder


def run(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, check=False,
        capture_output=True, text=True, timeout=WAIT_SECONDS,
    )  # fmt: skip


def test_the_wheel_is_the_package_its_templates_and_the_starters(wheel):
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = (path for path in (PROJECT / "monitor").rglob("*") if path.suffix in SHIPPED)
    starters = {f"monitor/starters/{name}.yaml" for name in STARTERS}
    pages = {
        f"monitor/manual/{path.relative_to(PROJECT)}"
        for pattern in ("*.md", "images/*")
        for path in (PROJECT / "docs").glob(pattern)
    }

    assert names == {str(path.relative_to(PROJECT)) for path in sources} | starters | pages
    about = {name.partition("/")[2] for name in wheel.namelist()} - names
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= about


def test_the_sdist_has_all_to_build_test_and_read_and_nothing_stray(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}

    assert {name.partition("/")[0] for name in names} == TOP
    assert [name for name in names if any(each in name for each in STRAY)] == []
    for folder in ("configs", "docs"):
        wanted = (path for path in (PROJECT / folder).rglob("*") if path.is_file())
        assert {str(path.relative_to(PROJECT)) for path in wanted} <= names


def test_who_builds_the_sdist_elsewhere_gets_the_same_bytes(built, tmp_path):
    """Another folder, times and modes of files, order of hashes and time zone."""
    (sdist,) = built.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    for path in project.rglob("*"):
        os.utime(path, (1.6e9, 1.6e9))
        path.chmod(path.stat().st_mode & 0o700)  # as another's umask leaves it
    again = build(project, tmp_path / "dist", TZ="Asia/Tokyo", PYTHONHASHSEED="7", LC_ALL="C")

    assert len(digests(built)) == 2
    assert digests(again) == digests(built)


MOST_DISTRIBUTIONS = 45


def test_an_installation_without_extras_brings_few_distributions():
    """Of the lock, on any platform, the program itself included."""
    lock = tomllib.loads((PROJECT / "uv.lock").read_text(encoding="utf-8"))
    needs: dict[str, set[str]] = {}
    for package in lock["package"]:
        of = needs.setdefault(package["name"], set())
        of |= {each["name"] for each in package.get("dependencies", ())}
    needed, queue = set(), [NAMES[1]]
    while queue:
        name = queue.pop()
        if name not in needed:
            needed.add(name)
            queue += needs[name]

    assert len(needed) <= MOST_DISTRIBUTIONS, sorted(needed)


def test_the_wheel_alone_writes_settings_and_checks_them(installed, tmp_path):
    where = run(installed, tmp_path, "-c", "import monitor; print(monitor.__file__)")
    assert where.stdout.strip() == str(installed / "monitor" / "__init__.py")

    for trade in ("weighing", "air", "process"):
        file = f"{trade}.yaml"
        assert (
            run(installed, tmp_path, "-m", "monitor", "init", trade, "--out", file).returncode == 0
        )
        checked = run(installed, tmp_path, "-m", "monitor", "check-config", file)
        assert checked.stdout == f"{file}: no mistakes\n"
        own = (PROJECT / "configs" / file).read_text(encoding="utf-8").partition("\nsources:\n")[2]
        assert (tmp_path / file).read_text(encoding="utf-8").endswith(own)


def test_the_wheel_alone_runs_the_demonstration(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "monitor", "demo", "--port", "0"]
    with (
        (tmp_path / "told").open("w+", encoding="utf-8") as told,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=told, stderr=told) as demo,
    ):
        until(
            "it has pairs or ended",
            lambda: demo.poll() is not None or "first pairs are in" in read(told),
        )
        demo.terminate()
        code = demo.wait(WAIT_SECONDS)
        shown = read(told)

    assert code == 0, shown
    assert "first pairs are in" in shown
    assert "FALSE ALARM" not in shown


def read(file: TextIO) -> str:
    """Return all that was written into a file so far."""
    return Path(file.name).read_text(encoding="utf-8")


def test_the_least_python_is_said_once_and_meant(wheel):
    (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    lines = wheel.read(metadata).decode().splitlines()

    assert "Requires-Python: >=3.11" in lines
    versions = {line.rpartition(" ")[2] for line in lines if "Python :: 3." in line}
    assert {"3.11", "3.13"} <= versions


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux")
def test_no_library_makes_threads_that_nobody_asked_for():
    code = (
        "import os; from monitor.cli import main; main(['docs']); import numpy as np;"
        "np.ones((4000, 8)) @ np.ones(8); print(len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, check=True, capture_output=True, text=True
    )

    assert done.stdout.split()[-1] == "1"


TEXTS = {".py", ".md", ".toml", ".yaml", ".yml", ".service", ".sh", ".json", ".html", ""}
INSTALLS = re.compile(r"\b(?:pip|pipx|uv pip|uv tool) install ((?:[^\n`#()]|\([^)]*\))*)")
"""An instruction to install, and its words up to the end of the line or of the code."""
NAMES = ("monitor", "sensor-uncertainty-monitor", "sensor_uncertainty_monitor")


def texts() -> list[tuple[Path, str]]:
    """Return every file of the project that a person or a program may take commands from."""
    listed = ("monitor", "tests", "benchmarks", "configs", "deploy", "docs", ".ci")
    found = [path for path in PROJECT.iterdir() if path.is_file() and path.name != "uv.lock"]
    found += [path for name in listed for path in (PROJECT / name).rglob("*") if path.is_file()]
    return [
        (path, path.read_text(encoding="utf-8"))
        for path in found
        if path.suffix in TEXTS and "__pycache__" not in path.parts and path != Path(__file__)
    ]


def asked_of_the_index(words: str) -> list[str]:
    """Return what an instruction to install asks the index for; paths and options it does not."""
    try:
        split = shlex.split(words.partition("  ")[0].partition("&&")[0].strip(" \\"))
    except ValueError:  # a quotation mark that closes a sentence
        split = words.replace("'", " ").replace('"', " ").split()
    paths = (".", "/", "~", "{", "$", "WHEEL", "dist/", "-")
    return [word for word in split if not word.startswith(paths) and word[:1].isalpha()]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("pip install monitor", ["monitor"]),
        ("pip install --upgrade 'monitor[demo]'", ["monitor[demo]"]),
        ("pip install '.[demo]' in the checkout", ["in", "the", "checkout"]),
        ("pip install . && ls", []),
        ("pip install dist/sensor_uncertainty_monitor-*.whl", []),
    ],
)
def test_the_reader_of_instructions_tells_names_from_paths(said, asked):
    (words,) = INSTALLS.findall(said)

    assert asked_of_the_index(words) == asked


def test_no_text_installs_from_an_index_what_is_not_ours_there():
    """`monitor` in the package index is a stranger's, and nothing of ours is there."""
    name = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "name"
    ]
    assert name == NAMES[1]

    wrong, seen = [], 0
    for path, text in texts():
        for words in INSTALLS.findall(text):
            seen += 1
            asked = {re.split(r"[\[=<>;@ ]", word)[0].lower() for word in asked_of_the_index(words)}
            if asked & set(NAMES):
                wrong.append(f"{path}: {words}")
        if path.name != "pyproject.toml":
            wrong += [f"{path}: {one}" for one in re.findall(r"\bmonitor\[[a-z-]+[\],]", text)]
    assert seen >= 5
    assert wrong == []
