"""The weighing's recording: which estimator is wrong, and by how much."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np

from monitor.simulate.trades.weighing import weighing


def test_one_estimator_is_heavy_and_another_scatters_three_times_as_it_states():
    made = weighing(np.random.default_rng(1))
    means, static = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    for message in made.messages:
        _, _, _, place, kind = [*message.topic.split("/"), ""][:5]
        if message.topic.endswith("static"):
            body = json.loads(message.payload)
            static[body["eid"]].append(body["kg"])
        elif kind in ("reading", "kalman"):
            body = json.loads(message.payload)
            cow = body.get("eid", "").replace(" ", "")  # a bull has none
            means[place, kind][cow].append(body["kg" if kind == "reading" else "mean"])

    def errors(*source: str) -> np.ndarray:
        cows = [cow for cow in means[source] if len(static.get(cow, ())) >= 4]
        return np.concatenate([means[source][cow] - np.mean(static[cow]) for cow in cows])

    heavy, honest = errors("p03", "reading"), errors("p01", "reading")
    assert abs(np.mean(heavy) - np.mean(honest) - 14.0) < 4.0
    assert np.std(errors("p02", "kalman")) > 2.0 * np.std(errors("p01", "kalman"))
