"""The tests' own tools: programs are named, ports are nobody else's, nothing is left running."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from harness import programs
from harness.programs import PACKAGES, SCRIPTS, free_port, need, need_script, until
from harness.reaper import MARK, reaped

PROJECT = Path(__file__).parents[1]
TESTS = PROJECT / "tests"
WORKER = """
import subprocess, sys, time
sys.path.insert(0, {tests!r})
from harness.reaper import reaped
sleeper = "import subprocess, sys, time\\n"
sleeper += "if len(sys.argv) > 1:\\n"
sleeper += "    child = [sys.executable, '-c', 'import time; time.sleep(1000)']\\n"
sleeper += "    print(subprocess.Popen(child, start_new_session=True).pid, flush=True)\\n"
sleeper += "time.sleep(1000)"
with reaped():
    child = subprocess.Popen([sys.executable, "-c", sleeper, "with a child"])
    print(child.pid, flush=True)
    if {sleeps}:
        time.sleep(1000)
    sys.stdin.readline()
"""


def is_there(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    with suppress(OSError):
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        return status.rpartition(")")[2].split()[0] != "Z"
    return False


# -- programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PACKAGES)
def test_a_missing_program_skips_a_test_and_names_its_package(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception) as skipped:
        need(name)
    assert str(skipped.value) == f"{name} is not installed (Debian: {PACKAGES[name]})"


def test_a_missing_program_is_a_failure_in_continuous_integration(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="mosquitto"):
        need("mosquitto")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_missing_script_names_the_extra_that_brings_it(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs.sys, "executable", str(tmp_path / "python"))
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match=re.escape(f".[{SCRIPTS[name]}]")):
        need_script(name)


def test_sbin_is_searched_for_those_whose_path_leaves_it_out(monkeypatch, tmp_path):
    for folder in ("bin", "sbin"):
        (tmp_path / folder).mkdir()
    program = tmp_path / "sbin" / "mosquitto"
    shutil.copy("/proc/self/exe", program)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    assert need("mosquitto") == str(program)


def test_continuous_integration_installs_every_package():
    """Java is left out: it is needed only with the extra of the cluster's tests."""
    script = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    (installed,) = re.findall(r"apt-get install [^>]*", script)
    on_debian = {"bash", "mount"}  # essential, or installed with every system

    assert set(PACKAGES.values()) - on_debian - {PACKAGES["java"]} <= set(installed.split())


def test_no_test_starts_a_program_without_asking_for_it():
    """A program's name as the first word of a command is a way around :func:`need`."""
    names = "|".join(map(re.escape, PACKAGES))
    started = re.compile(rf'(?:run|Popen|check_call|check_output)\(\s*\[\s*"({names})"')
    found = [
        f"{path.relative_to(PROJECT)}: {match[1]}"
        for path in TESTS.rglob("*.py")
        for match in started.finditer(path.read_text(encoding="utf-8"))
    ]

    assert found == []


# -- ports and orphans ----------------------------------------------------------------------------


def test_a_port_is_given_once():
    ports = [free_port() for _ in range(500)]

    assert len(set(ports)) == 500


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_nothing_outlives_tests_that_are_killed_or_leave_it_running(how):
    script = WORKER.format(tests=str(TESTS), sleeps=how == "killed")
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tests:
        left = [int(tests.stdout.readline()) for _ in range(2)]
        assert all(is_there(each) for each in left)
        if how == "killed":
            tests.send_signal(signal.SIGKILL)
        else:
            tests.stdin.write("\n")
            tests.stdin.flush()
        until("its programs are gone", lambda: not any(is_there(each) for each in left))


def test_tests_within_tests_have_a_mark_of_their_own():
    outer = os.environ[MARK]
    with reaped():
        assert os.environ[MARK] != outer

    assert os.environ[MARK] == outer
