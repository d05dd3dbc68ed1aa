"""The air's recording: nodes every ten minutes, hours of a station two hours after their end."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime

import numpy as np

from monitor.simulate.trades.air import air


def test_nodes_and_stations_keep_their_times_and_faults_have_their_size():
    made = air(np.random.default_rng(1))
    pm25, hours = defaultdict(dict), {}
    for message in made.messages:
        body = json.loads(message.payload)
        if message.topic.endswith("/obs"):
            assert body["t"] % 600 == 0
            assert 15.0 <= message.time - body["t"] <= 20.0
            pm25[message.topic.split("/")[3]][body["t"]] = body["pm25"]["v"]
        elif message.topic.endswith("/hourly") and body["rev"] == 1:
            assert message.time == datetime.fromisoformat(body["end"]).timestamp() + 7200.0
            hours[message.topic, body["start"]] = body

    low = [pm25["n0403"][t] - pm25["n0404"][t] for t in pm25["n0403"].keys() & pm25["n0404"].keys()]
    assert abs(np.mean(low) + 6.0) < 5.0 * np.hypot(3.0, 3.0) / np.sqrt(len(low))
    assert len(hours) == 3 * 60
    assert [each.time for each in made.messages] == sorted(each.time for each in made.messages)
