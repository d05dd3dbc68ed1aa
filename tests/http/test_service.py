"""The HTTP service: health, limits, and pages that hostile names cannot break."""

from __future__ import annotations

import asyncio
import gzip
import html
import http.client
import json
import math
import re
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser

import jsonschema
import numpy as np
import pytest
import uvicorn
from fastapi import HTTPException
from harness.programs import WAIT_SECONDS, until
from harness.transitions import transition
from harness.yard import DOCTOR, RULES, START, Yard, fleet
from markupsafe import escape
from scipy.stats import spearmanr

from monitor.config import parse, settings_hash, shown_settings
from monitor.core.formatting import amount
from monitor.core.model import Event, Reading
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.snapshot.details import Contest
from monitor.core.snapshot.snapshot import Snapshot
from monitor.extensions import all_extensions
from monitor.files import read_pairs
from monitor.http import documents
from monitor.http.metrics import Exposition
from monitor.http.published import (
    CONTESTS_MAX,
    OCCASIONS_MAX,
    REQUEST_SECONDS,
    SERIES_MAX,
    OnDemandRequests,
    Page,
)
from monitor.http.rankings import usual_quantity
from monitor.http.selection import (
    ORDERS,
    WORDS,
    SeriesQuery,
    names_shown,
    select,
)
from monitor.http.server import HttpConnection, QuietServer
from monitor.http.service import Service, ServiceError
from monitor.journal import DeadLetter
from monitor.simulate.carts import CARTS

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


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service(
        "127.0.0.1",
        0,
        connections_max=20,
        header_timeout_seconds=0.5,
        extensions=[each for each in all_extensions() if each.routes],
    )
    running.start()
    until("the service answers", lambda: answers(running))
    yield running
    running.stop()


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


def test_it_says_once_when_all_that_it_needs_is_loaded():
    said: list[bool] = []
    service = Service("127.0.0.1", 0, loaded=lambda: said.append("uvicorn" in sys.modules))
    service.start()
    try:
        until("the service answers", lambda: answers(service))
        assert said == [True]
    finally:
        service.stop()


def test_its_thread_sleeps_until_somebody_asks_and_every_answer_has_a_date(service):
    date = parsedate_to_datetime(get(service, "/healthz")[2]["Date"])
    loop = service._server._loop

    def has_no_timer() -> bool:
        return all(each.cancelled() for each in [*loop._scheduled])

    until("no timer is set", has_no_timer)
    assert has_no_timer()
    assert abs(date.timestamp() - time.time()) < 3600.0


def test_before_the_first_page_it_is_alive_but_not_ready(service):
    assert get(service, "/healthz")[0] == 200
    assert get(service, "/readyz")[:2] == (503, b"still starting\n")
    assert get(service, "/metrics")[0] == 503
    assert get(service, "/api/v1/deadletters")[0] == 503
    assert b"No readings yet" in get(service, "/")[1]


def test_ready_says_in_words_what_is_missing(service):
    service.publish(page(not_ready="no connection to broker:1883: refused"))
    assert get(service, "/readyz")[:2] == (503, b"no connection to broker:1883: refused\n")
    service.publish(page())
    assert get(service, "/readyz")[0] == 200


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


def test_metrics_are_the_published_bytes_packed_or_not(service):
    shown = page()
    service.publish(shown)
    status, body, headers = get(service, "/metrics")
    _, packed, packed_headers = get(service, "/metrics", **{"Accept-Encoding": "gzip"})

    metrics = Exposition().render(shown.snapshot)
    assert (status, body) == (200, metrics)
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert packed_headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == metrics


def test_series_and_alerts_are_there_as_json_with_null_for_what_is_undefined(service):
    service.publish(page())
    series = json.loads(get(service, "/api/v1/series")[1])["series"]
    one = json.loads(get(service, "/api/v1/series/cart-01/mass")[1])
    alerts = json.loads(get(service, "/api/v1/alerts")[1])["alerts"]

    assert series == [one]
    assert one["statistics"]["calibration_zms"] is None
    assert (one["state"], one["sentence"], one["pairs"]) == ("firing", "reads 6.2 kg heavy", 60)
    assert [(each["sensor"], each["alert"]) for each in alerts] == [("cart-01", "offset")]
    assert get(service, "/api/v1/series/nobody/mass")[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/series"])
def test_nothing_can_be_changed(method, path, service):
    service.publish(page())

    status, _, headers = get(service, path, method)

    assert status == 405
    assert headers["Allow"] == "GET, HEAD"


def test_head_is_answered(service):
    service.publish(page())

    assert get(service, "/metrics", "HEAD")[:2] == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/redoc",
        "/docs/nothing",
        "/docs/images/../x",
        "/../etc/passwd",
        "/static/../limits.py",
        "/static/nothing",
        "/%2e%2e/x",
    ],
)
def test_only_the_fixed_routes_exist(path, service):
    assert get(service, path)[0] == 404


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "script":
            self.scripts.append(dict(attrs).get("src"))


def test_a_hostile_name_is_text_and_the_policy_forbids_foreign_hosts(service):
    service.publish(page(HOSTILE))
    _, body, headers = get(service, "/")
    text = body.decode()

    assert [src.partition("?")[0] for src in Elements(text).scripts] == [
        "/static/monitor.js",
        "/static/plots.js",
    ]
    assert "&lt;script&gt;" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "http://" not in text
    assert "https://" not in text
    letters = json.loads(get(service, "/api/v1/deadletters")[1])["deadletters"]
    assert letters[0]["topic"] == HOSTILE


def test_a_page_of_the_documentation_that_a_sentence_names_is_a_link(service):
    known = "see docs/pairing.md#no-pairs"
    unknown = 'see docs/nothing.md or docs/../x.md#a"onclick="b'
    told = (f"{HOSTILE} {known}; {unknown}",)
    shown = page()
    unpaired = replace(shown.snapshot, window_pairs=np.array([0]))
    doctor = {**DOCTOR, "findings": told, "pairing": told}
    service.publish(replace(shown, snapshot=unpaired, notices=told, doctor=doctor))

    for path, times in (("/", 2), ("/doctor", 1)):
        text = get(service, path)[1].decode()
        link = 'see <a href="/docs/pairing#no-pairs">docs/pairing.md#no-pairs</a>'
        assert text.count(f"{escape(HOSTILE)} {link}") == times
        assert f"; {escape(unknown)}</li>" in text
        assert HOSTILE not in text
    assert 'id="no-pairs"' in get(service, "/docs/pairing")[1].decode()


