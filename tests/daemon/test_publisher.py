"""Publishing takes turns with the data, and costs what is asked for."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from monitor.config import Settings
from monitor.core.detector.kept_evidence import PAIRS
from monitor.core.model import Event, Reading, Reference
from monitor.daemon.assembly import assemble
from monitor.daemon.checkpoints import save_all_evidence
from monitor.daemon.listeners import Listener
from monitor.daemon.loop import Daemon
from monitor.daemon.newest_letters import LETTERS_A_TOPIC
from monitor.daemon.publisher import Publisher
from monitor.explain import doctor
from monitor.http.metrics import Exposition
from monitor.http.published import OnDemandRequests, Page
from monitor.journal import Batch, JournalFullError
from monitor.mqtt.inbox import InboxMessage

NOW = 1_780_000_000.0
CONNECTED = {
    "connected": True, "status": "", "sessions_lost": 0, "reconnects": 0,
    "full_reads": 0, "stale_acknowledgements": 0, "denied": {}, "last_message": {},
    "tls_not_after": None,
}  # fmt: skip


class Screen:
    def __init__(self) -> None:
        self.requests = OnDemandRequests(lambda: 0.0)
        self.pages: list[Page] = []
        self.ticks: list[float] = []

    def publish(self, page: Page) -> None:
        self.pages.append(page)

    def tick(self, seconds: float) -> None:
        self.ticks.append(seconds)


@pytest.fixture
def parts(tmp_path):
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "series": {"max_new_per_minute": 1_000_000},
    }
    made = assemble(Settings.model_validate(settings), NOW)
    yield made
    made.journal.close()


def said(second: int, sensors: int, payload: bytes = b"") -> list[InboxMessage]:
    time = datetime.fromtimestamp(NOW - 1000.0 + second, UTC).isoformat()
    body = json.dumps({"time": time, "value": 5.0, "u": 1.0}).encode()
    return [
        InboxMessage(f"monitor/s{at}/mass/{kind}", payload or body, 0, b"", 0)
        for at in range(sensors)
        for kind in ("reading", "reference")
    ]


def take(parts, messages: list[InboxMessage]) -> None:
    parts.intake.commit(parts.intake.prepare(messages, NOW))


def test_the_page_knows_that_the_loop_goes_round_between_two_publications(parts):
    """And how long a connection may take that the loop makes meanwhile."""
    screen = Screen()
    publisher = Publisher(parts, screen)
    for _round in range(5):
        publisher.work(0.01)

    assert (screen.ticks, screen.pages) == ([3.0] * 5, [])


def test_a_publication_goes_on_step_by_step_and_messages_come_between(parts):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    take(parts, said(0, 600))
    publisher.begin(NOW, connection)
    steps = 0
    while publisher.is_busy:
        publisher.work(0.0)
        steps += 1
        take(parts, said(steps, 3))

    (page,) = screen.pages
    assert steps > 8
    assert page.snapshot.time == NOW
    assert page.snapshot.window_pairs[3:].tolist() == [1] * 597
    assert page.snapshot.window_pairs.sum() < 600 + 3 * steps
    publisher.work(0.0)
    assert len(screen.pages) == 1

    publisher.publish(NOW + 1.0, connection)
    assert screen.pages[-1].snapshot.window_pairs.sum() == 600 + 3 * steps


def test_to_publish_at_once_ends_what_is_under_way_and_says_the_newest(parts):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    take(parts, said(0, 300))
    publisher.begin(NOW, connection)
    publisher.work(0.0)
    take(parts, said(1, 300))
    publisher.publish(NOW + 1.0, connection, "the journal is full")

    assert not publisher.is_busy
    assert [page.not_ready for page in screen.pages] == ["the journal is full"] * 2
    assert screen.pages[-1].snapshot.window_pairs.tolist() == [2] * 300


def test_no_sink_learns_of_an_event_before_it_is_durable(parts):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher, network = Publisher(parts, screen), parts.network
    chance = random.Random(1)
    for second in range(60):
        at = NOW - 100.0 + second
        reading = Reading("s0", "mass", at, 9.0 + chance.gauss(0.0, 1.0), u=1.0)
        outcome = network.observe([reading, Reference("s0", "mass", at, 5.0)], NOW)
        parts.journal.append(Batch(pairs=outcome.pairs, series=outcome.series))
        network.apply(outcome.pairs)
    publisher.publish(NOW, connection)
    assert [each.after for each in screen.pages[-1].history] == ["firing"]

    publisher.begin(NOW, connection)
    event = Event("s0", NOW - 1.0, "adjusted")
    network.observe([event], NOW)
    for _ in range(2):
        publisher.publish(NOW, connection, "the journal is full")
    assert [each.after for each in screen.pages[-1].history] == ["firing"]
    parts.journal.append(Batch(events=[event]))
    publisher.publish(NOW + 5.0, connection)
    (told, _) = screen.pages[-1].history
    assert (told.after, told.time) == ("unknown", event.time)


def compared(second: int, reference: float, chance: random.Random, **more) -> list[InboxMessage]:
    """Return an honest reading of 10 and its reference, which has a name and may be revised."""
    time = datetime.fromtimestamp(NOW - 2000.0 + second, UTC).isoformat()
    reading = {"time": time, "value": 10.0 + chance.gauss(0.0, 1.0), "u": 1.0}
    known = {"time": time, "value": reference, "u": 0.1, "id": f"r{second}", **more}
    bodies = {"reference": known} if more else {"reading": reading, "reference": known}
    return [
        InboxMessage(f"monitor/s0/mass/{kind}", json.dumps(body).encode(), 0, b"", 0)
        for kind, body in bodies.items()
    ]


@pytest.mark.parametrize("before", [60, 2 * PAIRS])
@pytest.mark.parametrize("status", ["final", "void"])
def test_an_alert_that_a_revision_takes_back_is_corrected_after_a_kill(tmp_path, before, status):
    """The kill comes between the commit of the revision and the next publication."""
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "pairing": {"mode": "nearest", "tolerance_seconds": 0.4},
    }
    parts = assemble(Settings.model_validate(settings), NOW)
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher, chance = Publisher(parts, screen), random.Random(5)
    wrong = range(before, before + 15)
    take(parts, [each for second in range(before) for each in compared(second, 10.0, chance)])
    publisher.publish(NOW, connection)
    save_all_evidence(parts.network, parts.journal)
    assert len(parts.journal.evidence()) == (before >= PAIRS)
    take(parts, [each for second in wrong for each in compared(second, 14.0, chance)])
    publisher.publish(NOW, connection)
    assert [each.after for each in screen.pages[-1].history] == ["firing"]

    for second in wrong:
        take(parts, compared(second, 10.0, chance, rev=1, status=status))
    parts.journal.close()
    parts = assemble(Settings.model_validate(settings), NOW)
    Publisher(parts, screen).publish(NOW, connection)
    over, begun = screen.pages[-1].history
    parts.journal.close()
    assert (over.after, over.corrected, over.incident) == ("resolved", True, begun.id)
    assert over.sentence == screen.pages[-1].snapshot.sentences[0]
    assert str(over).endswith("(offset: withdrawn)")


def test_what_nobody_asks_for_is_not_made(parts, monkeypatch):
    """No text of metrics, no report of the doctor; dead letters are ordered where there are new."""
    asked: list[str] = []
    letters = parts.letters
    newest = letters.newest
    monkeypatch.setattr(letters, "newest", lambda: (asked.append("letters"), newest())[1])
    report = doctor.doctor_report
    monkeypatch.setattr(
        doctor, "doctor_report", lambda *those: (asked.append("doctor"), report(*those))[1]
    )
    monkeypatch.setattr(Exposition, "parts", lambda *_: asked.append("metrics"))
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    for second in range(3):
        take(parts, said(second, 2))
        publisher.publish(NOW, connection)
    assert asked == []

    take(parts, said(0, 1, b"no JSON"))
    publisher.publish(NOW, connection)
    assert asked == ["letters"]
    assert [each.reason for each in screen.pages[-1].dead_letters] == ["bad_payload"] * 2

    screen.requests.request_doctor()
    publisher.answer(NOW)
    publisher.publish(NOW, connection)
    assert asked.count("doctor") == 1
    assert screen.pages[-1].doctor["received"] == 14


def test_no_sensor_is_lost_among_the_refused_messages_of_another(parts):
    take(parts, said(0, 2))
    take(parts, [InboxMessage("monitor/uzero/mass/reading", b"no", 0, b"", 0)] * 60)
    for _ in range(20):
        take(parts, [InboxMessage("monitor/s0/mass/reading", b"no", 0, b"", 0)] * 60)
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    Publisher(parts, screen).publish(NOW, connection)
    again = assemble(parts.settings, NOW, parts.journal)
    Publisher(again, screen).publish(NOW, connection)

    for page in screen.pages:
        assert Counter(each.topic.split("/")[1] for each in page.dead_letters) == {
            "s0": LETTERS_A_TOPIC,
            "uzero": LETTERS_A_TOPIC,
        }
        assert page.refused.keys() == {"s0", "uzero"}
        assert page.invisible.keys() == {"uzero"}


class Crowd:
    """A source that always has messages; it notes how long it may wait for them."""

    def __init__(self, batches: int) -> None:
        vars(self).update(CONNECTED)
        self.confirmed = 0
        self.left = batches
        self.timeouts: list[float] = []
        self.daemon: Daemon | None = None

    def receive(self, timeout: float) -> list[InboxMessage]:
        assert self.daemon is not None
        self.timeouts.append(timeout)
        self.left -= 1
        if not self.left:
            self.daemon.stop()
        return said(len(self.timeouts), 3 if len(self.timeouts) > 1 else 600)

    def acknowledge(self, messages: list[InboxMessage]) -> int:
        return len(messages)

    def confirm(self, number: int) -> None:
        """Do nothing: no acknowledgement is ever lost."""

    def close(self) -> None:
        self.connected = False


def test_what_a_full_disk_keeps_from_being_durable_is_not_published_at_the_end(tmp_path):
    parts = assemble(Settings(journal={"path": str(tmp_path / "journal.sqlite")}), NOW)
    source, screen, finished = Crowd(1), Screen(), []

    def full(_batch: object) -> None:
        raise JournalFullError("no space left")

    parts.intake.commit = full
    parts.network.keep_evidence = finished.append
    source.daemon = daemon = Daemon(parts, source, Publisher(parts, screen), clock=lambda: NOW)
    daemon.run()

    assert [page.not_ready for page in screen.pages] == ["no space left"]
    assert finished == []


def test_verdicts_go_to_the_broker_only_while_all_is_durable(tmp_path):
    parts = assemble(Settings(journal={"path": str(tmp_path / "journal.sqlite")}), NOW)
    offered: list[object] = []
    listener = Listener()
    listener.publish = offered.append
    parts = parts._replace(listeners=(listener,))
    publisher = Publisher(parts, Screen(), connect=lambda *_: None)
    connection = SimpleNamespace(**CONNECTED)

    publisher.publish(NOW, connection, "no space left")
    assert offered == []
    publisher.publish(NOW, connection)
    assert len(offered) == 1


class Line:
    """A source without messages whose connection comes and goes; ``left`` is what it will be."""

    confirmed, status, sessions_lost, reconnects = 0, "no route to the broker", 0, 0
    full_reads, stale_acknowledgements, tls_not_after = 0, 0, None
    acknowledge = confirm = close = staticmethod(lambda *_: 0)

    def __init__(self, left: list[bool]) -> None:
        self.left, self.last_message = left, {}
        self.connected = False
        self.daemon: Daemon | None = None

    def receive(self, _timeout: float) -> list[InboxMessage]:
        if self.left:
            self.connected = self.left.pop(0)
        elif self.daemon is not None:
            self.daemon.stop()
        return []


def test_that_the_connection_came_or_went_is_published_at_once(tmp_path):
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "publish": {"interval_seconds": 3600},
    }
    parts = assemble(Settings.model_validate(settings), NOW)
    source, screen = Line([False, False, True, True, True, False, False, True]), Screen()
    source.daemon = daemon = Daemon(parts, source, Publisher(parts, screen), clock=lambda: NOW)
    daemon.run()

    *pages, _ = [page.not_ready for page in screen.pages]
    assert pages == [source.status, "", source.status, ""]


def test_the_last_publication_ends_in_time_whatever_is_left_of_it(parts, monkeypatch):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    clock = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))

    def endless(*_arguments):
        while True:
            yield

    publisher.finish(NOW, connection, 1e9)
    monkeypatch.setattr(parts.network, "steps", endless)
    publisher.finish(NOW, connection, 10.0)

    assert len(screen.pages) == 1
    assert next(clock) < 40


def test_a_page_says_what_is_missing_while_more_waits_than_a_read_takes(parts):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    take(parts, said(400, 2))
    for full_reads in (0, 3, 3):
        connection.full_reads = full_reads
        publisher.publish(NOW, connection)

    behind = "catching up: messages wait at the broker, and those of the last 10 min are missing"
    assert [page.catching_up for page in screen.pages] == ["", behind, ""]
    assert [page.notices for page in screen.pages] == [(), (behind,), ()]


def test_a_sensor_is_invisible_until_one_of_its_messages_can_be_used(parts):
    screen, connection = Screen(), SimpleNamespace(**CONNECTED)
    publisher = Publisher(parts, screen)
    take(parts, [*said(0, 2), *said(0, 3, b'{"value": 5.0}')[4:]])
    publisher.publish(NOW, connection)
    assert {sensor: each.reason for sensor, each in screen.pages[-1].invisible.items()} == {
        "s2": "missing_field"
    }

    take(parts, said(1, 3))
    publisher.publish(NOW + 1.0, connection)
    assert screen.pages[-1].invisible == {}


def test_the_page_has_the_places_of_the_settings_and_of_their_file(tmp_path):
    (tmp_path / "places.csv").write_text("sensor,latitude,longitude\ns1,-36.85,174.76\n")
    settings = {
        "journal": {"path": str(tmp_path / "journal.sqlite")},
        "places": [{"sensor": "s0", "latitude": 52.5, "longitude": 13.4}],
        "places_file": str(tmp_path / "places.csv"),
    }
    placed, screen = assemble(Settings.model_validate(settings, strict=False), NOW), Screen()
    Publisher(placed, screen).publish(NOW, SimpleNamespace(**CONNECTED))
    placed.journal.close()

    at = {name: (each.latitude, each.longitude) for name, each in screen.pages[0].places.items()}
    assert at == {"s0": (52.5, 13.4), "s1": (-36.85, 174.76)}
