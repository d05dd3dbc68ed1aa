"""Who pairs with whom in the trades' streams, by the words of their settings: every against every.

Plain Python over the raw payloads, O(n^2) and in no hurry; shares nothing with the product but the
protobuf messages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import datetime
from statistics import NormalDist, fmean

from monitor.decode.formats.sparkplug_payload import Payload

Pair = tuple[str, str, float, tuple[float, ...]]
K90 = NormalDist().inv_cdf(0.95)
K95 = NormalDist().inv_cdf(0.975)
NONE = math.nan
TIMES = ("t", "ts", "end", "from", "sampled_at", "at")
KG_M3_A_UNIT = {"g/cm3": 1000.0, "kg/m3": 1.0}
# Degrees north and east.
S3 = (-45.870, 170.500)
PLACES = {
    "n0401": (-45.871, 170.501),
    "n0402": (-45.874, 170.503),
    "n0403": (-45.868, 170.490),
    "n0404": (-45.880, 170.510),
    "n0405": (-45.866, 170.509),
    "n0406": (-45.872, 170.488),
    "n0408": (-45.930, 170.400),
}


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def weighing(messages: Iterable) -> set[Pair]:
    """Key and nearest reference within six hours; 4 kg a square root of an hour."""
    readings, references = set(), set()
    for message in messages:
        *_, platform, kind = message.topic.split("/")
        if kind == "line":
            continue  # a head knows no identities: nothing to pair by
        body = json.loads(message.payload)
        if "eid" not in body:
            continue
        key = body["eid"].replace(" ", "")
        if kind == "static":
            references.add((seconds(body["ts"]), body["kg"], body["u"], key))
        elif kind == "kalman" and "sd" in body:
            stated = (body["mean"], body["sd"], NONE, NONE, NONE)
            readings.add((f"otago.north.{platform}.kalman", body["ts"], key, stated))
        elif kind == "reading":
            stated = (body["kg"], NONE, body["lo"], body["hi"], body.get("level", 0.9))
            readings.add((f"otago.north.{platform}.vendor", seconds(body["ts"]), key, stated))
    pairs = set()
    for sensor, time, key, stated in readings:
        same = [r for r in references if r[3] == key]
        best = min(same, key=lambda r: (abs(r[0] - time), r[0]), default=None)
        if best is not None and abs(best[0] - time) <= 6 * 3600.0:
            u_pair = 4.0 * math.sqrt(abs(best[0] - time) / 3600.0)
            pairs.add((sensor, "weight", time, (*stated, best[1], best[2], u_pair)))
    return pairs


def air(messages: Iterable) -> set[Pair]:
    """Mean of the readings in a station's hour, for the nodes that the station concerns."""
    readings: dict[tuple[str, str], dict[float, tuple[float, float, float, float]]] = {}
    hours: dict[tuple[str, str], dict] = {}
    visits = []
    for message in messages:
        body = json.loads(message.payload)
        parts = message.topic.split("/")
        if parts[0] == "aq":
            pm25, no2 = body["pm25"], body.get("no2")
            readings.setdefault((parts[3], "pm25"), {})[body["t"]] = (
                pm25["v"],
                pm25["u"],
                NONE,
                NONE,
            )
            if no2:
                stated = (no2["v"], NONE, no2["lo"], no2["hi"])
                readings.setdefault((parts[3], "no2"), {})[body["t"]] = stated
        elif parts[0] == "ref":
            known = hours.get((parts[1], body["start"]))
            if known is None or body["rev"] > known["rev"]:
                hours[parts[1], body["start"]] = body
        else:
            visits.append(
                (body["node"], body["station"], seconds(body["from"]), seconds(body["to"]))
            )
    pairs = set()
    for (station, _), body in hours.items():
        if body["flag"] == "I":
            continue
        start, end = seconds(body["start"]), seconds(body["end"])
        for (node, quantity), known in readings.items():
            away = distance(node, station, end, visits)
            inside = [stated for time, stated in known.items() if start <= time < end]
            if away is None or len(inside) * 600.0 < 0.75 * 3600.0:
                continue
            u_ref = body["u"] if quantity == "pm25" else body["u_no2"]
            pairs.add((node, quantity, end, (*mean(inside), body[quantity], u_ref, 0.4 * away)))
    return pairs


