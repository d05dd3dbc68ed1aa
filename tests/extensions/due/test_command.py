"""Who needs a reference next: command, page, document and calendar of the same pairs."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from harness.publishing import Said

from monitor.cli import main
from monitor.config.extended import model_of
from monitor.daemon.assembly import assemble
from monitor.extensions.due.due_forecasts import due_dates_in


def unfolded(calendar: str) -> list[tuple[str, str]]:
    """Return the properties of a calendar by RFC 5545's grammar, read by hand."""
    assert calendar.endswith("\r\n")
    assert all(len(line.encode()) <= 75 for line in calendar.split("\r\n"))
    lines = calendar.replace("\r\n ", "").removesuffix("\r\n").split("\r\n")
    return [(name, value) for line in lines for name, _, value in [line.partition(":")]]


def unescaped(text: str) -> str:
    for mark in (";", ","):
        text = text.replace(f"\\{mark}", mark)
    return text.replace("\\\\", "\\")


def test_the_command_lists_dates_and_writes_a_calendar(file, capsys):
    assert main(["due", str(file), "--tolerance", "5", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["series"][0]["sensor"] == "walker"
    lower = [each["lower"] for each in listed["series"]]
    assert lower == sorted(lower)
    assert main(["due", str(file), "--tolerance", "5"]) == 0
    assert "walker" in capsys.readouterr().out.splitlines()[3]
    assert main(["due", str(file), "--tolerance", "5", "--ics"]) == 0
    calendar = capsys.readouterr().out
    found = unfolded(calendar.replace("\r\n", "\n").replace("\n", "\r\n"))
    assert found[0] == ("BEGIN", "VCALENDAR")
    assert found[-1] == ("END", "VCALENDAR")
    starts = [value for name, value in found if name == "DTSTART"]
    told = [datetime.strptime(each, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) for each in starts]
    assert [each.timestamp() for each in told] == [float(int(each)) for each in lower]
    names = [unescaped(value) for name, value in found if name == "UID"]
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tolerance", "-1"], "--tolerance"),
        (["--tolerance", "nan"], "--tolerance"),
        (["--ics", "--order", "worth"], "--order"),
    ],
)
def test_bad_options_are_told(file, capsys, options, said):
    assert main(["due", str(file), *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", [["due"], ["report", "--out", "report.html"]])
@pytest.mark.parametrize("option", [["--columns", "value=v"], ["--decimal-comma"]])
def test_how_a_file_is_written_is_not_asked_of_a_daemon(capsys, command, option):
    assert main([*command, "--config", "monitor.yaml", *option]) == 2
    assert f"{option[0]} is for FILE; a daemon's settings say" in capsys.readouterr().err


def test_pairs_without_times_have_no_dates(tmp_path, capsys):
    path = tmp_path / "pairs.csv"
    path.write_text("value,sigma,reference\n1,1,1\n2,1,1\n")
    assert main(["due", str(path)]) == 2
    assert "time" in capsys.readouterr().err


def test_dates_are_the_same_bits_after_a_start_from_the_journal(tmp_path):
    values = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "series": {"max_new_per_minute": 100},
        "alerts": {"due": True, "tolerance": 3.0},
    }
    settings = model_of(values).model_validate(values)
    random = np.random.default_rng(8)
    start, day = 1.767e9, 86_400.0
    parts = assemble(settings, start)
    for at in range(60):
        time = start + at * day
        stamp = datetime.fromtimestamp(time, UTC).isoformat()
        said = []
        for sensor, rate in (("drifts", 0.05), ("still", 0.0)):
            reading = {"time": stamp, "value": 20.0 + rate * at + random.normal(), "u": 1.0}
            reference = {"time": stamp, "value": 20.0, "u": 0.1}
            said.append(Said(f"monitor/{sensor}/t/reading", json.dumps(reading).encode()))
            said.append(Said(f"monitor/{sensor}/t/reference", json.dumps(reference).encode()))
        parts.intake.commit(parts.intake.prepare(said, time + 1.0))
        if at == 30:
            event = {"time": stamp, "event": "adjusted"}
            told = Said("monitor/drifts/event", json.dumps(event).encode())
            parts.intake.commit(parts.intake.prepare([told], time + 2.0))
    now = start + 61 * day
    before = due_dates_in(parts.network.evaluate(now))
    parts.journal.close()
    after = due_dates_in(assemble(settings, now).network.evaluate(now))

    assert np.isfinite(before.lower).any()
    assert [each.tobytes() for each in after] == [each.tobytes() for each in before]
