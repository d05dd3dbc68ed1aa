"""The documentation is true: its commands run, its links lead somewhere, its names exist."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.pages import PAGES, PROJECT, Block, anchors, blocks, commands, links
from harness.programs import WAIT_SECONDS, free_port, need, until, written

from monitor.cli import GROUPS, _parser, all_commands
from monitor.errors import REFUSALS
from monitor.extensions import all_extensions
from monitor.http.application import application
from monitor.http.published import Published

RUN_ELSEWHERE = {"formats.md": "tests/explain/test_explain.py"}
PROGRAMS = Path(sys.executable).parent
README = PROJECT / "README.md"
FOLDERS = "monitor|tests|docs|configs|deploy|benchmarks"


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def scripts(page: Path) -> list[Block]:
    return [each for each in blocks(page) if each.language == "sh"]


def with_scripts() -> list[Path]:
    return [page for page in PAGES if scripts(page)]


# -- commands are run -----------------------------------------------------------------------------


class Reader:
    """Somebody who does what a page says, in a folder of their own, with a broker of their own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder / "here"
        self.folder.mkdir()
        (folder / "broker").mkdir()
        self.broker = Mosquitto(folder / "broker")
        stack.callback(self.broker.stop)
        self._page = free_port()
        self._stack = stack
        self._environment = {
            **os.environ,
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(self.folder),
        }

    def here(self, text: str) -> str:
        """Return ``text`` with the addresses of this machine."""
        text = text.replace("broker.example", "127.0.0.1")
        return re.sub(
            r"\b1883\b", str(self.broker.port), re.sub(r"\b9108\b", str(self._page), text)
        )

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        if block.file:
            written(self.folder, block.file, self.here(block.text))
        elif block.language == "sh" and block.how == "background":
            self._begin(self.here(block.text))
        elif block.language == "sh" and not block.how.startswith("not run, "):
            self._run(block)

    def _begin(self, script: str) -> None:
        for file in self.folder.glob("*.yaml"):  # `monitor init` wrote the usual ports
            file.write_text(self.here(file.read_text(encoding="utf-8")), encoding="utf-8")
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [need("bash"), "-c", f"exec {script}"],
                cwd=self.folder, env=self._environment, stdout=log, stderr=log,
            )  # fmt: skip
        self._stack.callback(process.wait, WAIT_SECONDS)
        self._stack.callback(process.terminate)
        until(f"{script} is ready: {self.folder}/log", self._is_ready)

    def _is_ready(self) -> bool:
        try:
            urllib.request.urlopen(
                f"http://127.0.0.1:{self._page}/readyz", timeout=WAIT_SECONDS
            ).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _run(self, block: Block) -> None:
        wanted = int(found[1]) if (found := re.fullmatch(r"ends with (\d+)", block.how)) else 0
        until_then = time.monotonic() + (WAIT_SECONDS if block.how.startswith("repeated") else 0)
        while True:
            done = subprocess.run(
                [need("bash"), "-eo", "pipefail", "-c", self.here(block.text)],
                cwd=self.folder, env=self._environment, check=False,
                capture_output=True, text=True, timeout=WAIT_SECONDS,
            )  # fmt: skip
            if done.returncode == wanted or time.monotonic() > until_then:
                break
            time.sleep(0.2)
        assert done.returncode == wanted, f"{block.text}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        yield Reader(tmp_path, stack)


@pytest.mark.parametrize("page", [each for each in with_scripts() if each.name not in RUN_ELSEWHERE], ids=name_of)  # fmt: skip  # noqa: E501
def test_who_does_what_a_page_says_gets_what_it_promises(page, reader):
    if any("curl" in each.text for each in scripts(page)):
        need("curl")
    need("mosquitto_pub")
    for block in blocks(page):
        reader.follow(block)


def test_a_page_that_promises_what_is_not_so_would_be_noticed(reader):
    with pytest.raises(AssertionError, match="not-there"):
        reader.follow(Block("", "sh", "monitor score not-there.csv\n"))


def test_what_is_not_run_here_is_run_elsewhere_or_says_why():
    for page in with_scripts():
        for block in scripts(page):
            assert re.fullmatch(
                r"|background|ends with \d+|repeated until it ends with 0"
                r"|not run, \S.{10,}",
                block.how,
            ), (page, block.how)
    for elsewhere in RUN_ELSEWHERE.values():
        assert "test_the_commands_of_the_page_print_what_the_page_shows" in (
            PROJECT / elsewhere
        ).read_text(encoding="utf-8")


