"""Settings that are mended mend the pairs: a daemon has those it would have had from the start."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest

from monitor.alerts.dispatch import Dispatch
from monitor.alerts.ledger import View
from monitor.cli import main
from monitor.config import Settings, parse
from monitor.core.model import in_event_order
from monitor.daemon.assembly import Parts, assemble, notices_of
from monitor.daemon.checkpoints import save_all_evidence
from monitor.daemon.loop import Daemon
from monitor.daemon.made_with import NOTE
from monitor.daemon.publisher import Publisher
from monitor.journal import Batch, Journal, JournalBusyError, JournalFullError
from monitor.mqtt.inbox import InboxMessage
from tests.daemon.test_publisher import NOW, Crowd, Screen

START = 1_767_225_600.0  # 2026-01-01
HOUR = 3600.0
SENSORS = ("a", "b", "c")
SETTINGS = """
journal: {{path: "{folder}/journal.sqlite"}}
pairing: {{max_wait_hours: {wait}, {pairing}}}
areas: [{areas}]
sources:
  - topic: "data/{{sensor}}/x"
    kind: reading
    decoder: json
    map: {{time: t, key: key, series: [{{quantity: x, value: v, u: u, assumed: "{assumed}"}}]}}
  - topic: "station/{{subject}}/x"
    kind: reference
    decoder: json
    map:
      {{time: t, start: s, end: e, key: key, revision: r,
       series: [{{quantity: x, value: v, u: u}}]}}
  - {{topic: "monitor/{{sensor}}/event", kind: event}}
