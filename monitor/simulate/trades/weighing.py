"""Walk-over weighing: cattle cross platforms with two estimators each, and are weighed statically.

The traps: identities that contain a space, a cow that crosses twice, a misread identity, a bull
under a cow's identity, a pass without one, a spread that is not stated, intervals without their
level, heads that print lines in pounds.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from monitor.simulate.playback import RawMessage, Recording, local_instant, recording, stated

START: Final = 1_772_000_000.0  # 2026-02-25 06:13:20 UTC
DAYS: Final = 18
COWS: Final = 24
PLATFORMS: Final = ("p01", "p02", "p03")
SPREAD_KG: Final = 9.0
HEAVY_KG: Final = 14.0
FAULTS: Final = {
    "otago.north.p03.vendor": f"reads {HEAVY_KG:g} kg heavy",
    "otago.north.p02.kalman": "understates its uncertainty by a factor of 3",
}
BULL_KG: Final = 1020.0
BULL_DAY: Final = 6
_DAY: Final = 86_400.0
_HOURS_EAST: Final = 13.0
_K90: Final = 1.6448536269514722  # half-width of a 90 % interval in standard deviations
_LB_A_KG: Final = 2.2046226218487757


def weighing(chance: np.random.Generator) -> Recording:
    """Return eighteen days at one race: two passes a day, a static weighing of some cows a day."""
    made: list[RawMessage] = []
    weights = chance.normal(520.0, 45.0, COWS)
    for day in range(DAYS):
        for milking in (6.0, 15.5):
            for cow in range(COWS):
                time = START + day * _DAY + milking * 3600.0 + cow * 40.0 + chance.uniform(0, 20)
                mass = weights[cow] + chance.normal(0.0, 2.0)
                made += _pass(chance, cow, time, mass)
        weighed = chance.choice(COWS, 8, replace=False).tolist()
        for cow in weighed:
            time = START + day * _DAY + 7.5 * 3600.0 + chance.uniform(0, 3600)
            mass = weights[cow] + chance.normal(0.0, 1.0)
            made.append(_static(chance, cow, time, mass))
        if day == BULL_DAY:
            made.append(_bull(_eid(weighed[0]), START + day * _DAY + 7.0 * 3600.0))
    return recording(made, FAULTS)


def _eid(cow: int) -> str:
    return f"982000412345{600 + cow}"


def _pass(chance: np.random.Generator, cow: int, time: float, mass: float) -> list[RawMessage]:
    platform = PLATFORMS[int(chance.integers(len(PLATFORMS)))]
    topic = f"wow/otago/north/{platform}"
    eid = _eid(cow)
    if chance.random() < 0.02:
        eid = _eid(int(chance.integers(COWS)))  # misread: another cow's
    vendor = mass + SPREAD_KG * chance.normal() + (HEAVY_KG if platform == "p03" else 0.0)
    body = _vendor(eid, time, vendor)
    if chance.random() < 0.8:
        body["level"] = 0.9
    if chance.random() < 0.03:
        del body["eid"]
    own = mass + (3.0 if platform == "p02" else 1.0) * 6.0 * chance.normal()
    estimate: dict[str, object] = {"eid": eid, "ts": round(time, 1), "mean": round(own, 2)}
    if chance.random() < 0.98:
        estimate["sd"] = 6.0
    sent = [
        stated(time + 2.0, f"{topic}/reading", **body),
        stated(time + 3.0, f"{topic}/kalman", **estimate),
    ]
    if platform == "p01":
        sent.append(_line(time, mass))
    if chance.random() < 0.05:  # she turns round and crosses again
        again = {
            **body,
            "ts": local_instant(time + 25.0, _HOURS_EAST),
            "kg": round(vendor + 3.0, 1),
        }
        sent.append(stated(time + 27.0, f"{topic}/reading", **again))
    return sent


def _vendor(eid: str, time: float, value: float) -> dict[str, object]:
    wide = _K90 * SPREAD_KG
    return {
        "eid": f"{eid[:3]} {eid[3:]}",
        "ts": local_instant(time, _HOURS_EAST),
        "kg": round(value, 1),
        "lo": round(value - wide, 1),
        "hi": round(value + wide, 1),
        "fw": "2.4",
    }


def _bull(eid: str, time: float) -> RawMessage:
    """Return the pass of a bull whose tag was misread as a cow's: one gross outlier."""
    return stated(time + 2.0, "wow/otago/north/p01/reading", **_vendor(eid, time, BULL_KG))


def _line(time: float, mass: float) -> RawMessage:
    local = datetime.fromtimestamp(time, UTC) + timedelta(hours=_HOURS_EAST)
    pounds = round(mass * _LB_A_KG)
    line = f",{pounds},LB,$,GR,{local:%m/%d/%y},{local:%H:%M},j"
    return RawMessage(time + 4.0, "wow/otago/north/p01/line", line.encode())


def _static(chance: np.random.Generator, cow: int, time: float, mass: float) -> RawMessage:
    return stated(
        time + 60.0,
        "wow/otago/crush/static",
        eid=_eid(cow),
        ts=local_instant(time, _HOURS_EAST),
        kg=round(mass + 0.6 * chance.normal(), 1),
        u=0.6,
    )
