"""Air quality: low-cost nodes every ten minutes, stations that publish hours two hours later.

The traps: two quantities in a message, one with u and one with an interval; gaps; hours that are
revised or withdrawn days later; a node between two stations; a node that visits a station; a node
near none.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from monitor.simulate.playback import RawMessage, Recording, local_instant, recording, stated

START: Final = 1_772_064_000.0  # 2026-02-26 00:00 UTC
HOURS: Final = 60
NODES: Final = tuple(f"n04{number:02}" for number in range(1, 10))
STATIONS: Final = ("S3", "S4", "S5")
VISITOR: Final = "n0990"
VISIT: Final = (START + 20 * 3600.0, START + 40 * 3600.0)
LEVEL: Final = 0.95
FAULTS: Final = {
    "n0403": "reads 6 ug/m3 low in pm25",
    "n0405": "understates the uncertainty of pm25 by a factor of 2",
}
_STEP: Final = 600.0
_K95: Final = 1.959963984540054


def air(chance: np.random.Generator) -> Recording:
    """Return sixty hours of nine nodes and three stations, and a tenth node that visits one."""
    hours = np.arange(HOURS * 6) / 6.0
    pm25 = (
        16.0
        + 8.0 * np.sin(hours / 24.0 * 2.0 * np.pi)
        + np.cumsum(chance.normal(0, 0.2, hours.size))
    )
    no2 = (
        24.0
        + 7.0 * np.cos(hours / 12.0 * 2.0 * np.pi)
        + np.cumsum(chance.normal(0, 0.2, hours.size))
    )
    made: list[RawMessage] = []
    for node in (*NODES, VISITOR):
        made += _observed(chance, node, pm25, no2)
    for station in STATIONS:
        made += _hours(chance, station, pm25, no2)
    made.append(
        stated(
            VISIT[0] + 1800.0,
            "ops/collocation",
            node=VISITOR,
            station="S3",
            distance_m=2,
            **{"from": local_instant(VISIT[0]), "to": local_instant(VISIT[1])},
        )
    )
    return recording(made, FAULTS)


def _observed(
    chance: np.random.Generator, node: str, pm25: np.ndarray[Any, Any], no2: np.ndarray[Any, Any]
) -> list[RawMessage]:
    made = []
    for at in range(pm25.size):
        if chance.random() < 0.04:
            continue  # a gap
        time = START + at * _STEP
        spread = 6.0 if node == "n0405" else 3.0
        value = pm25[at] + spread * chance.normal() - (6.0 if node == "n0403" else 0.0)
        other = no2[at] + 5.0 * chance.normal()
        body = {
            "t": int(time),
            "int": int(_STEP),
            "pm25": {"v": round(value, 2), "u": 3.0},
            "no2": {
                "v": round(other, 1),
                "lo": round(other - _K95 * 5.0, 1),
                "hi": round(other + _K95 * 5.0, 1),
                "p": LEVEL,
            },
            "rh": 71,
        }
        if chance.random() < 0.05:
            del body["no2"]
        made.append(stated(time + 15.0 + chance.uniform(0, 5), f"aq/v2/dunedin/{node}/obs", **body))
    return made


def _hours(
    chance: np.random.Generator, station: str, pm25: np.ndarray[Any, Any], no2: np.ndarray[Any, Any]
) -> list[RawMessage]:
    made = []
    topic = f"ref/{station}/hourly"
    for hour in range(HOURS):
        start = START + hour * 3600.0
        part = slice(6 * hour, 6 * hour + 6)
        body: dict[str, Any] = {
            "start": local_instant(start),
            "end": local_instant(start + 3600.0),
            "pm25": round(float(pm25[part].mean()) + 0.5 * chance.normal(), 2),
            "u": 0.8,
            "no2": round(float(no2[part].mean()) + 0.5 * chance.normal(), 2),
            "u_no2": 1.0,
            "flag": "V",
            "rev": 1,
        }
        made.append(stated(start + 3 * 3600.0, topic, **body))
        fate = chance.random()
        late = START + HOURS * 3600.0 + 6 * 3600.0 + hour
        if fate < 0.15:
            made.append(
                stated(late, topic, **{**body, "pm25": round(body["pm25"] + 1.5, 2), "rev": 2})
            )
        elif fate < 0.25:
            made.append(stated(late, topic, **{**body, "flag": "I", "rev": 2}))
        elif fate < 0.30:  # withdrawn, then measured again
            made.append(stated(late, topic, **{**body, "flag": "I", "rev": 2}))
            made.append(stated(late + 60.0, topic, **{**body, "rev": 3}))
    return made
