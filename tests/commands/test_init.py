"""``monitor init`` and ``monitor docs --completion``: what a new user is handed."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.device_messages import FAMILIES, at
from harness.programs import WAIT_SECONDS, need

from monitor.cli import all_commands, main
from monitor.commands.docs import SHELLS
from monitor.commands.init import DEVICES, STARTERS, TRADES, starter
from monitor.config import parse
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.trial import content_of, trial_run
from monitor.simulate import trades

PROJECT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
ENVIRONMENT = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TERM": "dumb"}
OWN = {"mqtt", "journal", "http"}


@pytest.mark.parametrize("trade", STARTERS)
def test_a_starter_is_the_trades_settings_with_broker_journal_and_page(trade, tmp_path, capsys):
    out = tmp_path / "mine.yaml"

    assert main(["init", trade, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert main(["check-config", str(out)]) == 0

    shipped = PROJECT / "configs" / f"{trade}.yaml"
    assert parse(out.read_bytes(), "f") == parse(shipped.read_bytes(), "f")
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line[:-1] for line in lines if line[:-1] in OWN] == ["mqtt", "journal", "http"]
    assert sum("EDIT" in line for line in lines) >= 3
    page = "docs/scales.md" if trade == "weighing" else f"docs/{trade}.md"
    page = page if trade in TRADES else "docs/discover.md"
    last = "simulate" if trade in TRADES else "discover"
    for step in ("check-config", "explain", "run", "doctor", last):
        assert f"monitor {step} " in said
    assert page in said
    assert (PROJECT / page).exists()


@pytest.mark.parametrize(
    ("name", "families", "sensors"),
    [
        ("zigbee2mqtt", ["zigbee2mqtt"], {"Küche Süd", "Bad (oben)"}),
        ("esphome", ["esphome"], {"livingroom"}),
        ("lorawan", ["things-stack", "chirpstack"], {"attic-1", "0101010101010101"}),
        ("sensorthings", ["sensorthings"], {"Datastreams(1)"}),
    ],
)
def test_a_starter_for_devices_reads_their_messages_and_pairs_them(name, families, sensors):
    now = 1.8e9
    messages = [each for family in families for each in FAMILIES[family](now)]
    # The starter's node calls its sensors by their quantities.
    heard = [Heard(each.topic.replace("living_room_", ""), each.payload, now) for each in messages]
    truth = {"time": at(now), "value": 21.0, "u": 0.1}
    heard.append(Heard("monitor/hall/temperature/reference", json.dumps(truth).encode(), now))

    settings = parse(starter(name).encode(), "starter")
    trial = trial_run(settings, content_of(settings, heard))

    assert {sensor for sensor, count in trial.pairs.items() if count} == {
        (sensor, "temperature") for sensor in sensors
    }
    assert not trial.content.refused


def test_a_platform_that_cows_cross_twice_a_day_is_not_silent_in_between():
    assert parse(starter("weighing").encode(), "starter").series.stale_after_seconds > 12 * 3600.0


def test_there_is_a_starter_for_each_kind_of_devices():
    assert all((PROJECT / "configs" / f"{name}.yaml").is_file() for name in DEVICES)


def test_there_is_a_starter_for_each_trade_that_can_be_simulated():
    assert set(TRADES) == set(trades.TRADES)


def test_what_is_there_is_not_overwritten_and_stdout_can_be_asked_for(tmp_path, capsys):
    out = tmp_path / "mine.yaml"
    out.write_text("mine", encoding="utf-8")

    assert main(["init", "air", "--out", str(out)]) == 73
    assert "already exists and was not changed" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert main(["init", "air", "--out", "-"]) == 0
    assert capsys.readouterr().out == starter("air")
    assert main(["init", "air", "--out", str(tmp_path / "no" / "mine.yaml")]) == 73
    assert "cannot be written: No such file" in capsys.readouterr().err


def test_the_commented_keys_of_a_starter_are_settings_too():
    text = starter("weighing").replace("\n#  ", "\n  ")

    assert parse(text.encode(), "starter").mqtt.tls is not None


# -- completion -----------------------------------------------------------------------------------


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
