"""The webhook against a real server that takes, refuses, stalls and lies; the signature."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
from email.utils import format_datetime
from pathlib import Path

import pytest
from harness.certificates import Authority
from harness.programs import until
from harness.receiver import Answer, Receiver
from harness.transitions import CALM, transition

from monitor.alerts.outlet import LaterError, Outlet, RefusedError
from monitor.alerts.posting import Target
from monitor.alerts.transition import transition_document
from monitor.alerts.webhook import WebhookSink

NOW = 1_780_000_000.0


@pytest.fixture
def receiver():
    running = Receiver()
    yield running
    running.stop()


@pytest.fixture
def outlet_to():
    """Return what makes a working outlet to a target; all are stopped in the end."""
    made: list[Outlet] = []

    def make(target: Target, patience=CALM, **more) -> Outlet:
        outlet = Outlet("webhook", WebhookSink(target, clock=lambda: NOW), patience, **more)
        made.append(outlet)
        outlet.start(0)
        return outlet

    yield make
    for outlet in made:
        outlet.stop(5.0)


def told(sink: WebhookSink, *transitions) -> None:
    try:
        for each in transitions:
            sink.deliver(each)
    finally:
        sink.close()


def test_a_message_links_to_the_page_and_the_runbook_where_people_reach_them(receiver):
    public = "https://monitor.example/x"
    names = {"sensor": "a b", "quantity": "m/s"}
    told(
        WebhookSink(Target(receiver.url(), public_url=public)),
        transition(1, **names),
        transition(2, **names, alert="high_zms"),
        transition(3, **names, alert="reference_suspect"),
        transition(4, **names, alert="reference_stale"),
        transition(5, **names, alert="rejected_share"),
    )

    page = f"{public}/series/a%20b/m%2Fs"
    assert [(post.json["page_url"], post.json["runbook_url"]) for post in receiver.posts] == [
        (page, f"{public}/docs/alerts#sensoroffset"),
        (page, f"{public}/docs/alerts#sensorthreshold"),
        (f"{public}/alerts", f"{public}/docs/alerts#monitorreferencesuspect"),
        (page, f"{public}/docs/alerts#sensorreferencestale"),
        (page, f"{public}/docs/alerts#sensorrejected"),
    ]


def test_what_is_posted_and_that_a_receiver_can_verify_it(receiver):
    secret = b"a secret of thirty-two characters"
    one = transition(1)
    target = Target(receiver.url("/hook?x=1"), secret, "Bearer abc")
    told(WebhookSink(target, clock=lambda: NOW), one)

    (post,) = receiver.posts
    assert post.path == "/hook?x=1"
    assert post.headers["content-type"] == "application/json"
    assert post.headers["authorization"] == "Bearer abc"
    assert post.json == {"version": 1, "text": "s reads 3 kg heavy", **transition_document(one)}
    assert post.headers["webhook-id"] == one.id
    assert post.headers["webhook-timestamp"] == str(int(NOW))
    signed = f"{one.id}.{int(NOW)}.".encode() + post.body
    proof = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert post.headers["webhook-signature"] == f"v1,{proof}"


def test_without_secret_nothing_is_signed_and_pending_is_not_posted(receiver):
    told(WebhookSink(Target(receiver.url())), transition(1, after="pending"), transition(2))

    (post,) = receiver.posts
    assert post.json["to"] == "firing"
    assert "webhook-signature" not in post.headers
    assert "authorization" not in post.headers


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 599])
def test_what_is_to_be_tried_again(receiver, status):
    receiver.plan = [Answer(status)]

    with pytest.raises(LaterError, match=str(status)):
        told(WebhookSink(Target(receiver.url())), transition(1))


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 410, 422])
def test_what_is_refused_for_good_and_that_redirects_are_not_followed(receiver, status):
    receiver.plan = [Answer(status, {"location": receiver.url("/other")})]

    with pytest.raises(RefusedError, match=str(status)):
        told(WebhookSink(Target(receiver.url())), transition(1))
    assert [post.path for post in receiver.posts] == ["/hook"]


def test_a_server_that_stalls_or_drips_costs_one_bounded_attempt(receiver):
    for answer in (Answer(wait=30.0), Answer(200, drip=True), Answer(200, drip_head=True)):
        receiver.plan = [answer]
        with pytest.raises(LaterError, match="no answer"):
            told(WebhookSink(Target(receiver.url(), timeout_seconds=0.3)), transition(1))


def test_a_connection_is_kept_unless_it_was_idle_for_long(receiver):
    now = [0.0]
    sink = WebhookSink(Target(receiver.url()), monotonic=lambda: now[0])
    for at in (0.0, 20.0, 100.0):
        now[0] = at
        sink.deliver(transition(1))
    sink.close()

    first, soon, late = (post.peer for post in receiver.posts)
    assert first == soon != late


def test_of_a_long_answer_no_more_is_read_than_need_be(receiver):
    receiver.plan = [Answer(200, body=b"x" * 10_000_000)]
    sink = WebhookSink(Target(receiver.url()))
    sink.deliver(transition(1))
    sink.deliver(transition(2))
    sink.close()

    assert [post.json["id"] for post in receiver.posts] == [transition(n).id for n in (1, 2)]
    assert receiver.posts[0].peer != receiver.posts[1].peer


def test_a_server_that_is_not_there_is_tried_later_and_the_address_is_not_told(receiver):
    address = receiver.url("/hook?token=geheim")
    receiver.stop()

    with pytest.raises(LaterError) as caught:
        told(WebhookSink(Target(address, b"key", "Bearer abc")), transition(1))
    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_no_secret_in_what_python_prints_or_urllib3_logs(receiver, caplog):
    caplog.set_level("DEBUG")
    target = Target(receiver.url("/hook?token=geheim"), b"key", "Bearer abc")
    told(WebhookSink(target), transition(1))

    shown = repr(target) + str(target) + caplog.text
    assert not [word for word in ("geheim", "key", "abc") if word in shown]


def test_certificates_are_checked(tmp_path: Path):
    authority = Authority(tmp_path)
    server = Receiver(authority.issue("server", "localhost"))
    other = Authority(tmp_path / "other")
    try:
        good = Target(server.url(scheme="https", host="localhost"), ca_file=str(authority.ca_file))
        told(WebhookSink(good), transition(1))
        for wrong in (
            good._replace(ca_file=None),
            good._replace(ca_file=str(other.ca_file)),
            good._replace(url=server.url(scheme="https")),  # not the name in the certificate
        ):
            with pytest.raises(LaterError):
                told(WebhookSink(wrong), transition(2))
        assert [post.json["id"] for post in server.posts] == [transition(1).id]
    finally:
        server.stop()
    with pytest.raises((OSError, ssl.SSLError)):
        WebhookSink(Target("https://localhost", ca_file=str(tmp_path / "none.pem")))


def test_all_arrive_once_and_in_order_through_a_server_that_fails_now_and_then(receiver, outlet_to):
    receiver.plan = [Answer(500), Answer(), Answer(429), Answer(503), Answer(wait=0.5), Answer()]
    outlet = outlet_to(Target(receiver.url(), timeout_seconds=0.2), jitter=lambda: 0.01)
    for seq in range(1, 6):
        outlet.offer(seq, transition(seq))
    until("all are delivered", lambda: outlet.done == 5)

    taken = [post.json["id"] for post in receiver.posts if post.status < 300]
    assert list(dict.fromkeys(taken)) == [transition(seq).id for seq in range(1, 6)]
    assert (outlet.delivered, outlet.failed, outlet.dropped) == (5, 4, 0)
    assert outlet.waiting == 0


def test_a_pause_that_the_server_asks_for_is_kept(receiver):
    until_monday = {"retry-after": "86399"}
    date = {"retry-after": format_datetime(_at(NOW + 60.0), usegmt=True)}
    receiver.plan = [Answer(429, until_monday), Answer(503, date)]
    for asked in (86_399.0, 60.0):
        with pytest.raises(LaterError) as caught:
            told(WebhookSink(Target(receiver.url()), clock=lambda: NOW), transition(1))
        assert caught.value.seconds == asked


def _at(seconds: float):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC)


def test_text_of_any_kind_arrives_as_json(receiver):
    odd = transition(1, sentence='reads 3 \N{MICRO SIGN}g/m\N{SUPERSCRIPT THREE} "high" \\ \n')
    told(WebhookSink(Target(receiver.url())), odd)

    assert json.loads(receiver.posts[0].body)["sentence"] == odd.sentence