def published(service: Service, snapshot: Snapshot, **more) -> None:
    service.publish(Page(snapshot, **more))


@pytest.fixture
def yard(service: Service) -> Iterator[Yard]:
    """Return a fleet that is at work, and answers what is asked of it."""
    made = Yard(service)
    made.work(150.0)
    made.run(0.1)
    yield made
    made.stop()


def document(service: Service, path: str):
    status, body, headers = get(service, path)
    assert status == 200, (path, body)
    assert headers["Content-Type"] == "application/json"
    return json.loads(body)


def test_series_are_filtered_sorted_and_paged_by_the_query(service):
    snapshot = fleet(1000)
    published(service, snapshot)
    firing = [f"node-{row:05}" for row, state in enumerate(snapshot.states) if state == "firing"]
    evidence = dict(zip((name.sensor for name in snapshot.names), snapshot.evidence, strict=True))

    found = document(service, "/api/v1/series?state=firing&sort=-evidence&rows=10&page=2")
    assert (found["matching"], found["page"]) == (len(firing), 2)
    assert found["pages"] == -(-len(firing) // 10)
    assert found["states"]["firing"] == len(firing)
    assert [each["sensor"] for each in found["series"]] == (
        sorted(firing, key=lambda sensor: -evidence[sensor])[10:20]
    )
    beyond = document(service, "/api/v1/series?state=firing&rows=10&page=1000")
    assert (beyond["series"], beyond["page"], beyond["pages"]) == ([], 1000, found["pages"])
    of_group = document(service, "/api/v1/series?group=model-3&text=NODE-000")
    assert {each["group"] for each in of_group["series"]} == {"model-3"}
    assert of_group["matching"] == sum(row % 7 == 3 for row in range(100))
    assert len(document(service, "/api/v1/series")["series"]) == 1000


def test_forms_and_links_keep_what_they_do_not_ask_for(service):
    snapshot = fleet(30)
    published(service, snapshot)
    firing, here = snapshot.states[::7].count("firing"), len(snapshot.states[::7])
    body = get(service, "/?rows=7&group=model-0&state=ok")[1].decode()
    first = next(stream(service, "/live/fleet?rows=7&group=model-0&state=ok"))
    picture = html.unescape(get(service, "/picture?group=model-0&text=node")[1].decode())

    assert '<input type="hidden" name="rows" value="7">' in body
    assert 'name="rows"' not in get(service, "/")[1].decode()
    does = "needs" if firing == 1 else "need"
    assert first["title"] == f"{firing} of {here} {does} work · monitor"
    assert f"<title>{first['title']}</title>" in body
    links = re.findall(r'class="chip (\w+)" href="([^"]+)"', picture)
    assert links
    for state, link in links:
        assert link == f"/?state={state}&group=model-0&text=node"


def test_figures_stay_chosen_until_they_are_not_and_whoever_sorts_by_one_sees_them(service):
    published(service, fleet(30))

    def shown(path):
        body = html.unescape(get(service, path)[1].decode())
        return body, re.findall(r'<a [^>]*href="([^"]+)" data-sort', body)

    plain, links = shown("/?rows=7")
    assert 'data-of="ZMS"' not in plain
    assert [link for link in links if "figures" in link] == ["/?rows=7&figures=all"]
    for path in ("/?rows=7&figures=all", "/?rows=7&sort=-zms"):
        body, links = shown(path)
        assert body.count('data-of="ZMS"') == 7
        assert '<input type="hidden" name="figures" value="all">' in body
        assert [link for link in links if "figures=all" not in link] == ["/?rows=7"]
    event = next(stream(service, "/live/fleet?rows=7&figures=all"))
    assert all('data-of="ZMS"' in row for row in event["rows"].values())
    assert get(service, "/?figures=some")[0] == 422


def test_the_fleet_says_what_changed_since_yesterday(service):
    now = fleet(3)
    ago = {"quantity": "pm25", "time": START}
    told = [
        transition(9, sensor="S3", alert="reference_suspect", notified=START - 60.0, **ago),
        transition(8, sensor="node-00001", notified=START - 70.0, **ago),
        transition(
            7, sensor="node-00002", before="ok", after="pending", notified=START - 80.0, **ago
        ),
        transition(
            6, sensor="node-00000", before="firing", after="resolved", notified=START - 90.0, **ago
        ),
        *(
            transition(5 - at, sensor="node-00002", alert=alert, notified=START - 86_000.0, **ago)
            for at, alert in enumerate(("offset", "offset", "outliers", "gain"))
        ),
        transition(1, sensor="node-00002", notified=START - 86_500.0, **ago),
    ]
    published(service, now, history=tuple(told))
    body = get(service, "/")[1].decode()
    said = " ".join(re.sub("<[^>]+>", "", body.partition('<p class="since">')[2][:2000]).split())

    assert said.startswith(
        "Last 24 h: 5 alerts began (S3 reference_suspect, node-00001 offset, "
        "node-00002 offset, node-00002 outliers and 1 more), 1 ended (node-00000 offset)"
    )
    assert '<a href="/series/node-00001/pm25">node-00001</a> offset' in body
    published(service, now, history=tuple(told[-1:]))
    assert "No alert began or ended in the last 24 h." in get(service, "/")[1].decode()


def test_a_fault_that_took_another_name_began_once_and_has_not_ended(service):
    now = fleet(3)
    of = {"sensor": "node-00001", "quantity": "pm25", "time": START, "incident": "one"}
    told = [
        transition(3, alert="drift", notified=START - 60.0, **of),
        transition(2, before="firing", after="resolved", notified=START - 60.0, **of),
        transition(1, notified=START - 80.0, **of),
    ]

    published(service, now, history=tuple(told))
    body = get(service, "/")[1].decode()
    said = " ".join(re.sub("<[^>]+>", "", body.partition('<p class="since">')[2][:2000]).split())
    assert said.startswith("Last 24 h: 1 alert began (node-00001 drift), 0 ended. ")

    ended = transition(4, alert="drift", before="firing", after="resolved", notified=START, **of)
    published(service, now, history=(ended, *told))
    body = get(service, "/")[1].decode()
    said = " ".join(re.sub("<[^>]+>", "", body.partition('<p class="since">')[2][:2000]).split())
    assert said.startswith(
        "Last 24 h: 1 alert began (node-00001 drift), 1 ended (node-00001 drift). "
    )


def test_the_history_shows_what_fired_and_ended_unless_all_is_asked_for(service):
    told = [
        transition(4, sensor="a", before="pending", after="ok", alert="gain"),
        transition(3, sensor="b", before="firing", after="resolved"),
        transition(2, sensor="b"),
        transition(1, sensor="b", before="ok", after="pending"),
    ]
    published(service, fleet(3), history=tuple(told))

    def listed(path):
        body = get(service, path)[1].decode().partition('id="history"')[2]
        return re.findall(r'</time></th>\s*<td class="break">(\w)', body)

    assert listed("/alerts") == ["b", "b"]
    assert listed("/alerts?show=all") == ["a", "b", "b", "b"]
    assert listed("/alerts?show=all&text=GAIN") == ["a"]
    assert "Include “may be wrong”" in get(service, "/alerts?text=gain")[1].decode()
    assert get(service, "/alerts?show=some")[0] == 422


def test_one_sentence_error_and_advice_stand_in_the_interface_and_on_the_page(service, yard):
    document(service, "/api/v1/series/cart-03/mass/pairs")
    yard.stop()
    told = document(service, "/api/v1/series/cart-03/mass")
    pairs = document(service, "/api/v1/series/cart-03/mass/pairs")["pairs"]
    shown = service.page()
    assert shown is not None
    fired = transition(1, sensor="cart-03", time=pairs[9]["time"])
    other = transition(2, sensor="cart-04", time=pairs[9]["time"])
    service.publish(replace(shown, history=(fired, other)))
    body = html.unescape(get(service, "/series/cart-03/mass")[1].decode())
    verdict = told["verdict"]

    assert (verdict["state"], verdict["fault"], verdict["unit"]) == ("fault", "offset", "kg")
    assert verdict["estimate"] == told["statistics"]["error_now"]
    assert verdict["lower"] == told["statistics"]["error_now_lower"] > 0.0
    assert (verdict["sentence"], verdict["advice"]) == (told["sentence"], told["advice"])
    assert verdict["sentence"] in body
    assert verdict["advice"] in re.sub(r"<[^>]*>", "", body)
    assert f"<dt>bias</dt><dd>+{amount(verdict['estimate'], 'kg')}</dd>" in body
    assert body.count('class="rule fired"') == 2
    since = r'fault_since_timestamp_seconds</code></th><td class="n">20[-0-9]+ [:0-9]+ UTC<'
    assert re.search(since, body)


def test_the_score_of_a_series_is_the_one_that_its_profile_sets_first(service):
    scores = {"accuracy": "crps", "coverage": "quadratic", "balanced": "interval"}
    ratios = {"crps": 1.3, "quadratic": 1.8, "interval": 1.5}
    means = {"crps": 4.0, "quadratic": -0.03, "interval": 40.0}
    numbers = {f"score_{name}_expected_ratio": np.full(3, each) for name, each in ratios.items()}
    numbers |= {f"score_{name}_mean": np.full(3, each) for name, each in means.items()}
    three = fleet(3)
    published(service, replace(three, statistics=numbers, profiles=tuple(scores)))
    body = get(service, "/?sort=-score")[1].decode()

    # Above 1 is worse, of the quadratic score as well.
    order = re.findall(r'<tr data-key="node-0000(\d)/', body)
    assert order == ["1", "2", "0"]
    cells = re.findall(r'data-of="score / expected" title="mean ([^;]+);[^"]*">(.*?)</td>', body)
    assert cells == [
        (
            "quadratic score",
            "1.80\N{MULTIPLICATION SIGN} <small>\N{MINUS SIGN}0.03 per ug/m3</small>",
        ),
        ("interval score", "1.50\N{MULTIPLICATION SIGN} <small>40 ug/m3</small>"),
        ("CRPS", "1.30\N{MULTIPLICATION SIGN} <small>4 ug/m3</small>"),
    ]


@pytest.mark.parametrize("path", ["/series/", "/api/v1/series/"])
def test_a_series_that_was_forgotten_is_no_longer_there_and_that_is_said(service, path):
    published(service, replace(fleet(3), gone=frozenset({1})))
    status, body, _ = get(service, f"{path}node-00001/pm25")

    assert status == 404
    assert b"is forgotten" in body


def test_a_series_that_stopped_has_no_numbers_in_the_interface(service):
    published(service, replace(fleet(2), withdrawn=np.array([False, True])))
    here, stopped = document(service, "/api/v1/series")["series"]

    assert (here["withdrawn"], stopped["withdrawn"]) == (False, True)
    assert any(value is not None for value in here["statistics"].values())
    assert here["evidence"] is not None
    assert stopped["evidence"] is None
    assert set(stopped["statistics"]) == set(here["statistics"])
    assert set(stopped["statistics"].values()) == {None}


def test_a_series_that_stopped_has_no_numbers_on_the_pages(service):
    published(service, replace(fleet(2), withdrawn=np.array([False, True])))
    body = get(service, "/?figures=all")[1].decode()
    numbers = ("evidence", "bias", "score / expected", "ZMS", "coverage", "available")
    for name, is_shown in (("node-00000", True), ("node-00001", False)):
        (line,) = re.findall(rf'<tr data-key="{name}/.*?</tr>', body, re.DOTALL)
        cells = dict(re.findall(r'data-of="([^"]+)"[^>]*>(.*?)</td>', line))
        told = {of: re.sub(r"<[^>]*>", "", cells[of]) for of in numbers}
        assert {bool(re.search(r"\d", each)) for each in told.values()} == {is_shown}, told
        assert ("of" in told["coverage"]) == is_shown
    picture = get(service, "/picture")[1].decode()
    assert picture.count("<circle") == 1
    assert "1 sensor has no figures now" in picture


@pytest.mark.parametrize("order", sorted({*ORDERS, *WORDS}))
@pytest.mark.parametrize("turned", ["", "-"])
def test_what_has_no_number_comes_last_in_every_order(order, turned):
    snapshot = fleet(30)
    for values in (*snapshot.statistics.values(), snapshot.evidence, snapshot.last_pair):
        if not np.isfinite(values).all() or order not in WORDS:
            values[::3] = np.nan
    chosen = select(snapshot, SeriesQuery(order=order, descending=bool(turned)))

    assert sorted(chosen.rows.tolist()) == list(range(30))
    if order not in WORDS:
        keys = ORDERS[order](snapshot)[chosen.rows]
        known = keys[~np.isnan(keys)]
        assert np.isnan(keys[known.size :]).all()
        assert (np.diff(known) <= 0).all() if turned else (np.diff(known) >= 0).all()


@pytest.mark.parametrize(
    "query", ["sort=secret", "state=broken", "page=0", "page=x", "rows=100000", "text=" + "x" * 300]
)
@pytest.mark.parametrize("path", ["/", "/api/v1/series"])
def test_a_query_that_cannot_be_is_refused_in_words(path, query, service):
    service.publish(page())
    status, body, headers = get(service, f"{path}?{query}")

    assert status == 422
    assert b"the address asks for something impossible" in body
    assert headers["Content-Type"].startswith("text/html" if path == "/" else "application/json")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/api/v1/series?stat=firing", ("'stat'", "group, page, rows, sort, state, text")),
        ("/api/v1/doctor?a=1&b=2", ("'a', 'b'", "it has none")),
        ("/api/v1/compare?quantty=mass", ("'quantty'", "quantity")),
    ],
)
def test_a_parameter_that_nobody_knows_is_refused_with_the_known_ones(path, words, service, yard):
    status, body, _ = get(service, path)

    assert status == 422
    assert all(word in json.loads(body)["detail"] for word in words), body


