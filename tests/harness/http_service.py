"""A fleet behind a service, and the questions that tests ask of it."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from harness.programs import WAIT_SECONDS
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.published import Page
from monitor.http.service import Service
from monitor.journal import DeadLetter

HOSTILE = "<script>alert(1)</script>\"'&"


def page(sensor: str = "cart-01", not_ready: str = "") -> Page:
    snapshot = Snapshot(
        time=1000.0,
        names=(SeriesName(sensor, "mass", "kg", "yard"),),
        statistics={
            "calibration_bias": np.array([6.2]),
            "calibration_zms": np.array([np.nan]),
            "score_interval_expected_ratio": np.array([1.5]),
        },
        states=("firing",),
        alerts={"offset": np.array([True])},
        evidence=np.array([1234.5]),
        sentences=("reads 6.2 kg heavy",),
        advice=("subtract 6.2 kg",),
        window_pairs=np.array([60]),
        last_reading=np.array([999.0]),
        last_pair=np.array([998.0]),
        withdrawn=np.array([False]),
    )
    letters = (DeadLetter(1.0, HOSTILE, "bad_payload", "not JSON", "byte 0", b"\xff<b>"),)
    return Page(snapshot, not_ready=not_ready, dead_letters=letters)


def answers(service: Service) -> bool:
    """Return whether a service answers; its first answer may take longer than a stall."""
    service.tick()
    return get(service, "/healthz")[0] == 200


def get(service: Service, path: str, method: str = "GET", **headers: str):
    request = urllib.request.Request(service.url + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers
    except OSError:
        return 0, b"", {}


def published(service: Service, snapshot: Snapshot, **more) -> None:
    service.publish(Page(snapshot, **more))


def document(service: Service, path: str):
    status, body, headers = get(service, path)
    assert status == 200, (path, body)
    assert headers["Content-Type"] == "application/json"
    return json.loads(body)


SPREADS = {"coarse": 9.0, "fine": 2.0, "middle": 5.0}


def stream(service: Service, path: str) -> Iterator[dict]:
    """Yield the events of a stream as they come."""
    connection = http.client.HTTPConnection(
        service.url.removeprefix("http://"), timeout=WAIT_SECONDS
    )
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    with closing(connection):
        while line := answer.readline().decode():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def serving() -> list[threading.Thread]:
    """Return the threads in which a service answers."""
    return [each for each in threading.enumerate() if "_serve" in each.name]
