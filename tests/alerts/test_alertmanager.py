"""The sink alertmanager with a real Alertmanager, which notifies a receiver of what it has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec
import pytest
from harness.alertmanager import Alertmanager
from harness.programs import until
from harness.receiver import Answer, Receiver
from harness.transitions import CALM, transition

from monitor.alerts.alertmanager import AlertmanagerSink, alert_of, bodies
from monitor.alerts.outlet import LaterError, Outlet
from monitor.alerts.posting import Poster, Target
from monitor.alerts.transition import Transition
from monitor.config import SettingsError, parse

NAMES = {"sensor": 'Waage 3 \N{GREEK SMALL LETTER MU}/\N{PILE OF POO}"', "quantity": "m/s"}
CONFIGURATION = """
route:
  receiver: people
  group_by: [sensor]
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: people
    webhook_configs: [{url: "URL", send_resolved: true}]
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.stop()


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Receiver) -> Iterator[Alertmanager]:
    running = Alertmanager(tmp_path, CONFIGURATION.replace("URL", receiver.url()))
    yield running
    running.stop()


Start = Callable[[list[Transition]], Outlet]


@pytest.fixture
def start(alertmanager: Alertmanager) -> Iterator[Start]:
    """Return what starts an outlet that repeats a list of transitions."""
    made: list[Outlet] = []

    def begin(current: list[Transition]) -> Outlet:
        outlet = Outlet("alertmanager", sink(f"http://{alertmanager.target}", 0.2), CALM)
        made.append(outlet)
        outlet.start(0, lambda: current)
        return outlet

    yield begin
    for each in made:
        each.stop(5.0)


def sink(url: str, repeat_seconds: float = 60.0, timeout_seconds: float = 10.0) -> AlertmanagerSink:
    target = Target(f"{url}/api/v2/alerts", timeout_seconds=timeout_seconds)
    return AlertmanagerSink(Poster(target), "https://monitor.example", repeat_seconds)


def ended(of: Transition, after: str = "resolved", **more) -> Transition:
    texts = {"before": "firing", "after": after, "sentence": "no fault found yet", "advice": ""}
    times = {"began": of.time, "notified": of.notified + 5.0, "estimate": None}
    return msgspec.structs.replace(of, seq=of.seq + 1, **(texts | times | more))


def notified(receiver: Receiver) -> list[tuple[str, str, str]]:
    """Return (status, fault, sentence) of every alert in every notification, in their order."""
    return [
        (alert["status"], alert["labels"]["fault"], alert["annotations"]["sentence"])
        for post in list(receiver.posts)
        for alert in post.json["alerts"]
    ]


def test_a_fault_fires_takes_another_name_and_ends_each_told_once(alertmanager, start, receiver):
    begun = transition(1, **NAMES, peers=30, site="dock")
    current = [begun]
    outlet = start(current)
    outlet.offer(1, begun)
    until("it is told", lambda: notified(receiver))
    (alert,) = receiver.posts[0].json["alerts"]
    assert alert["labels"] == {
        "alertname": "SensorOffset",
        **NAMES,
        "fault": "offset",
        "group": "carts",
        "site": "dock",
        "severity": "warning",
    }
    assert datetime.fromisoformat(alert["startsAt"]).timestamp() == begun.notified
    assert alert["annotations"] == {
        "summary": f"{NAMES['sensor']} (m/s) reads 3 kg heavy",
        "sentence": "reads 3 kg heavy",
        "advice": "subtract 3 kg",
        "many": "read heavy",
        "of": "30",
        "page_url": "https://monitor.example/series/Waage%203%20%CE%BC%2F%F0%9F%92%A9%22/m%2Fs",
        "runbook_url": "https://monitor.example/docs/alerts#sensoroffset",
    }

    other = transition(3, **NAMES, alert="gain", site="dock", peers=30, sentence="has a gain of 2")
    current[:] = [ended(begun, sentence="has a gain of 2"), other]
    outlet.offer(2, current[0])
    outlet.offer(3, other)
    until(
        "the other name is told",
        lambda: ("firing", "gain", "has a gain of 2") in notified(receiver),
    )
    until(
        "the first ended", lambda: ("resolved", "offset", "has a gain of 2") in notified(receiver)
    )
    current[:] = [ended(other)]
    outlet.offer(4, current[0])
    until("it is over", lambda: ("resolved", "gain", "no fault found yet") in notified(receiver))

    firing = [each for each in notified(receiver) if each[0] == "firing"]
    assert list(dict.fromkeys(firing)) == [
        ("firing", "offset", "reads 3 kg heavy"),
        ("firing", "gain", "has a gain of 2"),
    ]
    assert outlet.failed == 0


