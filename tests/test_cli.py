"""The commands as ``monitor --help`` lists them."""

from __future__ import annotations

import re

import pytest

from monitor.cli import all_commands, main

# One of each group that a reader looks for there.
KNOWN = {
    "first minutes": {"demo", "init", "discover"},
    "every day": {"run", "doctor"},
    "files": {"score", "report"},
    "more": {"journal", "certificate"},
}


def test_help_lists_every_command_once_in_its_group_with_its_purpose(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    shown = capsys.readouterr().out
    parts = re.split(r"(?m)^([a-z ]+):$", shown.partition("\nfirst minutes:")[2])
    groups = dict(zip(["first minutes", *parts[1::2]], parts[::2], strict=True))
    listed = [
        (group, *row)
        for group, part in groups.items()
        for row in re.findall(r"(?m)^  ([a-z-]+)  +(\S.*)$", part)
    ]

    assert end.value.code == 0
    assert list(groups) == list(KNOWN)
    assert sorted(listed) == sorted(
        (each.group, name, each.summary) for name, each in all_commands().items()
    )
    for group, names in KNOWN.items():
        assert names <= {name for within, name, _ in listed if within == group}


def test_without_a_command_the_same_list_is_shown_as_an_error(capsys):
    assert main([]) == 2
    assert "\nevery day:\n  run " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ("bridge", ["monitor cluster bridge"]),
        ("certify", ["monitor certificate write", "monitor certificate verify"]),
        ("completion", ["monitor docs --completion bash"]),
        ("version", ["monitor --version"]),
    ],
)
def test_a_former_name_is_answered_with_what_replaces_it(former, current, capsys):
    with pytest.raises(SystemExit) as end:
        main([former, "--config", "monitor.yaml"])

    assert end.value.code == 2
    error = capsys.readouterr().err
    assert f"monitor: error: {former} is now `" in error
    assert re.findall("`(.*?)`", error) == current
    for words in current:
        with pytest.raises(SystemExit) as end:
            main([*words.split()[1:], "--help"])
        assert end.value.code == 0


@pytest.mark.parametrize(
    ("words", "actions"),
    [
        (["certificate", "scale-7.xml"], "show, write, verify"),
        (["cluster", "--config", "monitor.yaml"], "run, bridge"),
    ],
)
def test_a_command_of_several_actions_names_them(words, actions, capsys):
    with pytest.raises(SystemExit) as end:
        main(words)

    assert end.value.code == 2
    error = capsys.readouterr().err
    assert actions in error.replace("'", "")


@pytest.mark.parametrize(("typed", "meant"), [("doctr", "doctor"), ("dicover", "discover")])
def test_a_misspelt_command_is_answered_with_the_one_meant(typed, meant, capsys):
    with pytest.raises(SystemExit):
        main([typed])

    assert f"unknown command {typed!r}; did you mean `monitor {meant}`?" in capsys.readouterr().err


def test_a_command_that_needs_more_memory_than_there_is_says_so(monkeypatch, capsys):
    """As of a Parquet file of 2 MB, which may have 200 million rows."""
    monkeypatch.setattr("monitor.commands.score.run", lambda _options: bytearray(1 << 62))

    assert main(["score", "x.parquet"]) == 75
    assert capsys.readouterr().err.startswith("monitor: out of memory; give it less at once")
