"""What is not read is told with the settings that read it."""

from __future__ import annotations

import pytest
from harness.device_messages import at, sensor_community, sent

from monitor.config import parse
from monitor.extensions.discover.proposal import propose
from tests.extensions.discover.test_proposal import BROKER, NOW, heard, proposed


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            sent(
                "senml/n1",
                [{"bn": "urn:1:", "n": "kg", "v": 5}, {"bn": "urn:2:", "n": "kg", "v": 6}],
            ),
            "local: [kg]",
        ),
        (sensor_community(NOW)[0], "quantity: temperature, value: value"),
        (sent("heads/c3", "512,LB,03/09/04"), 'columns: [value, "", ""]'),
        (sent("heads/c4", "21,5;LB"), 'delimiter: ";", columns: [value, ""]'),
        (sent("cmms/x/adjustment", {"at": at(NOW), "what": "adjusted"}), "{time: at, event: what}"),
    ],
)
def test_what_cannot_be_proposed_is_told_with_what_reads_it(message, says):
    found = propose(heard(message), NOW, BROKER)

    (line,) = [each for each in found.missing if message.topic in each]
    assert line.startswith(f"not read: {message.topic} ")
    assert says in line
    given = (
        line.partition("Add a source above the others: ")[2]
        .partition(" (docs/")[0]
        .partition(", each column")[0]
    )
    topic = "a/{sensor}" if "quantity" in given or "event" in given else "a/{sensor}/{quantity}"
    more = [
        given.replace("...", f'"{topic}"'),
        '{topic: "b/{sensor}/{quantity}", kind: reading}',
        '{topic: "r/{subject}/{quantity}", kind: reference}',
    ]
    parse(f"sources: [{', '.join(more)}]".encode(), "proposed")


@pytest.mark.parametrize(
    "payload",
    [
        [{"ts": NOW, "kg": 512.5}],
        {"readings": [{"ts": NOW, "kg": 512.5}]},
        "weather,node=n1 temp=21.5,u=0.2 1800000000000000000",
        "21.5 km/h gusting",
        "+ 0000.0003",
        '{"temperature": 21.0}\n{"temperature": 21.1}',
        b"\xff\xd8\xff\xe0",
    ],
)
def test_batches_and_lines_are_not_passed_over_in_silence(payload):
    plain = sent("shed/a1/up", {"temperature": 21.0})
    found = proposed(heard(plain, sent("farm/s1/batch", payload)))

    assert any("no quantity was recognised there: farm/s1/batch." in each for each in found.missing)


@pytest.mark.parametrize("payload", ["online", "v1.2.3", "192.168.1.5", [1, 2], ["a"], {"a": []}])
def test_texts_and_lists_without_a_quantity_are_left_alone(payload):
    plain = sent("shed/a1/up", {"temperature": 21.0})
    found = proposed(heard(plain, sent("farm/s1/state", payload)))

    assert not any("farm/s1/state" in each for each in found.missing)


def test_events_of_devices_that_are_no_words_are_left_alone():
    assert not propose(heard(sent("a/b/event", {"temperature": 21.5})), NOW, BROKER).missing[1:]