def test_the_pairs_of_a_series_are_its_window_newest_first(service, yard):
    found = document(service, "/api/v1/series/cart-03/mass/pairs?limit=20")
    times = [each["time"] for each in found["pairs"]]

    assert found["total"] > 100
    assert len(times) == 20
    assert times == sorted(times, reverse=True)
    for each in found["pairs"]:
        assert each["error"] == pytest.approx(each["value"] - each["reference"])
        assert each["z"] == pytest.approx(each["error"] / math.hypot(each["u"], each["u_ref"]))
        assert each["inside"] == (each["lower"] <= each["reference"] <= each["upper"])
        assert each["key"]


def test_the_pairs_as_csv_score_as_they_do_here(service, yard, tmp_path):
    yard.stop()
    yard.service.requests.request_series(SeriesKey("cart-04", "mass"))
    snapshot = yard.publish().snapshot
    row = [name.sensor for name in snapshot.names].index("cart-04")
    status, body, headers = get(service, "/api/v1/series/cart-04/mass/pairs?format=csv")
    file = tmp_path / "pairs.csv"
    file.write_bytes(body)
    table = read_pairs(file)
    error = table.value - table.reference
    z = error / np.hypot(table.u, table.u_ref)

    assert status == 200
    assert headers["Content-Disposition"] == (
        "attachment; filename=\"pairs.csv\"; filename*=UTF-8''cart-04_mass.csv"
    )
    assert table.names == (("cart-04", "mass"),)
    assert error.mean() == pytest.approx(snapshot.statistics["calibration_bias"][row], rel=1e-12)
    assert (z * z).mean() == pytest.approx(snapshot.statistics["calibration_zms"][row], rel=1e-12)


