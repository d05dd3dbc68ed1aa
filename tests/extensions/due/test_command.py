"""Who needs a reference next: command, page, document and calendar of the same pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from harness.publishing import Said

from monitor.cli import main
from monitor.config.extended import model_of
from monitor.core.pairing.series_rules import SeriesRules
from monitor.daemon.assembly import assemble
from monitor.extensions.due.command import due_snapshot
from monitor.extensions.due.due_forecasts import due_dates_in
from monitor.http.metrics import Exposition
from monitor.http.published import Page
from monitor.report.recorded import read
from tests.http.test_service import get, service

__all__ = ["service"]
NAMES = ("calm", "walker", 'x; "ü", <b>\\n')


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(5)
    rows = []
    for name, walk in zip(NAMES, (0.0, 0.3, 0.1), strict=True):
        off = np.cumsum(random.normal(size=80) * walk)
        for at, each in enumerate(off - off[-1]):
            when = datetime.fromtimestamp(1.77e9 + at * 86_400.0, UTC).isoformat()
            quoted = name.replace('"', '""')
            rows.append(f'{when},"{quoted}",t,{20.0 + each + random.normal():.4f},1,20,0.1')
    path = tmp_path / "pairs.csv"
    head = "time,sensor,quantity,value,sigma,reference,reference_sigma"
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    return path


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


def test_page_document_calendar_and_metrics_tell_the_same(file, service):
    recorded = read(file, SeriesRules(asks=frozenset({"due"}), tolerance=5.0))
    snapshot = due_snapshot(recorded)
    service.publish(Page(snapshot))
    listed = json.loads(get(service, "/api/v1/due")[1])
    page = get(service, "/due")[1].decode()
    for each in listed["series"]:
        assert each["sentence"] in page
    assert "<b>" not in page
    assert "needed by, UTC<" in page
    assert "leaves its tolerance, UTC<" in page
    status, body, headers = get(service, "/due.ics")
    assert (status, headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    assert body.count(b"BEGIN:VEVENT") == 3
    worth = [
        round(each["worth"], 3)
        for each in json.loads(get(service, "/api/v1/due?order=worth")[1])["series"]
    ]
    assert worth == sorted(worth, reverse=True)
    assert get(service, "/api/v1/due?order=name")[0] == 422
    assert get(service, "/api/v1/due?by=name")[0] == 422
    shown = replace(snapshot, withdrawn=np.zeros(3, np.bool_))  # a file's sensors are silent
    metrics = Exposition().render(shown).decode()
    (line,) = [
        each
        for each in metrics.splitlines()
        if each.startswith('monitor_due_lower_seconds{sensor="walker"')
    ]
    (walker,) = [each for each in listed["series"] if each["sensor"] == "walker"]
    assert float(line.split()[-1]) == pytest.approx(walker["lower"] - snapshot.time)


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
