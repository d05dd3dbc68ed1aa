"""Process industry: analysers on Sparkplug B, laboratory samples hours later, in other units.

The traps: metrics known by alias only, a burst of history after an outage, bad quality,
maintenance, transport between sampling point and analyser, prelim then final then void, and a void
that names only the sample; results in two units and in a wrong one; an adjustment that begins a new
epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from monitor.decode.formats.sparkplug_payload import Payload
from monitor.simulate.playback import RawMessage, Recording, local_instant, recording, stated

START: Final = 1_772_150_400.0  # 2026-02-27 00:00 UTC
HOURS: Final = 72
ANALYSERS: Final = ("AT-4012", "AT-4013")
LAG: Final = 90.0
ADJUSTED: Final = START + 40 * 3600.0
OUTAGE: Final = (START + 30 * 3600.0, START + 33 * 3600.0)
FAULTS: Final = {"AT-4013": "reads 1.5 kg/m3 high until it is adjusted"}
_METRICS: Final = ("density/value", "density/U95", "quality")
# Seven of ten samples are in g/cm3; one is in a unit that is not a density.
_UNITS: Final = (*("g/cm3",) * 7, "kg/m3", "kg/m3", "mPa.s")
_KG_M3_A_UNIT: Final = {"g/cm3": 1000.0, "kg/m3": 1.0}
_DOUBLE: Final = 10
_STRING: Final = 12
_STEP: Final = 60.0
_U: Final = 0.5


def process(chance: np.random.Generator) -> Recording:
    """Return three days of two analysers with one sample each per hour."""
    made = [_birth(START, "NBIRTH", "")]
    for number, analyser in enumerate(ANALYSERS):
        density = 842.0 + 3.0 * np.sin(np.arange(HOURS * 60) / 200.0 + number)
        made.append(_birth(START + 1.0, "DBIRTH", analyser))
        made += _measured(chance, analyser, density)
        made += _sampled(chance, analyser, density)
    made.append(
        stated(
            ADJUSTED + 5.0,
            "cmms/PlantA/adjustment",
            tag="AT-4013",
            at=local_instant(ADJUSTED),
            what="adjusted",
            note="as found 1.5 kg/m3 high",
        )
    )
    return recording(made, FAULTS)


def _measured(
    chance: np.random.Generator, analyser: str, density: np.ndarray[Any, Any]
) -> list[RawMessage]:
    """One value a minute; those measured during the outage come in one burst after it."""
    made = []
    for at in range(density.size):
        taken = START + at * _STEP
        time = taken + LAG  # when the analyser measures what was at the sampling point
        high = 1.5 if analyser == "AT-4013" and time < ADJUSTED else 0.0
        value = density[at] + _U * chance.normal() + high
        quality = "BAD" if chance.random() < 0.02 else "GOOD"
        late = OUTAGE[0] <= time < OUTAGE[1]
        arrival = OUTAGE[1] + at * 0.01 if late else time + 1.0
        made.append(_data(arrival, time, analyser, (round(value, 3), 2.0 * _U, quality), late=late))
    return made


def _data(
    arrival: float, time: float, analyser: str, values: tuple[float, float, str], *, late: bool
) -> RawMessage:
    payload = Payload(timestamp=int(1000 * time), seq=int(time / 60) % 256)
    for name, value in zip(_METRICS, values, strict=True):
        metric = payload.metrics.add(alias=_alias(analyser, name), timestamp=int(1000 * time))
        metric.is_historical = late
        if isinstance(value, str):
            metric.string_value = value
        else:
            metric.double_value = value
    topic = f"spBv1.0/PlantA/DDATA/edge7/{analyser}"
    return RawMessage(arrival, topic, payload.SerializeToString())


def _birth(time: float, kind: str, analyser: str) -> RawMessage:
    payload = Payload(timestamp=int(1000 * time), seq=0)
    for name in _METRICS if analyser else ():
        metric = payload.metrics.add(name=name, alias=_alias(analyser, name), is_null=True)
        metric.timestamp = int(1000 * time)
        metric.datatype = _STRING if name == "quality" else _DOUBLE
    topic = f"spBv1.0/PlantA/{kind}/edge7" + (f"/{analyser}" if analyser else "")
    return RawMessage(time, topic, payload.SerializeToString())


def _alias(analyser: str, metric: str) -> int:
    """Return a number unique among the metrics of the edge node."""
    return 100 * ANALYSERS.index(analyser) + _METRICS.index(metric)


def _sampled(
    chance: np.random.Generator, analyser: str, density: np.ndarray[Any, Any]
) -> list[RawMessage]:
    made = []
    for hour in range(HOURS):
        sampled = START + hour * 3600.0 + 1800.0 + float(chance.integers(0, 900))
        true = density[int((sampled - START) / _STEP)]
        unit = _UNITS[hour % len(_UNITS)]
        scale = _KG_M3_A_UNIT.get(unit, 1.0)
        value = float(round((true + 0.1 * chance.normal()) / scale, 5))
        sample = f"S-{analyser[-1]}{1000 + hour}"
        body = {
            "sample": sample,
            "tag": f"{analyser}.density",
            "sampled_at": local_instant(sampled),
            "reported_at": local_instant(sampled + 8 * 3600.0),
            "value": value,
            "U": 0.2 / scale,
            "k": 2,
            "unit": unit,
            "method": "D4052",
            "status": "prelim",
        }
        made.append(_result(sampled + 8 * 3600.0, body))
        fate = chance.random()
        if fate < 0.3:
            final = {**body, "value": round(value + 0.4 / scale, 5), "status": "final"}
            made.append(_result(sampled + 14 * 3600.0, final))
        elif fate < 0.4:
            made.append(_result(sampled + 20 * 3600.0, {**body, "status": "void"}))
        elif fate < 0.5:
            made.append(_result(sampled + 20 * 3600.0, {"sample": sample, "status": "void"}))
    return made


def _result(time: float, body: Mapping[str, object]) -> RawMessage:
    return stated(time, "lims/PlantA/result", **body)
