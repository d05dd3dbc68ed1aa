"""``monitor init`` and ``monitor docs --completion``: what a new user is handed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.device_messages import FAMILIES, at

from monitor.cli import main
from monitor.commands.init import DEVICES, STARTERS, TRADES, starter
from monitor.config import parse
from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.trial import content_of, trial_run
from monitor.simulate import trades

PROJECT = Path(__file__).parents[2]
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
        (
            "lorawan",
            ["things-stack", "chirpstack"],
            {"house@ttn.attic-1", "4b0d9f4a-6b0f-4f1f-9d19-0e0e6a2f7a10.0101010101010101"},
        ),
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