def test_the_limit_holds_for_csv_too(service, yard):
    yard.stop()
    service.requests.request_series(SeriesKey("cart-04", "mass"))
    yard.publish()
    path = "/api/v1/series/cart-04/mass/pairs?format=csv"
    head, *rows = get(service, path)[1].splitlines()

    assert get(service, f"{path}&limit=3")[1].splitlines() == [head, *rows[-3:]]
    assert len(rows) > 3


def test_a_window_of_more_pairs_than_are_given_says_so_where_they_are_downloaded(service, yard):
    key = SeriesKey("cart-04", "mass")
    yard.stop()
    service.requests.request_series(key)
    page = yard.publish()
    moved = Event("cart-04", START, "moved")
    detail = replace(page.details[key], total=7000, events=(moved,))
    service.publish(replace(page, details={key: detail}))

    assert b" UTC</time>: moved" in get(service, "/series/cart-04/mass")[1]
    assert (
        b"Download the window (the last 5000 of its 7000 pairs)"
        in get(service, "/series/cart-04/mass")[1]
    )
    for what in ("ucc", "conventions"):
        found = document(service, f"/api/v1/series/cart-04/mass/{what}")
        assert found["total"] == 7000 > found["pairs"] > 0


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t"])
def test_no_key_becomes_a_formula_in_a_spreadsheet(begin):
    assert documents.safe_cell(f"{begin}1+1") == f"'{begin}1+1"
    assert documents.safe_cell("982 000") == "982 000"


def test_conventions_are_of_the_pairs_in_the_window(service, yard):
    path = "/api/v1/series/cart-04/mass"
    pairs = document(service, f"{path}/pairs")["pairs"][::-1]
    found = document(service, f"{path}/conventions")
    charted = found["levey_jennings"]

    assert [each["z"] for each in charted] == [pair["z"] for pair in pairs]
    assert found["en"]["beyond_1"] == sum(abs(pair["z"]) > 2.0 for pair in pairs)
    assert found["zeta"]["action"] == sum(abs(pair["z"]) > 3.0 for pair in pairs)
    assert found["westgard"]["1_3s"] == sum("1_3s" in each["rules"] for each in charted)


@pytest.mark.parametrize("axes", ["bandwidth-miss", "excess-deficit"])
def test_the_curve_ends_where_the_statistics_say(axes, service, yard):
    found = document(service, f"/api/v1/series/cart-04/mass/ucc?axes={axes}")
    points = found["curve"]
    x, y = ([point[axis] for point in points] for axis in "xy")

    assert found["axes"] == dict(zip("xy", axes.split("-"), strict=True))
    assert x == sorted(x)
    assert y == sorted(y, reverse=True)
    assert found["stated"]["scale"] == 1.0
    assert found["optimal"]["scale"] == found["statistics"]["scale_optimal"]
    if axes == "bandwidth-miss":
        area = sum((b - a) * m for a, b, m in zip(x, x[1:], y, strict=False))
        assert area == pytest.approx(found["statistics"]["auucc"], rel=1e-9)


