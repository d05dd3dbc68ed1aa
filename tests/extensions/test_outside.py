"""An extension from another package: the one of docs/extensions.md, in programs that find it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.pages import PROJECT, blocks
from harness.programs import WAIT_SECONDS, until, written

from monitor.extensions import TABLE, extension
from monitor.mqtt.publish import BrokerPublisher

PAGE = PROJECT / "docs" / "extensions.md"
TAKES_DUE = """
from monitor.extensions import Command, Extension
EXTENSION = Extension("margin", "", "", {"due": Command("", "")})
"""


@pytest.fixture
def package(tmp_path) -> Path:
    """Return a folder with the files of the page."""
    folder = tmp_path / "package"
    for block in blocks(PAGE):
        if block.file:
            written(folder, block.file, block.text)
    return folder


def run(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=package, env={**os.environ, "PYTHONPATH": str(package)},
        check=False, capture_output=True, text=True, timeout=WAIT_SECONDS,
    )  # fmt: skip


def monitor(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(package, "-m", "monitor", *words)


def test_its_settings_are_checked_as_those_of_the_house(package):
    wrong = "margin: {tolerence: 1.0, tolerance: 0.0}\nmargn: {}\n"
    written(package, "wrong.yaml", wrong)

    right = monitor(package, "check-config", "margin.yaml")
    mistakes = monitor(package, "check-config", "wrong.yaml").stdout

    assert (right.returncode, right.stdout) == (0, "margin.yaml: no mistakes\n")
    assert mistakes.splitlines() == [
        "wrong.yaml:1:10: margin.tolerence: unknown key; did you mean tolerance?",
        "wrong.yaml:1:37: margin.tolerance: must be more than 0.0",
        "wrong.yaml:2:1: margn: unknown key; did you mean margin?",
    ]


def test_its_settings_are_in_the_schema(package):
    script = "from monitor.config.settings_docs import schema_json; print(schema_json())"
    schema = json.loads(run(package, "-c", script).stdout)

    section = schema["properties"]["margin"]["$ref"].rpartition("/")[2]
    tolerance = schema["$defs"][section]["properties"]["tolerance"]
    assert (tolerance["exclusiveMinimum"], tolerance["default"]) == (0, 1.0)
    assert set(TABLE) > {"otlp"} < set(schema["properties"])


def test_its_command_is_listed_and_runs(package):
    listed = monitor(package, "--help").stdout
    files = listed.partition("\nfiles:\n")[2].partition("\n\n")[0]

    done = monitor(package, "margin", "pairs.csv", "--tolerance", "4")

    assert re.search(r"(?m)^  margin +print the share of a tolerance in use$", files)
    assert (done.returncode, done.stdout) == (0, "scale-1 mass: 50%\n")
    assert "did you mean `monitor margin`?" in monitor(package, "margni").stderr


@pytest.fixture
def daemon(tmp_path, mosquitto, package):
    running = Daemon(
        tmp_path, mosquitto.port, "series: {stale_after_seconds: 1e7}",
        environment={"PYTHONPATH": str(package)},
    )  # fmt: skip
    yield running
    running.kill()


def send(port: int) -> None:
    """Send twenty pairs of scale-1 that are 2 off, and of scale-2 that are 6 off."""
    with BrokerPublisher("127.0.0.1", port) as out:
        for minute in range(20):
            for sensor, error in (("scale-1", 2.0), ("scale-2", -6.0)):
                stated = {"time": f"2026-01-01T00:{minute:02}:00Z", "value": 100.0 + minute}
                reading = {**stated, "value": stated["value"] + error + minute % 2 - 0.5, "u": 3.0}
                out.publish(f"monitor/{sensor}/mass/reading", json.dumps(reading).encode())
                out.publish(f"monitor/{sensor}/mass/reference", json.dumps(stated).encode())


def test_a_daemon_shows_what_it_adds(daemon, mosquitto):
    daemon.settings.write_text(daemon.settings.read_text() + "margin: {tolerance: 4.0}\n")
    daemon.start()
    send(mosquitto.port)
    share = 'monitor_margin_used_ratio{sensor="scale-1",quantity="mass"}'
    pairs = 'monitor_window_pairs{{sensor="scale-{}",quantity="mass"}}'
    until("all pairs are in", lambda: all(daemon.value(pairs.format(at)) == 20 for at in (1, 2)))

    text = daemon.get("/metrics")[1].decode()
    assert daemon.value(share) == pytest.approx(0.5)
    assert "# HELP monitor_margin_used_ratio Share of the tolerance that" in text
    assert daemon.value("monitor_margin_beyond") == 1.0
    listed = {each["sensor"]: each for each in daemon.json("/api/v1/series")["series"]}
    assert listed["scale-1"]["margin_used"] == pytest.approx(0.5)
    assert listed["scale-2"]["statistics"]["margin_used_ratio"] == pytest.approx(1.5)
    assert "<p>It uses up 150% of its tolerance.</p>" in page(daemon, "/series/scale-2/mass")
    assert '<a href="/margin">Margin</a>' in page(daemon, "/")
    assert '<a href="/margin" aria-current="page">Margin</a>' in page(daemon, "/margin")
    assert "scale-1 mass: 0.5" in page(daemon, "/margin")
    assert daemon.json("/api/v1/margin")["scale-2 mass"] == pytest.approx(1.5)
    assert "/api/v1/margin" in daemon.json("/api/v1/openapi.json")["paths"]


def page(daemon: Daemon, path: str) -> str:
    status, body = daemon.get(path)
    assert status == 200, path
    return body.decode()


def test_nobody_who_does_not_ask_for_it_gets_it(daemon, package):
    written(package, "margin/__init__.py", "raise RuntimeError\n")
    daemon.start()

    assert daemon.get("/margin")[0] == 404
    assert "/margin" not in page(daemon, "/")
    assert not [name for name in daemon.metrics() if "margin" in name]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import a_library_that_is_missing\n", "No module named 'a_library_that_is_missing'"),
        ("EXTENSION = 'margin'\n", "'margin' is no monitor.extensions.Extension"),
        (TAKES_DUE, "another extension has 'due' already"),
    ],
)
def test_one_that_cannot_be_used_is_named_and_left_out(package, text, reason):
    written(package, "margin/__init__.py", text)

    helped = monitor(package, "--help")
    checked = monitor(package, "check-config", "margin.yaml")

    assert helped.returncode == 0
    assert "  doctor " in helped.stdout
    assert "  margin " not in helped.stdout
    for done in (helped, checked):
        assert f"the extension margin (margin:EXTENSION) is left out: {reason}; " in done.stderr
    assert checked.stdout.startswith("margin.yaml:2:1: margin: unknown key")


# -- a library that is missing --------------------------------------------------------------------


def test_a_setting_whose_library_is_missing_says_what_to_install(tmp_path):
    written(tmp_path, "sitecustomize.py", "import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    written(tmp_path, "otlp.yaml", "otlp: {endpoint: 'http://127.0.0.1:1'}\nhttp: {port: 0}\n")
    sentence = "otlp.endpoint needs OpenTelemetry's exporter: pip install '.[otlp]'"

    checked = monitor(tmp_path, "check-config", "otlp.yaml")
    started = monitor(tmp_path, "run", "--config", "otlp.yaml")

    assert f"on this machine: {sentence}" in checked.stdout
    assert f"monitor: {sentence}" in started.stderr
    assert started.returncode == 2


# -- the page's table -----------------------------------------------------------------------------


def test_the_page_has_every_extension_and_what_turns_it_on():
    rows = re.findall(
        r"(?m)^\| `(\w+)` \| \[(.*)\]\(([\w./]+)(?:#[\w-]+)?\) \|(.*)\|(.*)\|$",
        PAGE.read_text(encoding="utf-8"),
    )

    assert [name for name, *_ in rows] == list(TABLE)
    for name, summary, page, settings, commands in rows:
        described = extension(name)
        keys = tuple(re.findall(r"`([\w.\[\]]+)[^`]*`", settings.replace("[]", "")))
        assert (summary, page) == (described.summary, described.page)
        assert len(keys) == len(TABLE[name].settings)
        assert all(map(str.startswith, keys, TABLE[name].settings))
        assert tuple(re.findall(r"`monitor ([\w-]+)`", commands)) == TABLE[name].commands
