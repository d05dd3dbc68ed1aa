"""Rankings and comparisons are computed on common events."""

from __future__ import annotations

import numpy as np
import pytest
from harness.http_service import SPREADS, document, get
from harness.programs import until
from harness.yard import RULES, START, Yard
from scipy.stats import spearmanr

from monitor.core.model import Reading
from monitor.http import rankings
from monitor.simulate.carts import CARTS


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


def test_without_common_events_the_ranking_says_what_to_do(service, yard):
    found = document(service, "/api/v1/ranking")
    body = get(service, "/ranking")[1]

    assert (found["events"], found["series"]) == (0, [])
    assert len(found["without"]) == len(CARTS)
    assert b"pairing.match_on" in body


def test_a_ranking_of_nothing_is_empty(service, yard):
    assert document(service, "/api/v1/ranking?quantity=nothing")["without"] == []
    assert b"needs two sensors" in get(service, "/ranking?quantity=nothing")[1]


def test_a_ranking_has_every_member_of_its_type_and_no_other(race, service):
    table = document(service, "/api/v1/ranking?quantity=mass")

    assert set(table) == set(rankings.RankingTable.__annotations__)
    assert len(table["series"]) == len(SPREADS)
    for line in table["series"]:
        assert set(line) == set(rankings.RankedSeries.__annotations__)
        for score in line["scores"].values():
            assert set(score) == set(rankings.RankedScore.__annotations__)