def test_an_event_has_every_pair_of_its_key(service, yard):
    pair = document(service, "/api/v1/series/cart-01/mass/pairs?limit=1")["pairs"][0]
    found = document(service, f"/api/v1/events/{pair['key']}")

    assert found["key"] == pair["key"]
    assert [(each["sensor"], each["value"]) for each in found["pairs"]] == [
        ("cart-01", pair["value"])
    ]
    assert document(service, "/api/v1/events/a/key%20nobody%3Fhas")["pairs"] == []


SPREADS = {"coarse": 9.0, "fine": 2.0, "middle": 5.0}


@pytest.fixture
def race(service: Service) -> Iterator[Yard]:
    """Return three platforms of one race that weighed sixty animals."""
    made = Yard(service, carts=(), match_on=frozenset({"key"}))
    made.race(SPREADS, 60)
    made.run(0.0)
    until("the race is published", lambda: service.page() is not None)
    yield made
    made.stop()


def test_the_ranking_is_on_common_events_and_says_how_sure_it_is(service, race):
    race.take([Reading("fine", "mass", START, 1.0, u=1.0, key="never weighed")])
    until("the race is published", lambda: service.page() is not None)
    found = document(service, "/api/v1/ranking?profile=accuracy")
    error = {name: [] for name in SPREADS}
    for name in SPREADS:
        pairs = document(service, f"/api/v1/series/{name}/mass/pairs")["pairs"]
        error[name] = [abs(each["error"]) for each in pairs]

    assert (found["events"], found["primary"], found["quantity"]) == (60, "crps", "mass")
    assert [each["sensor"] for each in found["series"]] == sorted(
        SPREADS, key=lambda name: sum(error[name])
    )
    best = found["series"][0]["scores"]["crps"]
    assert best["lower"] < best["mean"] < best["upper"]
    assert (best["rank"], best["rank_upper"]) == (1.0, 1.0)
    again = document(service, "/api/v1/ranking?profile=accuracy")
    assert (again["seed"], again["series"]) == (found["seed"], found["series"])
    assert (
        found["sentence"]
        == "On 60 common events fine reads best by the mean CRPS; no other sensor's 95 % rank "
        "interval reaches first place."
    )
    errors = np.array([np.mean(error[each["sensor"]]) for each in found["series"]])
    crps, quadratic = (
        [each["scores"][name]["mean"] for each in found["series"]] for name in ("crps", "quadratic")
    )
    assert np.all(np.diff(errors) > 0.0)
    (together,) = [each for each in found["together"] if each["y"] == "quadratic"]
    assert together["slope"] == pytest.approx(np.polyfit(crps, quadratic, 1)[0], rel=1e-9)
    assert together["spearman"] == pytest.approx(spearmanr(crps, quadratic)[0], rel=1e-9)
    assert all(each["zeta_zms"] is not None for each in found["series"])
    two = document(service, "/api/v1/ranking?sensor=fine&sensor=coarse")
    assert [each["sensor"] for each in two["series"]] == ["fine", "coarse"]


def test_the_ranking_page_says_who_reads_best_and_draws_scores_and_verdicts(service, race):
    status, body, _ = get(service, "/ranking?profile=accuracy")
    text = body.decode()

    assert status == 200
    assert "On 60 common events fine reads best by the mean CRPS" in text
    assert text.count('<svg class="plot"') == 3
    assert "Rank correlation" in text
    assert "|zeta| of RCE against |zeta| of ZMS" in text
    # Ranks by the two scores that do not lead stand in their own columns.
    assert len(re.findall(r"<small>rank \d", text)) == 2 * len(SPREADS)


def test_the_picture_has_a_dot_a_sensor_where_its_numbers_say(service, race):
    body = html.unescape(get(service, "/picture")[1].decode())
    places = dict(re.findall(r'/series/(\w+)/mass"><circle class="dot \w+" cx="([\d.]+)"', body))
    titles = dict(re.findall(r"<title>(\w+) mass, [^<]*\(offset ([^<]*)\)</title>", body))
    z = {}
    for name in SPREADS:
        pairs = document(service, f"/api/v1/series/{name}/mass/pairs")["pairs"]
        z[name] = [each["z"] for each in pairs]

    assert sorted(places, key=lambda name: float(places[name])) == sorted(
        z, key=lambda name: np.mean(z[name])
    )
    for name, each in z.items():
        told = f"{np.mean(each):+.2f} u, spread {np.std(each):.2f} u"
        assert titles[name] == told.replace("-", "\N{MINUS SIGN}")
    assert get(service, "/picture?text=fine")[1].decode().count("<circle") == 1


def test_who_is_in_another_unit_is_neither_ranked_nor_compared_with_the_others(service):
    """The reference of all events is shared: 5 kg and 5 g would be as good as each other."""
    made = Yard(
        service,
        carts=(),
        match_on=frozenset({"key"}),
        rules=lambda sensor, _q: RULES._replace(unit="g" if sensor == "coarse" else "kg"),
    )
    made.race(SPREADS, 25)
    made.run(0.0)
    try:
        until("the race is published", lambda: service.page() is not None)
        found = document(service, "/api/v1/ranking")
        told = document(service, "/api/v1/compare?a=fine&b=coarse")
        page = get(service, "/ranking")[1].decode()
    finally:
        made.stop()

    assert {each["sensor"] for each in found["series"]} == {*SPREADS} - {"coarse"}
    assert (found["unit"], found["other_units"]) == ("kg", [{"sensor": "coarse", "unit": "g"}])
    assert "in another unit than kg:\ncoarse (g)" in page
    assert told["sentences"][0].startswith("fine is in kg and coarse in g, so they are not")
    assert told["scores"] == {}


def test_a_silent_sensor_does_not_empty_the_ranking_and_is_named(service, race):
    race.take([Reading("silent", "mass", START + 70.0, 500.0, u=5.0, key="tag 7")])
    until("it pairs", lambda: document(service, "/api/v1/ranking")["not_compared"])
    found = document(service, "/api/v1/ranking")
    body = get(service, "/ranking")[1].decode()

    assert [each["sensor"] for each in found["not_compared"]] == ["silent"]
    assert {each["sensor"] for each in found["series"]} == set(SPREADS)
    assert found["events"] == 60
    assert "Not compared: silent (saw 1) of the 60 common events" in body