def test_a_first_result_takes_six_lines_of_settings():
    (settings,) = (each.text for each in blocks(README) if each.file == "monitor.yaml")

    assert len([line for line in settings.splitlines() if line.strip()]) <= 6


# -- commands are right, also those that are not run ----------------------------------------------


@pytest.mark.parametrize("page", with_scripts(), ids=name_of)
def test_scripts_are_scripts_and_every_option_is_one(page):
    for block in scripts(page):
        done = subprocess.run(
            [need("bash"), "-n", "-c", block.text], check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        for words in commands(block.text):
            check_command(words)


def check_command(words: list[str]) -> None:
    program = Path(words[0]).name
    if program == "monitor":
        assert words[1] in all_commands()
        with contextlib.redirect_stderr(sys.stdout):
            try:
                assert isinstance(_parser(words[1]).parse_args(words[1:]), argparse.Namespace)
            except SystemExit:
                pytest.fail(" ".join(words))
    elif program == "make":
        done = subprocess.run(
            [need("make"), "--dry-run", *words[1:]], cwd=PROJECT, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr
    elif program.startswith("python") and words[1].endswith(".py"):
        assert (PROJECT / words[1]).is_file()


def test_an_option_that_is_none_would_be_noticed():
    with pytest.raises(pytest.fail.Exception, match="--cnofig"):
        check_command(["monitor", "doctor", "--cnofig", "monitor.yaml"])
    with pytest.raises(AssertionError):
        check_command(["make", "tset"])


# -- links and names lead somewhere ---------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert target.is_relative_to(PROJECT), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(rf"[` (](({FOLDERS})/[\w./-]+\.(py|md|yaml|yml|json|sh))\b", text)

    assert [each[0] for each in named if not (PROJECT / each[0]).exists()] == []


def test_every_page_can_be_found_from_the_index_and_the_index_from_the_readme():
    index = PROJECT / "docs" / "index.md"
    linked = {(index.parent / each.partition("#")[0]).resolve() for each in links(index)}

    assert {*(PROJECT / "docs").glob("*.md")} - linked == {index}
    assert "docs/index.md" in links(README)


def test_pictures_are_there_and_used():
    used = {
        (page.parent / each).resolve() for page in PAGES for each in links(page) if ".png" in each
    }

    assert used
    assert all(each.is_file() for each in used)


@cache
def hints() -> Mapping[str, list[str]]:
    """Return the places of the documentation that the program, its settings and rules name."""
    files = [*(PROJECT / "monitor").rglob("*.py"), *(PROJECT / "configs").glob("*.yaml")]
    return {
        name_of(file): found
        for file in files
        if (
            found := re.findall(
                r"(?<![/\w])docs/[\w/-]+\.md(?:#[\w-]+)?", file.read_text(encoding="utf-8")
            )
        )
    }


@pytest.mark.parametrize("file", hints())
def test_messages_name_places_of_the_documentation_that_exist(file):
    for place in hints()[file]:
        page, _, anchor = place.partition("#")
        assert (PROJECT / page).is_file(), place
        assert not anchor or anchor in anchors(PROJECT / page), place


def test_reasons_that_are_explained_are_reasons():
    from monitor.decode import REASONS

    assert set(REFUSALS) <= set(REASONS)


# -- the interface --------------------------------------------------------------------------------


def test_the_page_of_the_interface_has_every_route_with_its_query():
    described = application(Published(), 64, extensions=all_extensions()).openapi()["paths"]
    table = {
        row[1]: set(re.findall(r"`([a-z]+)`", row[2]))
        for row in re.finditer(
            r"(?m)^\| `(/\S+)` \|[^|]*\|(.*)\|$",
            (PROJECT / "docs" / "outlets.md").read_text(encoding="utf-8"),
        )
        if row[1].startswith("/api/")
    }

    assert table == {
        path: {each["name"] for each in what["get"].get("parameters", ()) if each["in"] == "query"}
        for path, what in described.items()
    }


def test_the_page_of_commands_has_every_command_in_its_group_with_its_purpose():
    page = (PROJECT / "docs" / "commands.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| ([\w ]+) \| `monitor ([\w-]+)` \| (.*) \|$", page)
    commands = [(each.group, name, each.summary) for name, each in all_commands().items()]

    assert listed == sorted(commands, key=lambda row: GROUPS.index(row[0]))


def test_the_page_of_metrics_has_every_reason_for_a_refusal_with_its_meaning():
    from monitor.decode import REASONS

    page = (PROJECT / "docs" / "metrics.md").read_text(encoding="utf-8")
    table = page.partition("| reason | meaning |")[2]

    assert dict(re.findall(r"(?m)^\| `(\w+)` \| (.+) \|$", table)) == REASONS
