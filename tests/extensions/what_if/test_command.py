"""With unchanged settings the command gives what a daemon shows; what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.core.formatting import instant
from monitor.errors import TRY_AGAIN, USAGE
from monitor.journal import Journal
from tests.extensions.what_if.conftest import (
    BEGAN,
    PAIRS,
    answers,
    settings_file,
    stream,
    without_moment,
)


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto):
    running = Daemon(tmp_path, mosquitto.port, "alerts: {due: true}")
    running.start()
    yield running
    running.kill()


def test_unchanged_settings_give_what_a_running_daemon_shows_bit_for_bit(daemon, tmp_path, capsys):
    config = str(daemon.settings)
    assert main(["replay", str(stream(tmp_path / "stream.csv")), "--config", config]) == 0
    done = 'monitor_window_pairs{sensor="right",quantity="t"}'
    until("all pairs are shown", lambda: daemon.value(done) == PAIRS)
    assert (
        main(["event", "--config", config, "right", "moved", "--time", instant(BEGAN + 3600.0)])
        == 0
    )
    until("its epoch has begun", lambda: daemon.value(done) == PAIRS - 60)
    capsys.readouterr()

    document = answers(capsys, "--config", config)

    live = {each["sensor"]: each for each in daemon.json("/api/v1/series")["series"]}
    assert {each["sensor"] for each in document["series"]} == {"high", "right", "wide"}
    for each in document["series"]:
        assert not each["differs"]
        assert each["was"] == each["then"]
        assert without_moment(each["was"]) == without_moment(live[each["sensor"]])
        assert each["was"]["due"] is not None
    history = daemon.json("/api/v1/alerts?history=100")["history"]
    fired = {(each["sensor"], each["began"][:19]) for each in history if each["to"] == "firing"}
    raised = {
        (one["sensor"], one["fired"][:19])
        for each in document["series"]
        for one in each["was"]["raised"]
    }
    assert raised == fired
    assert ("high", "offset") in {
        (one["sensor"], one["alert"])
        for each in document["series"]
        for one in each["was"]["raised"]
    }


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--settings", "windows.pairs"], USAGE, "write KEY=VALUE"),
        (["--settings", "mqtt.port.more=3"], USAGE, "write KEY=VALUE"),
        (["--settings", "windows.pears=3"], USAGE, "did you mean pairs?"),
        (["--multiply-u", "0"], USAGE, "--multiply-u"),
        (["--subtract", "nan"], USAGE, "--subtract"),
        (["--was", "nowhere.yaml"], USAGE, "cannot be read"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_what_to_do(config, options, code, words, capsys):
    assert main(["what-if", "--config", str(config), *options]) == code
    assert words in capsys.readouterr().err


def test_a_journal_that_says_nothing_of_its_settings_needs_them(tmp_path, capsys):
    settings = settings_file(tmp_path)
    assert main(["what-if", "--config", str(settings)]) == TRY_AGAIN
    assert "there is no such journal" in capsys.readouterr().err
    Journal(tmp_path / "journal.sqlite").close()
    assert main(["what-if", "--config", str(settings)]) == TRY_AGAIN
    assert "holds no pair yet" in capsys.readouterr().err