@pytest.mark.parametrize(
    ("profile", "primary"),
    [("accuracy", "crps"), ("coverage", "quadratic"), ("balanced", "interval")],
)
def test_the_settings_say_what_counts_unless_the_address_does(service, profile, primary):
    made = Yard(
        service,
        carts=(),
        match_on=frozenset({"key"}),
        rules=lambda _s, _q: RULES._replace(profile=profile),
    )
    made.race(SPREADS, 25)
    made.run(0.0)
    until("the race is published", lambda: service.page() is not None)

    assert document(service, "/api/v1/ranking")["primary"] == primary
    assert document(service, "/api/v1/ranking?profile=accuracy")["primary"] == "crps"
    assert f"<option selected>{profile}" in get(service, "/ranking")[1].decode()
    made.stop()


def test_two_sensors_are_compared_on_their_common_events(service, race):
    found = document(service, "/api/v1/compare?quantity=mass&a=fine&b=coarse")
    turned = document(service, "/api/v1/compare?quantity=mass&a=coarse&b=fine")
    error = {
        name: [
            abs(each["error"])
            for each in document(service, f"/api/v1/series/{name}/mass/pairs")["pairs"]
        ]
        for name in ("fine", "coarse")
    }

    assert (found["first"], found["second"], found["events"]) == ("fine", "coarse", [60, 60])
    assert found["sentences"][0].startswith("On 60 common events fine reads better")
    assert found["uncertainty"]["measure"] == "auucc_gain"
    want = 1.0 - np.mean(error["fine"]) / np.mean(error["coarse"])
    assert found["savings"]["mae"] == pytest.approx(want, rel=1e-9)
    for name, each in found["scores"].items():
        assert turned["scores"][name]["difference"] == pytest.approx(-each["difference"], rel=1e-9)


def test_one_sensor_is_compared_with_itself_before_and_after(service, race):
    found = document(service, f"/api/v1/compare?a=fine&at={START + 400.0}")
    halves = document(service, "/api/v1/compare?a=fine")

    assert (found["paired"], found["events"]) == (False, [40, 20])
    assert (halves["first"], halves["events"]) == ("fine (first half)", [30, 30])
    assert get(service, "/api/v1/compare?a=fine&b=nobody")[0] == 404
    assert get(service, "/api/v1/compare?a=fine&b=coarse&miss=1")[0] == 422


def test_the_page_of_two_sensors_refuses_raw_curves_of_different_values(service, race):
    told = document(service, "/api/v1/compare?a=fine&b=coarse")
    body = get(service, "/compare?quantity=mass&a=fine&b=coarse")[1].decode()
    text = html.unescape(body)

    assert f'<p class="verdict">{told["sentences"][0]}</p>' in text
    assert "their raw curves are not compared" in text
    assert '<svg class="plot"' not in body
    assert "area saved against a constant uncertainty" in body
    assert f"mean absolute error: {100 * told['savings']['mae']:.3g} % less in the first" in body
    for each in told["scores"].values():
        assert f'<td class="n">{each["p"]:.3g}</td>' in body
    assert get(service, "/compare?a=fine&b=nobody")[0] == 404
    assert get(service, "/compare?a=fine&profile=secret")[0] == 422
    assert "its own past" in get(service, "/compare?a=fine")[1].decode()


def test_the_page_draws_both_curves_of_two_claims_about_the_same_values(service, race):
    pairs = document(service, "/api/v1/series/fine/mass/pairs")["pairs"]
    twins = [
        Reading("twin", "mass", each["time"], each["value"], u=2.0 + at % 7, key=each["key"])
        for at, each in enumerate(pairs)
    ]
    race.take(twins)
    until("it pairs", lambda: get(service, "/compare?a=fine&b=twin")[0] == 200)
    told = document(service, "/api/v1/compare?a=fine&b=twin")
    body = get(service, "/compare?a=fine&b=twin")[1].decode()

    assert told["uncertainty"]["measure"] == "auucc"
    assert body.count('<svg class="plot"') == 1
    assert "area under the curve" in body
    assert "Solid: fine; dashed: twin" in body
    assert body.count('class="line seen"') == body.count('class="line other"') == 1


def test_who_has_no_pairs_is_not_compared_by_default(service):
    made = Yard(service, carts=(), match_on=frozenset({"key"}))
    made.take([Reading("aside", "mass", START, 1.0, u=1.0)])
    made.take([Reading(f"rh-{at}", "rh", START, 1.0, u=1.0) for at in range(9)])
    made.race(SPREADS, 20)
    made.run(0.0)
    try:
        until("the race is published", lambda: service.page() is not None)
        found = document(service, "/api/v1/compare")
    finally:
        made.stop()

    assert (found["quantity"], found["first"]) == ("mass", "coarse (first half)")


def test_who_is_forgotten_can_no_longer_be_chosen():
    names = [SeriesName(str(at), "rh" if at < 2 else "mass", "", f"g{at}") for at in range(3)]
    now = replace(fleet(3), names=tuple(names))
    later = replace(now, gone=frozenset({0, 1}))

    assert [usual_quantity(each) for each in (now, later)] == ["rh", "mass"]
    assert select(later, SeriesQuery()).groups == ("g2",)
    assert names_shown(later) == names[2:]


@pytest.mark.parametrize("path", ["/ranking", "/budget"])
def test_the_only_group_can_be_given_up_where_it_was_chosen(service, race, path):
    chosen, every = (get(service, f"{path}{query}")[1] for query in ("?group=yard", ""))

    assert b"<option selected>yard</option>" in chosen
    assert b">yard</option>" not in every


def test_the_form_of_a_comparison_keeps_the_miss_rate(service, race):
    path = "/compare?quantity=mass&a=fine&b=coarse"

    assert b'name="miss" value="0.25"' in get(service, f"{path}&miss=0.25")[1]
    assert b'name="miss"' not in get(service, path)[1]


def test_ranking_and_series_lead_to_the_comparison(service, race):
    ranked = html.unescape(get(service, "/ranking")[1].decode())
    series = html.unescape(get(service, "/series/coarse/mass")[1].decode())

    assert 'href="/compare?quantity=mass&a=coarse&b=fine"' in ranked
    assert 'href="/compare?quantity=mass&a=coarse"' in series