alerts: {{patience: 20}}
"""


class Sent(NamedTuple):
    topic: str
    payload: bytes


def settings_of(
    folder: Path, pairing: str = "", assumed: str = "0.3", areas: str = "", wait: float = 72.0
):
    text = SETTINGS.format(folder=folder, pairing=pairing, assumed=assumed, areas=areas, wait=wait)
    return parse(text.encode(), "settings.yaml")


def messages(seed: int, hours: int, *, ordered: bool = False) -> list[tuple[float, list[Sent]]]:
    """Return batches with their times of arrival: six readings an hour, means as references."""
    random = Random(seed)
    sent: list[tuple[float, Sent]] = []
    for hour in range(hours):
        truth = random.gauss(20.0, 2.0)
        for number, sensor in enumerate(SENSORS):
            for part in range(6):
                at = START + hour * HOUR + part * 600.0 + number * 7.0
                body = {"t": at, "v": truth + random.gauss(0.1 * number, 0.4)}
                body |= {"u": 0.4} if number else {}  # a's uncertainty is assumed
                body |= {"key": f"k{hour}-{part}"}
                sent.append((at + 5.0, Sent(f"data/{sensor}/x", json.dumps(body).encode())))
            at = START + hour * HOUR
            body = {"t": at + 1900.0, "v": truth, "u": 0.1, "s": at, "e": at + HOUR, "r": 1}
            body |= {"key": f"k{hour}-3"}
            sent.append((at + HOUR, Sent(f"station/{sensor}/x", json.dumps(body).encode())))
        body = {
            "t": at + 2000.0,
            "v": truth + 0.2,
            "u": 0.1,
            "s": at,
            "e": at + HOUR,
            "key": "-",
            "r": 1,
        }
        sent.append((at + HOUR, Sent("station/s/x", json.dumps(body).encode())))
    if not ordered:
        sent = [(at + random.choice((0.0, 0.0, 900.0, 7200.0)), each) for at, each in sent]
    sent.sort()
    batches = [sent[first : first + 25] for first in range(0, len(sent), 25)]
    return [(batch[-1][0], [each for _, each in batch]) for batch in batches]


def take(parts: Parts, batches) -> None:
    for received, batch in batches:
        parts.intake.commit(parts.intake.prepare(batch, received))


def after(settings, batches) -> Parts:
    """Return a daemon that had the settings from the beginning."""
    parts = assemble(settings, START)
    take(parts, batches)
    return parts


def pairs(parts: Parts) -> list[tuple[object, ...]]:
    standing = in_event_order(parts.journal.pairs())
    names = parts.network.registry.keys
    return sorted((names[row[0]], *map(repr, row[1:])) for row in standing.tolist())


def verdicts(parts: Parts, now: float) -> dict[object, object]:
    """Return all that is decided of each series, with the evidence to the bit."""
    snapshot = parts.network.evaluate(now)
    return {
        key: (
            snapshot.states[row],
            {alert: bool(active[row]) for alert, active in snapshot.alerts.items()},
            {name: repr(column[row]) for name, column in snapshot.statistics.items()},
            parts.network.replayer.evidence_bits(row),
            repr(snapshot.reports.get(row)),
        )
        for row, key in enumerate(parts.network.registry.keys)
    }


MEAN = "mode: mean_over_reference_interval, match_on: [subject], reading_seconds: 600"
AREA = "{subject: s, sensors: [a, b], distance_km: 2}"
CHANGES = {
    "correlation": ({"pairing": MEAN}, {"pairing": f"{MEAN}, correlation: 0"}),
    "completeness": (
        {"pairing": f"{MEAN.replace('600', '500')}, completeness: 0.9"},
        {"pairing": f"{MEAN.replace('600', '500')}, completeness: 0.6"},
    ),
    "tolerance": (
        {"pairing": "match_on: [subject], tolerance_seconds: 60"},
        {"pairing": "match_on: [subject], tolerance_seconds: 300"},
    ),
    "u_pair": (
        {"pairing": "match_on: [subject], tolerance_seconds: 200"},
        {"pairing": "match_on: [subject], tolerance_seconds: 200, uncertainty: {per_hour: 3}"},
    ),
    "mode": ({"pairing": MEAN}, {"pairing": "match_on: [subject], tolerance_seconds: 600"}),
    "back": ({"pairing": "match_on: [subject], tolerance_seconds: 600"}, {"pairing": MEAN}),
    "lag": (
        {"pairing": "match_on: [subject], tolerance_seconds: 200"},
        {"pairing": "match_on: [subject], tolerance_seconds: 200, lag_seconds: 1200"},
    ),
    "interpolate": (
        {"pairing": "match_on: [subject], mode: asof, tolerance_seconds: 900"},
        {"pairing": "match_on: [subject], mode: interpolate, tolerance_seconds: 900"},
    ),
    "candidates": (
        {"pairing": "match_on: [subject], mode: nearest, tolerance_seconds: 900"},
        {"pairing": "match_on: [subject], candidates: all, tolerance_seconds: 900"},
    ),
    "key": (
        {"pairing": "match_on: [subject, key], tolerance_seconds: 600"},
        {"pairing": "match_on: [key], mode: key"},
    ),
    "areas": ({"pairing": MEAN, "areas": AREA}, {"pairing": MEAN}),
    "area": ({"pairing": MEAN}, {"pairing": MEAN, "areas": AREA}),
    "assumed u": ({"pairing": MEAN}, {"pairing": MEAN, "assumed": "0.02 * value"}),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_pairs_and_verdicts_are_those_of_a_daemon_with_these_settings_from_the_beginning(
    tmp_path, change, seed
):
    former, mended = CHANGES[change]
    batches, now = messages(seed, 40), START + 41 * HOUR
    half = len(batches) // 2
    (tmp_path / "fresh").mkdir()
    old = after(settings_of(tmp_path, **former), batches[:half])
    verdicts(old, now)
    was = pairs(old)
    old.journal.close()

    parts = assemble(settings_of(tmp_path, **mended), batches[half][0])
    fresh = after(settings_of(tmp_path / "fresh", **mended), batches[:half])

    assert was != pairs(fresh)
    assert pairs(parts) == pairs(fresh)
    assert verdicts(parts, now) == verdicts(fresh, now)
    assert [*notices_of(parts, now)] == []
    take(parts, batches[half:])
    take(fresh, batches[half:])
    assert pairs(parts) == pairs(fresh)
    assert verdicts(parts, now) == verdicts(fresh, now)
    parts.journal.close()
    fresh.journal.close()


def test_a_start_after_a_kill_within_the_first_minute_reads_what_waits_once(tmp_path, monkeypatch):
    """The settings that made the pairs are known from the first batch on."""

    class Killed(Crowd):
        def receive(self, timeout: float) -> list[InboxMessage]:
            if self.left == 1:
                raise KeyboardInterrupt
            return super().receive(timeout)

    settings = Settings.model_validate(
        {
            "journal": {"path": str(tmp_path / "journal.sqlite")},
            "series": {"max_new_per_minute": 1_000_000},
        }
    )
    parts, source = assemble(settings, NOW), Killed(4)
    source.daemon = Daemon(parts, source, Publisher(parts, Screen()), clock=lambda: NOW)
    with pytest.raises(KeyboardInterrupt):
        source.daemon.run()
    reads, observations = [], Journal.observations
    monkeypatch.setattr(Journal, "observations", lambda own: reads.append(1) or observations(own))

    parts = assemble(settings, NOW)

    assert (len(parts.network.registry.keys), reads) == (600, [1])
    parts.journal.close()


# -- what is no longer held -----------------------------------------------------------------------

WAIT = 12.0
OLD, NEW = {"pairing": MEAN}, {"pairing": f"{MEAN}, correlation: 0"}


def halves(hours: int = 60):
    batches = messages(3, hours, ordered=True)
    return batches[: len(batches) // 2], batches[len(batches) // 2 :]


def long_lived(folder: Path, batches, given=OLD) -> Parts:
    """Return a daemon that has dropped what waited too long."""
    parts = after(settings_of(folder, **given, wait=WAIT), batches)
    now = batches[-1][0]
    parts.network.expire(now)
    assert parts.made_with.keep_up(parts.network.registry.keys)
    parts.journal.append(Batch(notes={NOTE: parts.made_with.note(drops=True)}))
    parts.journal.expire(observations_before=now - WAIT * HOUR, pairs_before=-np.inf)
    return parts


def again(parts: Parts, now: float, given) -> Parts:
    """Return the next daemon on the same journal, with other settings."""
    folder = parts.journal.path.parent
    parts.journal.close()
    return assemble(settings_of(folder, **given, wait=WAIT), now)


def test_pairs_whose_readings_are_dropped_stay_and_are_counted_where_people_look(tmp_path):
    batches, _ = halves()
    now = batches[-1][0]
    (tmp_path / "fresh").mkdir()
    old = long_lived(tmp_path, batches)
    was = pairs(old)

    parts = again(old, now, NEW)
    fresh = after(settings_of(tmp_path / "fresh", **NEW), batches)

    mended, expected = pairs(parts), pairs(fresh)
    stay = [pair for pair in mended if pair not in expected]
    assert set(stay) < set(was)
    assert len(mended) == len(expected) == len(was)
    times = sorted({float(pair[2]) for pair in mended})
    recent = [time for time in times if time >= now - (WAIT - 3.0) * HOUR]
    assert len(recent) >= 8
    assert max(float(pair[2]) for pair in stay) < recent[0]
    changed = (
        f"{len(was) - len(stay)} pairs of 3 sensors were made again with the settings in force"
    )
    assert parts.remade == changed
    (notice,) = notices_of(parts, now)
    assert notice.startswith(f"{len(stay)} pairs of 3 sensors were made with other settings")
    row = parts.network.registry.get("b", "x")
    assert parts.others.counts()[row] == sum(pair[0].sensor == "b" for pair in stay)

    # The next start says the same; with the former settings nothing is said any more.
    parts = again(parts, now, NEW)
    assert (parts.remade, [*notices_of(parts, now)]) == ("", [notice])
    parts = again(parts, now, OLD)
    assert pairs(parts) == was
    assert [*notices_of(parts, now)] == []
    parts.journal.close()


# Of mode key the tolerance is as long as anything is held: whether another reading had the key that
# a reference has is known of no time.
@pytest.mark.parametrize("change", [name for name in CHANGES if name != "key"])
def test_whatever_was_dropped_no_pair_is_lost_and_the_recent_ones_follow_the_settings(
    tmp_path, change
):
    former, mended = CHANGES[change]
    batches = messages(5, 30)
    now = batches[-1][0]
    (tmp_path / "fresh").mkdir()
    old = long_lived(tmp_path, batches, former)
    was = pairs(old)

    parts = again(old, now, mended)
    fresh = after(settings_of(tmp_path / "fresh", **mended), batches)

    mixed, expected = pairs(parts), pairs(fresh)
    assert set(mixed) <= {*was, *expected}
    recent = now - (WAIT - 4.0) * HOUR
    assert [pair for pair in mixed if float(pair[2]) >= recent] == [
        pair for pair in expected if float(pair[2]) >= recent
    ]
    earliest = now - (WAIT + 3.0) * HOUR
    assert [pair for pair in mixed if float(pair[2]) < earliest] == [
        pair for pair in was if float(pair[2]) < earliest
    ]
    fresh.journal.close()
    parts = again(parts, now, mended)
    assert (pairs(parts), parts.remade) == (mixed, "")
    parts.journal.close()


def test_an_event_begins_a_sensor_anew(tmp_path):
    batches, _ = halves()
    now = batches[-1][0]
    parts = again(long_lived(tmp_path, batches), now, NEW)
    for sensor in SENSORS:
        (before,) = notices_of(parts, now)
        assert f"of {3 - SENSORS.index(sensor)} sensor" in before
        event = {"time": datetime.fromtimestamp(now, UTC).isoformat(), "event": "adjusted"}
        take(parts, [(now, [Sent(f"monitor/{sensor}/event", json.dumps(event).encode())])])
    assert [*notices_of(parts, now)] == []
    parts = again(parts, now, NEW)
    assert [*notices_of(parts, now)] == []
    parts.journal.close()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("reading", ("value: v, u: u", "value: v, u: u, scale: 2")),
        ("reference", ("u: u}", "U: u}")),
    ],
)
def test_what_was_read_otherwise_stays_and_is_counted(tmp_path, kind, change):
    batches, _ = halves()
    now = batches[-1][0]
    parts = long_lived(tmp_path, batches)
    count, was = len(pairs(parts)), pairs(parts)
    parts.journal.close()
    head, mark, tail = SETTINGS.partition(f"kind: {kind}")
    tail = tail.replace(*change, 1)
    text = f"{head}{mark}{tail}".format(
        folder=tmp_path, pairing=MEAN, assumed="0.3", areas="", wait=WAIT
    )

    parts = assemble(parse(text.encode(), "settings.yaml"), now)

    assert pairs(parts) == was
    (notice,) = notices_of(parts, now)
    assert notice.startswith(f"{count} pairs of 3 sensors were made with other settings")
    parts.journal.close()


def test_another_source_of_the_same_form_or_of_another_quantity_changes_nothing(tmp_path):
    batches, _ = halves()
    now = batches[-1][0]
    parts = long_lived(tmp_path, batches)
    parts.journal.close()
    text = SETTINGS.replace(
        "alerts:", '  - {{topic: "more/{{sensor}}/y", kind: reading, unit: m}}\nalerts:'
    ).format(folder=tmp_path, pairing=MEAN, assumed="0.3", areas="", wait=WAIT)

    parts = assemble(parse(text.encode(), "settings.yaml"), now)

    assert (parts.remade, [*notices_of(parts, now)]) == ("", [])
    parts.journal.close()


def transitions(parts: Parts, now: float) -> list[tuple[str, str, str, bool]]:
    """Publish; return every transition of an alert that the journal has, oldest first."""
    network = parts.network
    dispatch = Dispatch(parts.journal.alerts)
    snapshot = network.evaluate(now)
    dispatch.notify(View(snapshot, network.drain_transitions(), network.drain_taken_back()))
    return [(of.sensor, of.before, of.after, of.corrected) for of in dispatch.history[::-1]]


@pytest.mark.parametrize("is_judged_between", [True, False])
def test_an_alert_of_pairs_made_otherwise_ends_once_as_a_correction(tmp_path, is_judged_between):
    batches, _ = halves(120)
    now = batches[-1][0]
    given = {"pairing": f"{MEAN}, correlation: 1", "assumed": "0.9"}
    parts = after(settings_of(tmp_path, **given), batches[:-1])
    transitions(parts, now)
    take(parts, batches[-1:])
    before = transitions(parts, now)
    assert ("a", "ok", "firing", False) in before
    save_all_evidence(parts.network, parts.journal)
    mended = {"pairing": f"{MEAN}, correlation: 0", "assumed": "0.4"}
    folder = parts.journal.path.parent
    parts.journal.close()
    parts = assemble(settings_of(folder, **mended), now)
    if not is_judged_between:
        parts.journal.close()
        parts = assemble(settings_of(folder, **mended), now)

    ends = [("a", "firing", "resolved", True), ("b", "firing", "resolved", True)]
    assert transitions(parts, now) == before + ends
    later = transitions(parts, now)
    assert [each for each in later if each[1] == "firing"] == ends
    parts.journal.close()
    parts = assemble(settings_of(folder, **mended), now)
    assert transitions(parts, now) == later
    parts.journal.close()


def test_a_pair_whose_reading_was_dropped_stays_though_its_reference_is_revised_long_after(
    tmp_path,
):
    """The journal dropped everything there was before the revision."""
    batches, _ = halves()
    now = batches[-1][0]
    parts = long_lived(tmp_path, batches)
    later = now + 2 * WAIT * HOUR
    parts.network.expire(later)
    parts.journal.expire(observations_before=now + HOUR, pairs_before=-np.inf)
    assert [*parts.journal.observations()] == []
    at = START + 5 * HOUR
    body = {"t": at + 1900.0, "v": 30.0, "u": 0.1, "s": at, "e": at + HOUR, "key": "k5-3", "r": 2}
    take(parts, [(later, [Sent("station/a/x", json.dumps(body).encode())])])
    was = pairs(parts)
    assert sum(pair[8] == "30.0" for pair in was) == 1

    parts = again(parts, later, NEW)

    assert pairs(parts) == was
    parts.journal.close()


# -- by hand, and killed on the way ---------------------------------------------------------------


def written(folder: Path, given) -> str:
    """Write a settings file for the command; return its path."""
    text = SETTINGS.format(
        folder=folder, **{"pairing": "", "assumed": "0.3", "areas": "", "wait": WAIT, **given}
    )
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def in_journal(folder: Path) -> bytes:
    journal = Journal(folder / "journal.sqlite")
    try:
        return in_event_order(journal.pairs()).tobytes()
    finally:
        journal.close()


def test_the_command_says_how_many_pairs_it_made_again_and_how_many_it_cannot(tmp_path, capsys):
    batches, _ = halves()
    parts = long_lived(tmp_path, batches)
    count, file = len(pairs(parts)), written(tmp_path, NEW)

    assert main(["journal", "repair-pairs", "--config", file]) == JournalBusyError.exit_code
    assert "another process has this journal open; stop it" in capsys.readouterr().err
    parts.journal.close()

    assert main(["journal", "repair-pairs", "--config", file]) == 0
    remade, stay = capsys.readouterr().out.splitlines()
    made = int(
        re.search(
            r": (\d+) pairs of 3 sensors were made again with the settings in force$", remade
        )[1]
    )
    left = int(re.search(r": (\d+) pairs of 3 sensors were made with other", stay)[1])
    assert (made + left, made > 20, left > 20) == (count, True, True)

    after_it = in_journal(tmp_path)
    assert main(["journal", "repair-pairs", "--config", file]) == 0
    same, stay_again = capsys.readouterr().out.splitlines()
    assert "all pairs that can be made again are as the settings make them" in same
    assert stay_again == stay
    assert in_journal(tmp_path) == after_it

    (tmp_path / "journal.sqlite").unlink()
    assert main(["journal", "repair-pairs", "--config", file]) != 0
    assert not (tmp_path / "journal.sqlite").exists()


def test_the_pairs_that_damage_cost_are_made_again_from_what_is_still_held(tmp_path, capsys):
    settings, file = settings_of(tmp_path, **OLD), written(tmp_path, OLD)
    parts = after(settings, messages(3, 10))
    before = pairs(parts)
    parts.journal.close()
    size = len(in_journal(tmp_path))
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.execute("update pairs set body = zeroblob(length(body)) where batch % 2")
    db.close()

    assert main(["journal", "repair", "--config", file]) == 0
    told = capsys.readouterr().out
    lost = int(re.search(r": lost: (\d+) batches of pairs", told)[1])
    assert lost > 1
    assert "`monitor journal repair-pairs --config FILE`" in told
    assert len(in_journal(tmp_path)) < size

    assert main(["journal", "repair-pairs", "--config", file]) == 0
    whole = assemble(settings, START + 10 * HOUR)
    assert pairs(whole) == before
    whole.journal.close()


KILLED = """
import os, signal, sys
from monitor.cli import main
from monitor.journal import journal, writing

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

