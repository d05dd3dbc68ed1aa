"""Completion for a shell, tried in shells."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.programs import WAIT_SECONDS, need

from monitor.cli import all_commands, main
from monitor.commands.docs import SHELLS

PROGRAMS = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TERM": "dumb"}


def offered_by_bash(line: str, folder: Path) -> str:
    words = line.split(" ")
    ask = f"""
source {folder}/script
COMP_LINE={line!r} COMP_POINT={len(line)} COMP_TYPE=9 COMP_CWORD={len(words) - 1}
COMP_WORDS=({line})
_python_argcomplete monitor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return output([need("bash"), "--norc", "-c", ask], folder)


def offered_by_fish(line: str, folder: Path) -> str:
    return output(
        [need("fish"), "--no-config", "-c", f"source script; complete -C {line!r}"], folder
    )


def offered_by_zsh(line: str, folder: Path) -> str:
    """Return what an interactive zsh shows after Tab, typed into a terminal."""
    (folder / "_monitor").write_bytes((folder / "script").read_bytes())
    begin = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; PS1='ready> '\n"
    (folder / ".zshrc").write_text(begin, encoding="utf-8")
    ours, its = pty.openpty()
    shell = subprocess.Popen(
        [need("zsh"), "-i"],
        **dict.fromkeys(("stdin", "stdout", "stderr"), its),
        cwd=folder,
        env={**ENVIRONMENT, "ZDOTDIR": str(folder)},
        start_new_session=True,
    )
    try:
        typed(ours, "", "ready> ")
        return typed(ours, f"{line}\t\t", "replay" if line.endswith(" re") else "--config")
    finally:
        shell.kill()
        shell.wait(WAIT_SECONDS)
        os.close(ours)
        os.close(its)


def typed(terminal: int, keys: str, wanted: str) -> str:
    """Type into a terminal, and return what it shows once ``wanted`` is there."""
    os.write(terminal, keys.encode())
    shown = ""
    deadline = time.monotonic() + WAIT_SECONDS
    while wanted not in shown.replace("\r", ""):
        ready, _, _ = select.select([terminal], [], [], deadline - time.monotonic())
        assert ready, shown
        shown += os.read(terminal, 4096).decode()
    return shown


def output(command: list[str], folder: Path) -> str:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True, text=True
    )
    return done.stdout


OFFERED = {"bash": offered_by_bash, "zsh": offered_by_zsh, "fish": offered_by_fish}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_real_shell_completes_commands_and_options(shell, tmp_path, capsys):
    assert main(["docs", "--completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out, encoding="utf-8")
    offered = OFFERED[shell]

    commands = offered("monitor re", tmp_path)
    assert "replay" in commands
    assert "report" in commands
    assert "doctor" not in commands
    options = offered("monitor run --c", tmp_path)
    assert "--config" in options


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("monitor init ", {"weighing", "air", "process"}),
        ("monitor certificate ", {"show", "write", "verify"}),
        ("monitor cluster bridge --", {"--config", "--name"}),
    ],
)
def test_completion_knows_each_commands_own_choices(line, choices):
    asked = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/stdout",
    }
    done = subprocess.run(
        [PROGRAMS / "monitor"], env={**ENVIRONMENT, **asked}, check=True, capture_output=True
    )

    offered = done.stdout.decode().split("\013")
    assert choices <= set(offered)
    assert set(all_commands()).isdisjoint(offered)