@pytest.mark.parametrize("more", [{"after": "unknown"}, {"corrected": True}])
def test_an_alert_that_is_taken_back_or_no_longer_known_ends(start, receiver, more):
    begun = transition(1)
    current = [begun]
    outlet = start(current)
    until("it is told", lambda: notified(receiver))
    current[:] = []
    outlet.offer(2, ended(begun, **more))

    until("it is over", lambda: notified(receiver)[-1][0] == "resolved")
    assert [status for status, *_ in notified(receiver)] == ["firing", "resolved"]


def test_a_reference_that_is_suspect_in_two_units_at_once_has_an_alert_in_each(start, alertmanager):
    units = ("%", "g/m3")
    current = [
        transition(at, sensor="S3", quantity="rh", unit=unit, alert="reference_suspect")
        for at, unit in enumerate(units, start=1)
    ]
    start(current)
    until("both are there", lambda: len(alertmanager.alerts()) == 2)
    current[0] = ended(current[0])
    until("one ended", lambda: len(alertmanager.alerts()) == 1)

    assert [each["labels"]["unit"] for each in alertmanager.alerts()] == ["g/m3"]


def test_a_restart_of_either_side_tells_nothing_twice_and_loses_nothing(
    alertmanager, start, receiver
):
    first, second = transition(1), transition(2, sensor="t")
    outlet = start([first])
    until("it is told", lambda: len(notified(receiver)) == 1)
    alertmanager.stop()
    failed = outlet.failed
    outlet.offer(2, second)  # fires while nobody listens
    until("it waits", lambda: outlet.failed > failed and outlet.waiting == 1)
    outlet.stop(0.0)
    alertmanager.start()  # without its alerts: it stores only what it told
    assert alertmanager.alerts() == []

    current = [first, second]
    other = start(current)
    other.offer(2, second)
    until("the second is told", lambda: len(notified(receiver)) == 2)
    current[:] = [ended(first), ended(second)]
    until("both are over", lambda: len(notified(receiver)) == 4)
    later = other.delivered
    other.offer(5, transition(5, sensor="last"))
    until("more is told", lambda: len(notified(receiver)) == 5 and other.delivered > later)
    assert sorted(status for status, *_ in notified(receiver)) == ["firing"] * 3 + ["resolved"] * 2


PAGE = Answer(200, {"content-type": "text/html; charset=utf-8"}, body=b"<h1>Please log in</h1>")


@pytest.mark.parametrize(
    "answer", [Answer(400), Answer(302, {"location": "/"}), Answer(401), Answer(503), PAGE]
)
def test_what_is_not_accepted_waits(receiver, answer):
    receiver.plan, receiver.usual = [answer], Answer(200)
    outlet = Outlet("alertmanager", sink(receiver.url("")), CALM, jitter=lambda: 0.01)
    outlet.start(0)
    outlet.offer(1, transition(1))
    until("it is delivered", lambda: outlet.done == 1)
    outlet.stop(5.0)

    assert (outlet.delivered, outlet.dropped, outlet.failed > 0) == (1, 0, True)
    assert {post.path for post in receiver.posts} == {"/api/v2/alerts"}


def test_a_server_that_does_not_end_its_answer_costs_one_time_limit(receiver):
    receiver.usual = Answer(200, drip=True)
    slow = sink(receiver.url(""), timeout_seconds=0.2)

    with pytest.raises(LaterError, match="no answer"):
        slow.deliver(transition(1))
    slow.close()


def test_posts_stay_below_64_kb_and_hold_every_alert_once():
    texts = {"sentence": "reads \N{DEGREE SIGN} " * 60, "advice": "subtract it " * 80}
    many = [alert_of(transition(at, sensor=f"s{at}", **texts), 2e9) for at in range(200)]
    posts = list(bodies(many))

    assert len(posts) > 1
    assert max(map(len, posts)) < 64 * 1024
    assert [each for post in posts for each in json.loads(post)] == many


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{}", "sinks.alertmanager.url"),
        ("{url: 'http://am.example:9093'}", "sinks.alertmanager.url"),
        ("{url: 'http://127.0.0.1:9093/api/v2/alerts'}", "sinks.alertmanager.url"),
        ("{url: 'http://me:secret@127.0.0.1:9093'}", "sinks.alertmanager.url"),
        ("{url: 'http://127.0.0.1:9093', repeat_seconds: 0}", "sinks.alertmanager.repeat_seconds"),
        ("{url: 'http://127.0.0.1:9093', labels: {}}", "sinks.alertmanager.labels"),
    ],
)
def test_settings_with_mistakes_are_refused_with_their_place(text, place):
    with pytest.raises(SettingsError) as refused:
        parse(f"sinks: {{alertmanager: {text}}}".encode(), "f")

    assert place in str(refused.value)
    assert "secret" not in str(refused.value)
