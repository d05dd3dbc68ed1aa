"""Pages for people: what they draw, refuse and lead to."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from harness.http_service import SPREADS, document, get, published
from harness.programs import until
from harness.transitions import transition
from harness.yard import START, Yard, fleet

from monitor.core.model import Event, Reading
from monitor.core.registry import SeriesKey, SeriesName
from monitor.http.rankings import usual_quantity
from monitor.http.selection import SeriesQuery, names_shown, select


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


@pytest.mark.parametrize("path", ["/series/", "/api/v1/series/"])
def test_a_series_that_was_forgotten_is_no_longer_there_and_that_is_said(service, path):
    published(service, replace(fleet(3), gone=frozenset({1})))
    status, body, _ = get(service, f"{path}node-00001/pm25")

    assert status == 404
    assert b"is forgotten" in body


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


def test_what_nobody_has_heard_of_is_said_so_with_what_to_do(service, yard):
    for path in ("/api/v1/series/x/y/pairs", "/api/v1/series/x/y/ucc", "/api/v1/series/x/y"):
        status, body, _ = get(service, path)
        assert status == 404
        assert "/api/v1/series lists" in json.loads(body)["detail"]
    status, body, headers = get(service, "/series/x/y")
    assert (status, headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert b"Back to the fleet" in body