def test_an_event_shows_all_that_saw_it_the_best_first_with_scores(service, race):
    found = document(service, "/api/v1/events/tag%207")
    body = get(service, "/events/tag%207")[1].decode()
    z = {each["sensor"]: each["z"] for each in found["pairs"]}

    assert set(z) == set(SPREADS)
    # All state the same u: the CRPS orders as |z| does.
    assert [abs(each["z"]) for each in found["pairs"]] == sorted(map(abs, z.values()))
    crps = [each["crps"] for each in found["pairs"]]
    assert crps == sorted(crps)
    held = sum(each["inside"] for each in found["pairs"])
    best = found["pairs"][0]["sensor"]
    said = f"{best} read its mass best; {held} of 3 intervals hold the reference."
    assert found["sentences"] == [said]
    assert said in body
    assert '<th scope="col" class="n">CRPS</th>' in body


def test_without_common_events_the_ranking_says_what_to_do(service, yard):
    found = document(service, "/api/v1/ranking")
    body = get(service, "/ranking")[1]

    assert (found["events"], found["series"]) == (0, [])
    assert len(found["without"]) == len(CARTS)
    assert b"pairing.match_on" in body


def test_a_ranking_of_nothing_is_empty(service, yard):
    assert document(service, "/api/v1/ranking?quantity=nothing")["without"] == []
    assert b"needs two sensors" in get(service, "/ranking?quantity=nothing")[1]


def test_what_nobody_has_heard_of_is_said_so_with_what_to_do(service, yard):
    for path in ("/api/v1/series/x/y/pairs", "/api/v1/series/x/y/ucc", "/api/v1/series/x/y"):
        status, body, _ = get(service, path)
        assert status == 404
        assert "/api/v1/series lists" in json.loads(body)["detail"]
    status, body, headers = get(service, "/series/x/y")
    assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"Back to the fleet" in body


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


def test_dead_letters_of_one_sensor_and_one_reason(service):
    letters = [
        DeadLetter(1.0, "wow/cart-01/reading", "bad_payload", "", "", b""),
        DeadLetter(2.0, "wow/cart-02/reading", "bad_payload", "", "", b""),
        DeadLetter(3.0, "wow/cart-01/reading", "future", "", "", b""),
    ]
    published(service, fleet(1), dead_letters=tuple(letters))

    def received(query: str) -> list[float]:
        found = document(service, f"/api/v1/deadletters?{query}")["deadletters"]
        return [each["received"] for each in found]

    assert received("") == [1.0, 2.0, 3.0]
    assert received("sensor=cart-01") == [1.0, 3.0]
    assert received("sensor=cart-01&reason=future") == [3.0]
    assert received("sensor=cart-0") == []


def test_the_settings_in_force_have_their_hash_and_no_credentials(service):
    text = """
mqtt: {host: broker.example, username: herd, password_env: SECRET_PLACE}
groups: [{name: yard, sensors: ["cart-*"]}]
"""
    settings = parse(text.encode(), "settings")
    shown = shown_settings(settings)
    published(service, fleet(1), settings=shown, settings_hash=settings_hash(settings))
    body = get(service, "/api/v1/settings")[1]
    found = json.loads(body)

    assert found["settings"]["mqtt"]["host"] == "broker.example"
    assert found["settings"]["groups"][0]["name"] == "yard"
    assert found["hash"] == settings_hash(settings)
    for secret in (b"herd", b"SECRET_PLACE", b"password", b"username"):
        assert secret not in body
        assert secret not in get(service, "/about")[1].replace(b"passwords", b"")


def test_the_description_of_the_interface_is_true(service, yard):
    description = document(service, "/api/v1/openapi.json")
    pair = document(service, "/api/v1/series/cart-01/mass/pairs?limit=1")["pairs"][0]
    yard.letters = (DeadLetter(1.0, "a/b", "bad_payload", "", "", b"x"),)
    yard.publish()
    names = {"sensor": "cart-01", "quantity": "mass", "key": pair["key"]}

    assert description["openapi"].startswith("3.")
    for path, operations in description["paths"].items():
        assert set(operations) == {"get"}, path
        answer = document(service, path.format(**names))
        said = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema = {**said, "components": description["components"]}
        jsonschema.validate(answer, schema)
        model = description["components"]["schemas"][said["$ref"].rpartition("/")[2]]
        if model["title"] != "Doctor":
            assert set(answer) <= set(model["properties"]), path
    assert len(description["paths"]) >= 9


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


def test_a_stream_begins_with_all_lines_and_goes_on_with_those_that_changed(service):
    snapshot = fleet(30)
    published(service, snapshot)
    events = stream(service, "/live/fleet?sort=sensor")
    first = next(events)
    changed = [*snapshot.sentences]
    changed[7] = "reads nothing but <b>trouble</b>"
    published(service, replace(snapshot, sentences=tuple(changed)))
    second = next(events)
    events.close()

    assert first["order"] == [f"node-{row:05}/pm25" for row in range(30)]
    assert set(first["rows"]) == set(first["order"])
    assert set(second["rows"]) == {"node-00007/pm25"}
    assert "order" not in second
    assert "&lt;b&gt;trouble" in second["rows"]["node-00007/pm25"]


def test_a_stream_says_when_the_warnings_above_the_fleet_change(service):
    snapshot = fleet(3)
    snapshot = replace(snapshot, window_pairs=np.array([0, 5, 5]))
    doctor = {"pairing": ["no reference fits"]}

    def marked(notices: tuple[str, ...], doctor: dict[str, list[str]]) -> str:
        published(service, snapshot, notices=notices, doctor=doctor)
        found = re.search(rb'data-warnings="(\w+)"', get(service, "/")[1])
        assert found
        return found[1].decode()

    known = [
        marked(("certificate ends",), doctor),
        marked((), doctor),
        marked((), {"pairing": ["the keys differ"]}),
    ]
    events = stream(service, "/live/fleet")
    last = next(events)["warnings"]
    published(service, snapshot, notices=("certificate ends",), doctor=doctor)
    again = next(events)["warnings"]
    events.close()

    assert len(set(known)) == 3
    assert (last, again) == (known[2], known[0])


def test_streams_leave_connections_for_others():
    # Nobody is dropped for having said nothing, however long the others take.
    service = Service("127.0.0.1", 0, connections_max=20, header_timeout_seconds=WAIT_SECONDS)
    service.start()
    until("the service answers", lambda: answers(service))
    service.publish(page())
    port = int(service.url.rsplit(":", 1)[1])
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(service.connections_max)]
    try:
        for each in held[:-2]:
            each.sendall(b"GET /live/page HTTP/1.1\r\nHost: x\r\n\r\n")
        codes = [each.recv(64)[9:12] for each in held[:-2]]
        assert codes.count(b"200") == service.connections_max // 8
        assert set(codes) == {b"200", b"503"}
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert held[-1].recv(64)[9:12] == b"200"
    finally:
        for each in held:
            each.close()
        service.stop()


