"""Documents of the interface: what is undefined is null, and numbers are those of the snapshot."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from harness.http_service import document, get, page, published
from harness.transitions import transition
from harness.yard import fleet

from monitor.core.formatting import amount
from monitor.core.registry import SeriesKey
from monitor.files import read_pairs
from monitor.journal import DeadLetter


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


def test_a_series_that_stopped_has_no_numbers_in_the_interface(service):
    published(service, replace(fleet(2), withdrawn=np.array([False, True])))
    here, stopped = document(service, "/api/v1/series")["series"]

    assert (here["withdrawn"], stopped["withdrawn"]) == (False, True)
    assert any(value is not None for value in here["statistics"].values())
    assert here["evidence"] is not None
    assert stopped["evidence"] is None
    assert set(stopped["statistics"]) == set(here["statistics"])
    assert set(stopped["statistics"].values()) == {None}


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
