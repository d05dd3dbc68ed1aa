"""What the thread of the data shares with readers: a page, requests and signs of life."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fastapi import HTTPException
from harness.http_service import get, page
from harness.programs import WAIT_SECONDS, until

from monitor.core.registry import SeriesKey
from monitor.core.snapshot.details import Contest
from monitor.http.published import (
    CONTESTS_MAX,
    OCCASIONS_MAX,
    REQUEST_SECONDS,
    SERIES_MAX,
    OnDemandRequests,
)
from monitor.http.service import Service


def test_before_the_first_page_it_is_alive_but_not_ready(service):
    assert get(service, "/healthz")[0] == 200
    assert get(service, "/readyz")[:2] == (503, b"still starting\n")
    assert get(service, "/metrics")[0] == 503
    assert get(service, "/api/v1/deadletters")[0] == 503
    assert b"No readings yet" in get(service, "/")[1]


def test_ready_says_in_words_what_is_missing(service):
    service.publish(page(not_ready="no connection to broker:1883: refused"))
    assert get(service, "/readyz")[:2] == (503, b"no connection to broker:1883: refused\n")
    service.publish(replace(page(), catching_up="catching up: the last 9 min are missing"))
    assert get(service, "/readyz")[:2] == (200, b"catching up: the last 9 min are missing\n")
    service.publish(page())
    assert get(service, "/readyz")[:2] == (200, b"ready\n")


def test_a_main_loop_that_stalls_is_seen():
    now = [0.0]
    stalled = Service("127.0.0.1", 0, monotonic=lambda: now[0])
    stalled.start()
    try:
        stalled.publish(page())
        until("it answers", lambda: get(stalled, "/healthz")[0] == 200)
        assert get(stalled, "/metrics")[0] == 200
        now[0] = 11.0
        for path in ("/healthz", "/readyz", "/metrics"):  # what it shows may no longer be so
            assert get(stalled, path)[:2] == (503, b"the main loop is stuck\n")
        stalled.tick(30.0)  # it may connect for so long
        stalled.publish(page())
        now[0] = 50.0
        assert get(stalled, "/healthz")[0] == 200
        now[0] = 52.0
        assert get(stalled, "/healthz")[0] == 503
        stalled.starting()  # it reads the journal again
        now[0] = 650.0
        assert get(stalled, "/healthz")[0] == 200
        now[0] = 663.0
        assert get(stalled, "/healthz")[0] == 503
    finally:
        stalled.stop()


def test_a_busy_daemon_is_said_and_waited_for_no_longer_than_a_few_seconds(service, monkeypatch):
    monkeypatch.setattr("monitor.http.answers.WAIT_SECONDS", 0.1)
    service.publish(page())
    status, body, headers = get(service, "/api/v1/series/cart-01/mass/pairs")

    assert (status, headers["Retry-After"]) == (503, "3")
    assert b"ask again" in body


@pytest.mark.parametrize(
    ("made", "path"),
    [
        ("monitor.http.rankings.table", "/api/v1/ranking"),
        ("monitor.extensions.budget.pages.budget_of", "/api/v1/budget"),
    ],
)
def test_no_reader_waits_longer_for_what_another_has_made(service, race, monkeypatch, made, path):
    race.stop()
    service.requests.request_contest(Contest("mass"))
    race.publish()
    begun, done = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        begun.set()
        done.wait(WAIT_SECONDS)
        raise HTTPException(500)

    monkeypatch.setattr(made, slow)
    first = threading.Thread(target=get, args=(service, path))
    first.start()
    try:
        assert begun.wait(WAIT_SECONDS)
        monkeypatch.setattr("monitor.http.answers.WAIT_SECONDS", 0.1)
        status, body, headers = get(service, path)
    finally:
        done.set()
        first.join()

    assert (status, headers["Retry-After"]) == (503, "3")
    assert b"ask again" in body


def test_requests_are_bounded_and_forgotten():
    now = [0.0]
    requests = OnDemandRequests(lambda: now[0])
    for at in range(2 * SERIES_MAX):
        requests.request_series(SeriesKey(f"s{at}", "q"))
    requests.request_series(SeriesKey("s60", "q"))
    for at in range(2 * OCCASIONS_MAX):
        requests.request_occasion(f"k{at}")
        requests.request_contest(Contest(f"q{at}"))

    assert len(requests.series()) == SERIES_MAX
    assert requests.series()[-1] == ("s60", "q")
    assert len(requests.contests()) == CONTESTS_MAX
    assert requests.occasions() == [f"k{at}" for at in range(OCCASIONS_MAX, 2 * OCCASIONS_MAX)]
    now[0] = REQUEST_SECONDS + 1.0
    assert requests.series() == requests.occasions() == requests.contests() == []