def distance(node: str, station: str, time: float, visits: list) -> float | None:
    """Kilometres from a station to a node that it concerns at a time, else None."""
    for visitor, visited, start, end in visits:
        if (node, station) == (visitor, visited) and start <= time <= end:
            return 0.002
    if station == "S4":
        return 0.5 if node in ("n0404", "n0407") else None
    if station == "S5":
        return 1.5 if node == "n0408" else None
    if node not in PLACES:
        return None
    chord = math.dist(*map(on_the_sphere, (S3, PLACES[node])))
    away = 2.0 * 6371.0088 * math.asin(chord / 2.0)
    return away if away <= 2.0 else None


def on_the_sphere(place: tuple[float, float]) -> tuple[float, float, float]:
    """The point on the unit sphere of degrees north and east."""
    north, east = map(math.radians, place)
    return (
        math.cos(north) * math.cos(east),
        math.cos(north) * math.sin(east),
        math.sin(north),
    )


def mean(
    inside: list[tuple[float, float, float, float]],
) -> tuple[float, float, float, float, float]:
    """Mean of independent readings: value, u, lower, upper, p."""
    n = len(inside)
    value = fmean(stated[0] for stated in inside)
    if not math.isnan(inside[0][1]):
        return value, math.hypot(*(stated[1] / n for stated in inside)), NONE, NONE, NONE
    low = math.hypot(*((stated[0] - stated[2]) / n for stated in inside))
    high = math.hypot(*((stated[3] - stated[0]) / n for stated in inside))
    return value, NONE, value - low, value + high, 0.95


def process(messages: Iterable) -> set[Pair]:
    """The last good reading that had passed the sampling point when a sample was taken."""
    names: dict[int, str] = {}
    readings: dict[str, dict[float, tuple[float, float]]] = {}
    results: dict[str, list[dict]] = {}
    closed = (seconds("2026-02-27T10:00Z"), seconds("2026-02-27T12:00Z"))
    for message in messages:
        parts = message.topic.split("/")
        if parts[0] == "lims":
            body = json.loads(message.payload)
            results.setdefault(body["sample"], []).append(body)
        elif parts[0] == "spBv1.0":
            payload = Payload.FromString(message.payload)
            names.update((each.alias, each.name) for each in payload.metrics if each.name)
            if parts[2] == "DDATA":
                said = {names[each.alias]: each for each in payload.metrics}
                time = payload.timestamp / 1000.0
                good = said["quality"].string_value == "GOOD"
                if good and not (parts[4] == "AT-4012" and closed[0] <= time < closed[1]):
                    u = said["density/U95"].double_value / K95
                    readings.setdefault(parts[4], {})[time] = (
                        said["density/value"].double_value,
                        u,
                    )
    pairs = set()
    order = ("prelim", "final", "void")
    for bodies in results.values():
        last = max(bodies, key=lambda body: order.index(body["status"]))
        if last["status"] == "void" or last["unit"] not in KG_M3_A_UNIT:
            continue
        sensor = last["tag"].split(".")[0]
        sampled = seconds(last["sampled_at"])
        passed = [time for time in readings.get(sensor, ()) if time - 90.0 <= sampled]
        time = max(passed, default=-math.inf)
        if sampled - (time - 90.0) <= 120.0:
            value, u = readings[sensor][time]
            scale = KG_M3_A_UNIT[last["unit"]]
            reference, u_ref = last["value"] * scale, last["U"] / last["k"] * scale
            pairs.add(
                (sensor, "density", time, (value, u, NONE, NONE, NONE, reference, u_ref, 0.0))
            )
    return pairs


ORACLES = {"weighing": weighing, "air": air, "process": process}


def in_event_time(messages: Iterable) -> list:
    """The messages by when what they say was so; a void that names a sample alone with it."""
    sampled: dict[str | None, float] = {}
    timed = []
    for message in messages:
        time = message.time
        if message.topic.startswith("spBv1.0"):
            time = Payload.FromString(message.payload).timestamp / 1000.0
        elif message.payload.startswith(b"{"):
            body = json.loads(message.payload)
            told = [body[name] for name in TIMES if name in body]
            if told:
                time = told[0] if isinstance(told[0], int | float) else seconds(told[0])
                sampled[body.get("sample")] = time
            else:
                time = sampled.get(body.get("sample"), time)
        timed.append((time, message))
    return [message for _, message in sorted(timed, key=lambda each: each[0])]
