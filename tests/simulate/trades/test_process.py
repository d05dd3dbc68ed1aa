"""The process' recording: Sparkplug's birth comes first, and a laboratory is hours late."""

from __future__ import annotations

import json
from datetime import datetime

import numpy as np

from monitor.simulate.trades.process import process


def test_births_come_before_data_and_a_laboratory_states_when_it_sampled():
    made = process(np.random.default_rng(1))
    kinds = [message.topic.split("/")[2] for message in made.messages]
    first = {kind: kinds.index(kind) for kind in ("NBIRTH", "DBIRTH", "DDATA")}
    results = [each for each in made.messages if each.topic == "lims/PlantA/result"]
    delays = set()
    for result in results:
        body = json.loads(result.payload)
        if body["status"] == "prelim":
            delays.add(result.time - datetime.fromisoformat(body["sampled_at"]).timestamp())
            scale = {"g/cm3": 1000.0}.get(body["unit"], 1.0)
            assert body["unit"] not in ("g/cm3", "kg/m3") or 700.0 < body["value"] * scale < 1000.0

    assert first["NBIRTH"] < first["DBIRTH"] < first["DDATA"]
    assert all(abs(delay - 8 * 3600.0) < 1.0 for delay in delays)