append, notes, point = journal.Journal.append, writing.Writer._replace_notes, sys.argv[1]

def appending(self, batch):
    if point == "before" and batch.pairs.size:
        die()
    append(self, batch)
    if point == "after" and batch.pairs.size:
        die()

journal.Journal.append = appending
if point == "during":
    writing.Writer._replace_notes = die
sys.exit(main(["journal", "repair-pairs", "--config", sys.argv[2]]))
"""


@pytest.mark.parametrize("point", ["before", "during", "after"])
def test_a_kill_leaves_all_old_pairs_or_all_new_ones_and_the_next_start_makes_the_rest(
    tmp_path, point
):
    batches, _ = halves()
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        long_lived(tmp_path / name, batches).journal.close()
    old = in_journal(tmp_path / "killed")
    assert main(["journal", "repair-pairs", "--config", written(tmp_path / "whole", NEW)]) == 0
    new = in_journal(tmp_path / "whole")
    file = written(tmp_path / "killed", NEW)

    killed = subprocess.run([sys.executable, "-c", KILLED, point, file], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert in_journal(tmp_path / "killed") == (new if point == "after" else old) != b""
    now = batches[-1][0]
    parts = assemble(settings_of(tmp_path / "killed", **NEW, wait=WAIT), now)
    whole = assemble(settings_of(tmp_path / "whole", **NEW, wait=WAIT), now)
    assert [*notices_of(parts, now)] == [*notices_of(whole, now)] != []
    parts.journal.close()
    whole.journal.close()
    assert in_journal(tmp_path / "killed") == new


def test_with_a_full_disk_a_start_goes_on_with_the_former_pairs_and_the_next_one_makes_them(
    tmp_path, monkeypatch
):
    batches, _ = halves()
    now = batches[-1][0]
    parts = long_lived(tmp_path, batches)
    was = pairs(parts)

    def full(*_: object) -> None:
        raise JournalFullError(tmp_path)

    monkeypatch.setattr(Journal, "append", full)
    parts = again(parts, now, NEW)
    assert pairs(parts) == was
    assert "until the next start pairs stay as other settings made them" in parts.remade
    monkeypatch.undo()
    parts = again(parts, now, NEW)
    assert pairs(parts) != was
    parts.journal.close()
