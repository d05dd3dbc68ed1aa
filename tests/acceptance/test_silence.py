"""A subscription that hears nothing is seen: each filter has the time of its last message."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.mqtt.publish import BrokerPublisher

NAME = "monitor_mqtt_filter_last_message_timestamp_seconds"


@pytest.fixture
def daemon(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Daemon]:
    made = Daemon(tmp_path, mosquitto.port)
    made.start()
    yield made
    made.kill()


def test_a_filter_that_hears_has_a_time_also_after_a_start_and_one_that_does_not_has_none(
    daemon, mosquitto
):
    """Else a daemon whose messages are rare would seem to have heard nothing after each start."""
    began = time.time()
    now = datetime.now(UTC).isoformat()
    body = json.dumps({"time": now, "value": 1.0, "u": 0.5}).encode()
    heard = f'{NAME}{{filter="monitor/+/+/reading",kind="reading"}}'
    with BrokerPublisher("127.0.0.1", mosquitto.port) as publisher:
        publisher.publish("monitor/a/x/reading", body)
        publisher.flush()
    seen = until("the filter's time is there", lambda: daemon.value(heard) > 0.0)
    told = {name for name in daemon.metrics() if name.startswith(NAME)}

    assert seen
    assert began - 1.0 <= (at := daemon.value(heard)) <= time.time() + 1.0
    assert told == {heard}
    daemon.kill()
    daemon.start()
    assert daemon.value(heard) == at
    assert daemon.stop() == 0
