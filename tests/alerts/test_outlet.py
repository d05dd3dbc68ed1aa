"""What sinks are told survives kills, restarts, and receivers and brokers that are away."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import paho.mqtt.client as paho
import pytest
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, until
from harness.receiver import Answer, Receiver
from harness.transitions import CALM, transition
from paho.mqtt.enums import CallbackAPIVersion

from monitor.alerts.mqtt_sink import MqttSink, MqttSinkSettings
from monitor.alerts.outlet import (
    QUEUE,
    LaterError,
    Outlet,
    RefusedError,
)
from monitor.mqtt.publish import BrokerPublisher


@pytest.fixture
def receiver():
    running = Receiver()
    yield running
    running.stop()


def retained(port: int, topics: str) -> dict[str, bytes]:
    """Return what a broker keeps under some topics."""
    found: dict[str, bytes] = {}
    done = threading.Event()
    client = paho.Client(CallbackAPIVersion.VERSION2)
    client.on_message = lambda _c, _d, each: found.__setitem__(each.topic, each.payload)
    client.on_subscribe = lambda *_words: client.publish("ping", b"", qos=1)
    client.on_publish = lambda *_words: done.set()  # after the retained ones, in order
    client.connect("127.0.0.1", port)
    client.subscribe(topics, qos=1)
    client.loop_start()
    assert done.wait(WAIT_SECONDS)
    client.disconnect()
    client.loop_stop()
    client.on_subscribe = None  # it holds the client, whose sockets close when nobody does
    return found


def send(port: int, first: int, pairs: int, offset: float) -> None:
    chance = random.Random(first)
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in range(first, first + pairs):
            time = f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"
            value = 10.0 + offset + chance.gauss(0.0, 1.0)
            reading = {"time": time, "value": value, "u": 1.0}
            out.publish("monitor/s/x/reading", json.dumps(reading).encode())
            reference = {"time": time, "value": 10.0, "u": 0.1}
            out.publish("monitor/s/x/reference", json.dumps(reference).encode())


def assert_shown(daemon: Daemon, port: int, incident: str) -> None:
    """Hold interface, pages and retained message against an offset that came and went."""
    history = daemon.json("/api/v1/alerts?history=10&sensor=s")["history"]
    assert [each["to"] for each in history if each["to"] != "pending"] == ["resolved", "firing"]
    assert daemon.json("/api/v1/alerts?history=10&sensor=t")["history"] == []
    assert "history" not in daemon.json("/api/v1/alerts")
    assert "resolved</span>" in daemon.get("/alerts")[1].decode()
    assert "resolved</span>" in daemon.get("/series/s/x")[1].decode()
    kept = json.loads(retained(port, "monitor/alert/#")["monitor/alert/s/x/offset"])
    assert (kept["active"], kept["to"], kept["incident"]) == (False, "resolved", incident)


# -- the whole daemon -------------------------------------------------------------------------


def test_nothing_is_lost_and_nothing_told_twice_through_kills_and_a_receiver_that_is_away(
    tmp_path: Path, mosquitto, receiver
):
    hook = f'{{url: "{receiver.url("/?token=geheim")}", secret_env: HOOK, retry_seconds_max: 0.2}}'
    settings = f"sinks: {{mqtt: {{}}, webhook: {hook}}}\nseries: {{stale_after_seconds: 1000000}}"
    daemon = Daemon(tmp_path, mosquitto.port, settings, environment={"HOOK": "whsec_c2VjcmV0"})
    log = ""

    def waits() -> bool:
        return daemon.value('monitor_sink_queue_length{sink="webhook"}') > 0.0

    try:
        receiver.usual = Answer(503)
        daemon.start()
        send(mosquitto.port, 0, 40, 4.0)
        until("the receiver is tried", lambda: len(receiver.posts) > 1)
        until("it waits", waits)
        until("it counts", lambda: daemon.value('monitor_sink_failed_total{sink="webhook"}') > 0.0)
        shown = daemon.get("/metrics")[1] + daemon.get("/api/v1/settings")[1]
        log += daemon.log()
        daemon.kill()

        receiver.usual = Answer(wait=60.0)
        tried = len(receiver.posts)
        daemon.start()
        until("the receiver is tried again, and stalls", lambda: len(receiver.posts) > tried)
        log += daemon.log()
        daemon.kill()
        assert {post.json["to"] for post in receiver.posts} == {"firing"}
        stalled = [post.status for post in receiver.posts].count(204)
        receiver.posts = [post for post in receiver.posts if post.status != 204]

        receiver.usual = Answer()
        daemon.start()
        until("it is told", lambda: receiver.told() == [("offset", "firing")])
        until("it is noted", lambda: not waits())
        (name,) = {post.json["id"] for post in receiver.posts}
        assert stalled
        log += daemon.log()
        daemon.stop()

        before = len(receiver.posts)
        daemon.start()
        send(mosquitto.port, 40, 200, 0.0)
        until("the end is told", lambda: receiver.told()[1:] == [("offset", "resolved")])
        until("the end is noted", lambda: not waits())
        daemon.kill()
        daemon.start()
        until("it waits for nothing", lambda: not waits())
        log += daemon.log()
        new = [post.json for post in receiver.posts[before:]]
        assert {(each["to"], each["incident"]) for each in new} == {("resolved", name)}
        assert_shown(daemon, mosquitto.port, name)
    finally:
        daemon.kill()
    assert not [word for word in ("geheim", "c2VjcmV0", "HOOK") if word in log + shown.decode()]


# -- MQTT -------------------------------------------------------------------------------------


def broker(mosquitto, **more):
    return lambda: BrokerPublisher("127.0.0.1", mosquitto.port, timeout_seconds=2.0, **more)


def test_a_broker_that_is_away_or_refuses_is_tried_later(mosquitto):
    away = MqttSink(MqttSinkSettings(), lambda: BrokerPublisher("127.0.0.1", 1))
    with pytest.raises(LaterError, match="broker"):
        away.deliver(transition(1))

    sink = MqttSink(MqttSinkSettings(), broker(mosquitto))
    outlet = Outlet("mqtt", sink, CALM, jitter=lambda: 0.05)
    mosquitto.stop()
    outlet.start(0)
    outlet.offer(1, transition(1))
    until("it is tried", lambda: outlet.failed > 1)
    mosquitto.start()
    until("it is told", lambda: outlet.done == 1)
    outlet.stop(5.0)
    assert list(retained(mosquitto.port, "monitor/#")) == ["monitor/alert/s/mass/offset"]


# -- outlets ----------------------------------------------------------------------------------


class Listed:
    """A sink that does as it is told, else lists what comes."""

    def __init__(self, *plan: BaseException) -> None:
        self.plan = list(plan)
        self.heard: list[int] = []
        self.closed = False

    def deliver(self, of) -> None:
        if self.plan:
            raise self.plan.pop(0)
        self.heard.append(of.seq)

    def close(self) -> None:
        self.closed = True


def working(sink, patience=CALM, **more) -> Outlet:
    outlet = Outlet("listed", sink, patience, jitter=lambda: 0.001, **more)
    outlet.start(0)
    return outlet


def test_what_is_refused_is_dropped_and_the_rest_goes_on(caplog):
    sink = Listed(RefusedError("no"), LaterError("wait"), KeyError("a fault"))
    outlet = working(sink)
    outlet.offer(1, transition(1))
    outlet.offer(2, None)
    outlet.offer(3, transition(3))
    until("all is done", lambda: outlet.done == 3)
    outlet.stop(5.0)

    assert sink.heard == [3]
    assert sink.closed
    assert (outlet.delivered, outlet.failed, outlet.dropped) == (1, 3, 1)
    assert "gave up" in caplog.text
    assert "delivering again" not in caplog.text or "cannot deliver" in caplog.text


def test_what_is_too_old_is_given_up():
    clock = iter(range(0, 10**9, 1800))
    sink = Listed(*(LaterError("wait") for _ in range(4)))
    outlet = working(sink, monotonic=lambda: float(next(clock)))
    outlet.offer(1, transition(1))
    until("it is given up", lambda: outlet.dropped == 1)
    outlet.stop(5.0)
    assert outlet.done == 1


def test_an_outlet_that_is_stopped_leaves_what_it_could_not_deliver():
    sink = Listed(LaterError("wait", 3600.0))
    outlet = working(sink)
    outlet.offer(1, transition(1))
    until("it is tried", lambda: outlet.failed == 1)
    assert outlet.room == QUEUE - 1
    outlet.stop(5.0)

    assert (outlet.done, outlet.waiting, sink.heard, sink.closed) == (0, 1, [], True)
