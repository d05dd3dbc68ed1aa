"""What is heard at a broker."""

from __future__ import annotations

import json

import pytest
from harness.device_messages import (
    at,
    sent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.decode.formats.sparkplug_payload import Payload
from monitor.extensions.discover.heard import Heard
from tests.extensions.discover.test_proposal import NOW, heard, proposed


def sparkplug(**metrics: float) -> bytes:
    """Return a payload of Sparkplug B with a metric for each name, __ standing for /."""
    payload = Payload(timestamp=int(NOW * 1000.0), seq=1)
    for name, number in metrics.items():
        payload.metrics.add(name=name.replace("__", "/"), datatype=10, double_value=number)
    return bytes(payload.SerializeToString())


@pytest.mark.parametrize(("stated", "place"), [({}, "birth"), ({"density__U95": 0.6}, "values")])
def test_sparkplugs_uncertainty_is_read_where_it_is_sent(stated, place):
    topic = "spBv1.0/plant/{}/edge/AT-1"
    born = sparkplug(density__value=841.0, density__U95=0.6, Uptime=7.0)
    data = sparkplug(density__value=842.0, **stated)
    truth = {"time": at(NOW), "value": 841.5, "u": 0.1}
    found = proposed(
        [
            Heard(topic.format("DBIRTH"), born, NOW - 20.0),
            Heard(topic.format("DDATA"), data, NOW),
            *heard(sent("monitor/AT-1/density/reference", truth)),
        ]
    )

    assert f'U: "{place}.density/U95"' in found.text
    assert found.trial.pairs == {("AT-1", "density"): 1}
    stated_u = [each.u for each in found.trial.content.readings["AT-1", "density"]]
    assert stated_u == [pytest.approx(0.6 / 1.959963985)] * len(stated_u)


def test_a_value_that_the_broker_kept_for_an_unknown_time_makes_no_pair():
    kept = Heard("attic/temperature", b"21.5", NOW, retained=True)
    live = Heard("hall/temperature", b"21.3", NOW)
    found = proposed([kept, live, Heard("lab/temperature", b"21.0", NOW)])

    assert {key for key, count in found.trial.pairs.items() if count} == {("hall", "temperature")}
    assert "1 value retained by the broker, of an unknown time: they pair with nothing" in (
        found.findings
    )


TOPICS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), max_size=5)
    | st.sampled_from(["temperature", "sensor", "state", "ref", "spBv1.0", "config", "{x}", "#"]),
    min_size=1,
    max_size=5,
).map("/".join)


NAMES = st.text(max_size=4) | st.sampled_from(
    ["temperature", "value", "u", "lo", "hi", "p", "time", "unit", "status", "start", "end", "kg"]
)


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


PAYLOADS = st.binary(max_size=20) | VALUES.map(lambda value: json.dumps(value).encode())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TOPICS, PAYLOADS), max_size=8))
def test_whatever_is_heard_the_proposal_has_no_mistake(messages):
    proposed([Heard(topic, payload, NOW) for topic, payload in messages])