def serving() -> list[threading.Thread]:
    """Return the threads in which a service answers."""
    return [each for each in threading.enumerate() if "_serve" in each.name]


def test_an_open_stream_does_not_hold_up_the_end(service):
    service.publish(page())
    with socket.create_connection(("127.0.0.1", int(service.url.rsplit(":", 1)[1]))) as listening:
        listening.sendall(b"GET /live/page HTTP/1.1\r\nHost: x\r\n\r\n")
        assert listening.recv(64)
        service.stop()

        until("its thread has ended", lambda: not serving())
        listening.settimeout(WAIT_SECONDS)
        with suppress(ConnectionResetError):
            while listening.recv(4096):
                pass


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


def test_a_page_that_did_not_change_is_not_sent_again(service):
    service.publish(page())
    first = get(service, "/")
    again = get(service, "/", **{"If-None-Match": first[2]["ETag"]})

    assert first[0] == 200
    assert (again[0], again[1]) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/alerts",
        "/doctor",
        "/about",
        "/ranking",
        "/series/cart-01/mass",
        "/static/monitor.js",
        "/static/plots.js",
        "/nothing",
    ],
)
def test_every_answer_carries_the_policy_and_no_style_or_script_of_its_own(path, service, yard):
    status, body, headers = get(service, path)
    text = body.decode()

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "'unsafe" not in headers["Content-Security-Policy"]
    if path.endswith(".js"):
        assert "immutable" in headers["Cache-Control"]
    else:
        assert headers["Cache-Control"] == "no-store"
        assert " style=" not in text
        assert "<style" not in text
        assert not re.search(r"\son\w+=", text)
    assert get(service, path, "HEAD")[:2] == (status, b"")


def test_a_fleet_of_ten_thousand_costs_a_page_of_one_hundred(service):
    published(service, fleet(10_000))
    body = get(service, "/")[1]
    packed = get(service, "/", **{"Accept-Encoding": "gzip"})[1]

    assert body.count(b"data-key=") == 100
    assert len(packed) < 35_000


def test_slow_connections_are_dropped_and_do_not_keep_others_out(service):
    service.publish(page())
    port = int(service.url.rsplit(":", 1)[1])
    slow = []
    try:
        for _ in range(100):
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
            assert get(service, "/metrics")[0] == 200
        for each in slow:
            each.settimeout(WAIT_SECONDS)
            try:
                assert each.recv(1) == b""
            except ConnectionError:
                continue
    finally:
        for each in slow:
            each.close()


def test_an_idle_connection_may_ask_again_within_the_limit(service):
    service.publish(page())
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"))
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        time.sleep(0.1)
    connection.close()


def test_a_request_that_came_with_another_has_the_time_of_an_answer(service, monkeypatch):
    monkeypatch.setattr("monitor.http.answers.WAIT_SECONDS", 1.0)  # twice the head's
    service.publish(page())
    host, port = service.url.removeprefix("http://").split(":")
    paths = ("/healthz", "/api/v1/series/cart-01/mass/pairs")
    asked = "".join(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n" for path in paths)
    with socket.create_connection((host, int(port)), WAIT_SECONDS) as asking:
        asking.sendall(asked.encode())
        answers, told = b"", b"ask again"
        while told not in answers and (more := asking.recv(4096)):
            answers += more

    assert told in answers


def test_a_taken_address_is_said_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = Service("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ServiceError, match=r"set http\.port"):
            service.start()


def test_stopping_ends_its_thread_and_nobody_answers_any_more(service):
    assert serving()
    service.stop()

    until("its thread has ended", lambda: not serving())
    assert get(service, "/healthz")[0] == 0


def test_the_documentation_is_served_with_links_that_lead_on(service):
    service.publish(page())
    contents = get(service, "/docs")[1].decode()
    asked = re.findall(r'href="(/docs/[\w./-]+#[\w-]+)"', contents)

    assert len(asked) >= 20
    text = get(service, "/docs/pairing")[1].decode()
    assert '<h2 id="no-pairs">' in text
    for target in re.findall(r'(?:href|src)="(/docs/[^"#]+)', text + contents):
        status, _, headers = get(service, target)
        assert status == 200, target
        assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_the_documentation_is_searched_and_what_is_asked_is_only_text(service):
    service.publish(page())
    text = get(service, "/docs?q=no+pairs")[1].decode()
    hostile = get(service, "/docs?q=%3Cscript%3E")[1].decode()

    assert re.findall(r'href="(/docs/[\w.-]+#[\w-]+)"', text)[0] == "/docs/pairing#no-pairs"
    assert "<script>" not in hostile
    assert "No section holds all of these words" in hostile


def test_an_answers_body_does_not_wait_for_the_receipt_of_its_head(monkeypatch):
    """Nagle's algorithm and delayed acknowledgements would add 40 ms to every answer."""
    found = []
    made = HttpConnection.connection_made

    def look(self: HttpConnection, transport: asyncio.Transport) -> None:
        connection = transport.get_extra_info("socket")
        found.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(HttpConnection, "connection_made", look)
    service = Service("127.0.0.1", 0)
    service.start()
    try:
        with urllib.request.urlopen(
            f"{service.url}/static/monitor.css", timeout=WAIT_SECONDS
        ) as answer:
            answer.read()
    finally:
        service.stop()

    assert found
    assert all(found)


def test_a_client_that_is_accepted_while_the_service_ends_is_closed():
    """Its connection would be lost unclosed, which a ResourceWarning tells."""
    settings = uvicorn.Config(lambda *_: None, lifespan="off", log_config=None)
    served = QuietServer(settings)
    listening = socket.create_server(("127.0.0.1", 0))
    clients = []

    def come_at_the_end() -> None:
        clients.append(socket.create_connection(listening.getsockname(), timeout=WAIT_SECONDS))
        served.end()

    async def serve() -> None:
        asyncio.get_running_loop().call_later(0.05, come_at_the_end)
        await served.serve(sockets=[listening])

    asyncio.run(serve())
    with closing(clients[0]) as client, suppress(ConnectionResetError):
        assert client.recv(1) == b""
