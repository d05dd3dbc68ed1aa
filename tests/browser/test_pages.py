"""The pages in a real Chromium: what is wrong appears, is found, and looks as it should."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from browser.conftest import shoot
from harness.cases import further
from harness.yard import START, Yard, fleet
from playwright.sync_api import expect

from monitor.core.model import Event, Reading, Reference
from monitor.http.published import Page
from monitor.journal import DeadLetter
from monitor.simulate.carts import CARTS

HOSTILE = "<img src=x onerror=alert(1)>\"'&<script>alert(2)"
PATHS = [
    "/",
    "/picture",
    "/ranking",
    "/budget",
    "/due",
    "/compare?quantity=mass&a=cart-03",
    "/series/cart-03/mass",
    "/alerts",
    "/doctor",
    "/about",
    "/?text=nothing+fits",
    "/nowhere",
]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def published(service, snapshot, **more) -> None:
    service.publish(Page(snapshot, **more))


def names(tab) -> list[str]:
    return tab.locator("#rows tr").evaluate_all("rows => rows.map((row) => row.dataset.key)")


def test_the_fleet_says_what_is_wrong_and_what_would_mend_it(visit, yard):
    tab = visit.open()
    row = tab.locator("tr[data-key='cart-03/mass']")

    expect(row.locator(".chip")).to_have_text("needs work")
    expect(row.locator(".told")).to_contain_text("heavy")
    expect(row.locator(".advice")).to_contain_text("subtract")
    assert len(names(tab)) == len(CARTS)
    assert tab.locator("#summary .chip.firing").inner_text() == (
        f"{yard.service.page().snapshot.states.count('firing')} need work"
    )
    expect(row.locator(".advice")).not_to_contain_text("CRPS", use_inner_text=True)
    shoot(tab, "fleet")
    tab.get_by_role("link", name="figures").click()
    expect(row.locator(".advice")).to_contain_text("CRPS", use_inner_text=True)
    expect(row.locator("td[data-of='evidence']")).to_be_visible()
    shoot(tab, "figures")


def test_an_injected_fault_appears_by_itself(visit, yard):
    tab = visit.open()
    row = tab.locator("tr[data-key='cart-01/mass']")
    expect(row.locator(".chip")).to_have_text("fine")
    yard.offsets["cart-01"] = 25.0
    yard.run()

    expect(row.locator(".chip")).to_have_text("needs work", timeout=20_000)
    expect(row.locator(".told")).to_contain_text("heavy")
    expect(tab.locator("#asof")).not_to_contain_text("not live")


def test_typing_filters_without_a_new_page_and_the_address_can_be_shared(visit, yard):
    tab = visit.open()
    tab.evaluate("window.same = true")
    tab.get_by_label("Find").fill("HEAVY mass")
    expect(tab.locator("tr[data-key='cart-03/mass']")).to_be_visible()
    expect(tab.locator("tr[data-key='cart-01/mass']")).to_have_count(0)

    assert tab.evaluate("window.same") is True
    assert tab.evaluate("document.activeElement.name") == "text"
    assert names(visit.open(tab.url.removeprefix(yard.service.url))) == names(tab)
    tab.go_back()
    expect(tab.locator("#rows tr")).to_have_count(len(CARTS))


def test_states_are_chosen_and_given_up_by_a_click(visit, yard):
    tab = visit.open()
    tab.locator("#summary a.chip.right").click()
    expect(tab.locator("#rows tr .chip.firing")).to_have_count(0)
    expect(tab.locator("#summary a.chip.right")).to_have_attribute("aria-current", "true")
    tab.locator("#summary a.chip.right").click()
    expect(tab.locator("#rows tr")).to_have_count(len(CARTS))


def test_a_column_orders_one_way_and_then_the_other(visit, yard):
    tab = visit.open()
    for turn in ("ascending", "descending"):
        tab.get_by_role("link", name="sensor", exact=True).click()
        heading = tab.locator("th", has=tab.get_by_role("link", name="sensor", exact=True))
        expect(heading).to_have_attribute("aria-sort", turn)
        assert names(tab) == sorted(names(tab), reverse=turn == "descending")


def test_the_order_stays_what_was_asked_for_while_numbers_change(visit, yard):
    tab = visit.open("/?sort=-evidence")
    yard.run()
    tab.wait_for_function(
        "first => document.getElementById('asof').textContent !== first",
        arg=tab.locator("#asof").inner_text(),
    )
    yard.stop()
    page = yard.service.page()
    order = sorted(range(len(CARTS)), key=lambda row: -page.snapshot.evidence[row])
    wanted = [f"{page.snapshot.names[row].sensor}/mass" for row in order]

    tab.wait_for_function(
        "wanted => JSON.stringify([...document.querySelectorAll('#rows tr')]"
        ".map((row) => row.dataset.key)) === JSON.stringify(wanted)",
        arg=wanted,
    )


def test_the_series_page_begins_with_the_sentence_and_draws_every_plot(visit, yard):
    yard.take([Event("cart-03", START + 60.0, "moved", "to race 2")])
    yard.run(0.5)
    tab = visit.open("/series/cart-03/mass")
    verdict = tab.locator(".verdict")

    expect(verdict).to_contain_text("cart-03 reads")
    assert tab.locator("figure svg.plot").count() >= 9
    for drawing in tab.locator("figure svg.plot").all():
        box = drawing.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 100
        assert drawing.get_attribute("aria-label")
    expect(tab.get_by_text("to race 2")).to_be_visible()
    yard.stop()
    shoot(tab, "series")


def test_the_series_page_follows_while_it_is_open_and_keeps_what_was_unfolded(visit, yard):
    yard.run()
    tab = visit.open("/series/cart-01/mass")
    tab.locator("#all-statistics summary").click()
    newest = tab.locator("table tbody th").first.inner_text()

    expect(tab.locator("table tbody th").first).not_to_have_text(newest, timeout=15_000)
    assert tab.locator("#all-statistics").get_attribute("open") is not None
    expect(tab.locator("#all-statistics summary")).to_be_focused()


def test_going_to_a_part_of_a_page_asks_for_no_page(visit, yard):
    tab = visit.open("/doctor")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    expect(tab.locator("#main")).to_be_focused()
    tab.go_back()
    tab.wait_for_function("location.hash === ''")

    assert [url for url in asked if "/live/" not in url and "/static/icon" not in url] == []


def test_the_pairs_can_be_downloaded_and_the_event_of_a_pair_looked_at(visit, yard):
    yard.run(0.5)
    tab = visit.open("/series/cart-01/mass")
    with tab.expect_download() as download:
        tab.get_by_role("link", name="CSV").click()
    text = download.value.path().read_text(encoding="utf-8")

    assert text.startswith("time,sensor,quantity,unit,value,sigma,")
    assert text.count("\n") > 100
    tab.locator("a[href^='/events/']").first.click()
    expect(tab.locator("svg.plot")).to_be_visible()
    expect(tab.get_by_role("link", name="cart-01")).to_be_visible()
    shoot(tab, "event")


def test_ten_thousand_series_are_shown_a_page_at_a_time_and_found_by_name(visit, service):
    published(service, fleet(10_000))
    tab = visit.open()
    assert len(names(tab)) == 100
    expect(tab.locator(".pages")).to_contain_text("1 to 100 of 10000")
    tab.get_by_role("link", name="next").click()
    expect(tab.locator(".pages")).to_contain_text("101 to 200 of 10000")
    tab.get_by_label("Find").fill("node-07777")
    expect(tab.locator("#rows tr")).to_have_count(1)
    tab.get_by_label("Find").fill("")
    tab.get_by_label("Group").select_option("model-3")
    expect(tab.locator("#rows tr").first).to_contain_text("model-3")
    shoot(tab, "ten-thousand", whole=False)


def test_the_ranking_compares_who_saw_the_same(visit, service):
    race = Yard(service, carts=(), match_on=frozenset({"key"}))
    race.race({"p01": 9.0, "p02": 2.0, "p03": 5.0, "p04": 5.2}, 60)
    race.run(0.0)
    tab = visit.open("/ranking")

    expect(tab.locator("tbody th a").first).to_have_text("p02")
    expect(tab.locator("svg.plot")).to_have_count(3)
    expect(tab.locator(".verdict")).to_contain_text("read")
    tab.get_by_label("What counts").select_option("accuracy")
    expect(tab.get_by_text("ranked by the mean CRPS")).to_be_visible()
    shoot(tab, "ranking")
    race.stop()


def test_a_thousand_sensors_are_in_one_picture_and_lead_to_their_pages(visit, service):
    published(service, fleet(1000))
    tab = visit.open("/picture")
    assert tab.locator("svg.plot circle").count() == 1000
    assert tab.locator(".plot .word.note").count() > 5
    shoot(tab, "picture")
    tab.get_by_label("Group").select_option("model-3")
    expect(tab.locator("svg.plot circle")).to_have_count(143)


def test_hostile_names_keys_and_payloads_are_text_on_every_page(visit, yard):
    truth, now = 500.0, START + 149.0
    yard.take(
        [
            Reading(HOSTILE, "mass", now, truth, u=5.0, key=HOSTILE),
            Reference(HOSTILE, "mass", now, truth, 0.5, HOSTILE),
            Event(HOSTILE, now - 1.0, HOSTILE, HOSTILE),
        ]
    )
    yard.letters = (
        DeadLetter(1.0, f"a/{HOSTILE}", "bad_payload", HOSTILE, HOSTILE, HOSTILE.encode()),
    )
    yard.run(0.1)
    tab = visit.open("/?text=onerror")
    expect(tab.locator("#rows tr th")).to_contain_text(HOSTILE)
    tab.locator("#rows tr th a").click()
    expect(tab.locator("h1")).to_contain_text(HOSTILE)
    tab.locator("a[href^='/events/']").first.click()
    expect(tab.locator("h1")).to_contain_text(HOSTILE)
    doctor = visit.open("/doctor")
    expect(doctor.get_by_text(HOSTILE).first).to_be_visible()

    for each in (tab, doctor):
        assert each.locator("img").count() == 0
        assert each.locator("main script").count() == 0
    search = visit.open(f"/?text={HOSTILE.replace('&', '%26')}&state=firing")
    assert search.get_by_label("Find").input_value() == HOSTILE


@pytest.mark.parametrize("visit", [{"java_script_enabled": False}], indirect=True)
def test_everything_works_without_a_script(visit, yard):
    yard.run(0.1)
    tab = visit.open()
    tab.get_by_label("State").select_option("right")
    tab.get_by_role("button", name="Show").click()
    expect(tab.locator("#rows .chip.firing")).to_have_count(0)
    tab.get_by_role("link", name="sensor", exact=True).click()
    heading = tab.locator("th", has=tab.get_by_role("link", name="sensor", exact=True))
    expect(heading).to_have_attribute("aria-sort", "ascending")
    tab.wait_for_load_state()
    assert names(tab) == sorted(names(tab))
    tab.locator("#rows th a").first.click()
    expect(tab.locator("figure svg.plot").nth(8)).to_be_visible()


FIRST_POINT = """each => {
  const [, x, y] = each.querySelector('.dots').getAttribute('d').match(/M([0-9.]+) ([0-9.]+)/);
  const at = new DOMPoint(x, y).matrixTransform(each.getScreenCTM());
  return [at.x, at.y];
}"""


def test_a_plot_tells_its_points_and_is_zoomed_into(visit, yard):
    yard.run(0.1)
    tab = visit.open("/series/cart-03/mass")
    yard.stop()
    figure = tab.locator("figure", has_text="Error over time.")
    plot = figure.locator("svg")
    plot.scroll_into_view_if_needed()
    point = plot.evaluate(FIRST_POINT)
    tab.mouse.move(*point)
    expect(tab.locator(".tip")).to_have_text(re.compile(r"^2026-\d\d-\d\d \d\d:\d\d:\d\d, \S+$"))

    before = plot.locator(".dots").get_attribute("d")
    ticks = plot.locator(".tick").all_text_contents()
    box = plot.bounding_box()
    tab.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=4)
    tab.mouse.up()
    assert plot.locator(".dots").get_attribute("d") != before
    assert plot.locator(".tick").all_text_contents() != ticks
    shoot(tab, "zoomed", whole=False)
    figure.get_by_role("button", name="whole range").click()
    assert plot.locator(".dots").get_attribute("d") == before
    assert plot.locator(".tick").all_text_contents() == ticks


@pytest.mark.parametrize("visit", [{"timezone_id": "Asia/Kolkata"}], indirect=True)
def test_local_times_stand_beside_utc(visit, yard):
    yard.run(0.1)
    tab = visit.open("/series/cart-03/mass")
    time = tab.locator("table time").first
    told = datetime.fromisoformat(time.get_attribute("datetime"))
    local = told.astimezone(ZoneInfo("Asia/Kolkata"))

    assert told.strftime("%Y-%m-%d %H:%M:%S") in time.inner_text()
    assert time.locator(".local").inner_text() == local.strftime(
        "%H:%M:%S local" if local.date() == told.date() else "%Y-%m-%d %H:%M:%S local"
    )
    expect(tab.locator("#asof")).to_contain_text(" local")
    assert visit.open("/series/cart-03/mass").locator("time .local").count() > 5


def test_it_works_without_a_mouse(visit, yard):
    yard.run(0.1)
    tab = visit.open("/?sort=sensor")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    expect(tab.locator("#main")).to_be_focused()
    reached: list[str] = []
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.textContent.trim()"))
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if reached[-1] == "cart-01":
            break
    assert reached[-1] == "cart-01"
    tab.keyboard.press("Enter")
    expect(tab.locator("h1")).to_contain_text("cart-01")


def test_a_line_that_has_the_focus_keeps_it_when_it_changes(visit, yard):
    tab = visit.open("/?sort=sensor")
    tab.locator("tr[data-key='cart-01/mass'] a").focus()
    before = tab.locator("tr[data-key='cart-01/mass']").inner_html()
    yard.run()
    tab.wait_for_function(
        "before => document.querySelector(\"tr[data-key='cart-01/mass']\").innerHTML !== before",
        arg=before,
    )

    assert tab.evaluate("document.activeElement.textContent") == "cart-01"


@pytest.mark.parametrize(
    "visit", [PHONE, *further(PHONE | {"color_scheme": "dark"})], indirect=True
)
def test_nothing_is_wider_than_a_phone(visit, yard):
    yard.run(0.1)
    for path, tab in visit.each(PATHS):
        dark = tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        shoot(tab, f"phone{path}{'-dark' if dark else ''}")

        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


OVERLAPS = """() => {
  const found = [];
  const all = (root, what) => [...root.querySelectorAll(what)];
  const groups = all(document, 'svg.plot').map((svg) => all(svg, 'text'));
  groups.push(all(document, '.chip, h1, h2, nav a, .filter label, .figures > div, button'));
  const boxed = (each) => [each.textContent.trim().slice(0, 30), each.getBoundingClientRect()];
  for (const group of groups) {
    const boxes = group.map(boxed)
      .filter(([, box]) => box.width && box.height);
    boxes.forEach(([one, a], at) => boxes.slice(at + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const nested = one.includes(other) || other.includes(one);
      if (wide > 2 && high > 4 && !nested) found.push(`${one} | ${other}`);
    }));
  }
  return found;
}"""
LIGHT, DARK = {"color_scheme": "light"}, {"color_scheme": "dark"}


def assert_tidy(tab, name: str) -> None:
    """Nothing is wider than the window, and no word lies on another."""
    assert tab.get_by_text("Back to the fleet").count() == 0  # it is no refusal
    for width in (360, 768, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        shoot(tab, f"{name}-{width}")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
        assert tab.evaluate(OVERLAPS) == [], (name, width)


@pytest.mark.parametrize(
    ("visit", "sensors"),
    [
        (LIGHT, 0),
        (DARK, 13),
        (LIGHT, 1000),
        pytest.param(DARK, 0, marks=pytest.mark.long),
        pytest.param(LIGHT, 13, marks=pytest.mark.long),
        pytest.param(DARK, 1000, marks=pytest.mark.long),
    ],
    indirect=["visit"],
)
def test_nothing_overlaps_at_any_width_however_many_sensors(visit, service, sensors, request):
    published(service, fleet(sensors))
    scheme = request.node.callspec.params["visit"]["color_scheme"]
    for path in ("/", "/picture", "/alerts"):
        assert_tidy(visit.open(path), f"fleet-{sensors}{path}-{scheme}")


@pytest.mark.parametrize("visit", [LIGHT, *further(DARK)], indirect=True)
def test_nothing_overlaps_on_the_pages_of_a_series_and_of_the_ranking(visit, service, request):
    race = Yard(service, carts=(), match_on=frozenset({"key"}))
    race.race({f"platform-{at:02}": 2.0 + 0.5 * at for at in range(13)}, 60)
    race.run(0.0)
    scheme = request.node.callspec.params["visit"]["color_scheme"]
    series, others = "/series/platform-12/mass", ("/ranking", "/picture", "/budget", "/due")
    for path in (series, *others, "/compare", "/events/tag%207"):
        assert_tidy(visit.open(path), f"race{path}-{scheme}")
    race.stop()


CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const bright = (rgb) => {
    const linear = (c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
    const [r, g, b] = rgb.map((c) => linear(c / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = (at) => {
    for (; at; at = at.parentElement) {
      const rgb = parse(getComputedStyle(at).backgroundColor);
      if (rgb.length === 3) return rgb;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const at of document.querySelectorAll('body *')) {
    const words = [...at.childNodes].filter((each) => each.nodeType === 3);
    if (!words.some((each) => each.textContent.trim())) continue;
    const style = getComputedStyle(at);
    if (style.visibility === 'hidden' || !at.getClientRects().length) continue;
    const ink = parse(at instanceof SVGElement ? style.fill : style.color).slice(0, 3);
    const [a, b] = [bright(ink), bright(ground(at))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push(`${at.tagName}.${at.getAttribute('class')} ${ratio.toFixed(2)}`);
  }
  return [...new Set(low)];
}"""


@pytest.mark.parametrize("visit", [LIGHT, DARK], indirect=True)
def test_words_stand_out_from_their_ground(visit, yard):
    yard.run(0.1)

    low = {path: tab.evaluate(CONTRAST) for path, tab in visit.each(PATHS)}
    assert low == {path: [] for path in PATHS}


def test_pages_can_be_read_by_a_machine(visit, yard):
    """One heading of the first order, a language, labelled fields and drawings, named tables."""
    yard.run(0.1)
    for _, tab in visit.each(PATHS):
        assert_readable(tab)


def assert_readable(tab) -> None:
    assert tab.locator("h1").count() == 1
    assert tab.locator("html").get_attribute("lang") == "en"
    assert tab.title()
    for field in tab.locator("input:not([type=hidden]), select").all():
        assert field.evaluate("each => each.labels.length") == 1
    for drawing in tab.locator("svg").all():
        assert drawing.get_attribute("aria-label") or drawing.get_attribute("aria-hidden") == "true"
    for cell in tab.locator("th").all():
        assert cell.get_attribute("scope") in ("col", "row")
    levels = tab.locator("h1, h2, h3").evaluate_all("all => all.map((each) => +each.tagName[1])")
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_it_prints_without_what_is_only_for_screens(visit, yard):
    yard.run(0.1)
    tab = visit.open("/series/cart-03/mass")
    tab.emulate_media(media="print", color_scheme="dark")

    assert not tab.locator("nav").is_visible()
    assert tab.locator(".verdict").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shoot(tab, "print")


def test_a_service_that_is_gone_is_said_and_what_is_shown_stays(visit, yard):
    tab = visit.open()
    yard.service.stop()
    expect(tab.locator("#asof")).to_contain_text("not live", timeout=20_000)

    assert len(names(tab)) == len(CARTS)
    tab.close()
    visit.wrong[:] = [each for each in visit.wrong if "ERR_" not in each]


def test_a_page_whose_stream_is_refused_says_so_and_is_asked_for_until_it_is_not(visit, yard):
    tab = visit.open("/about")
    tab.route("**/live/**", lambda route: route.fulfill(status=503))
    tab.goto(yard.service.url)
    expect(tab.locator("#asof")).to_contain_text("not live", timeout=20_000)
    yard.offsets["cart-01"] = 25.0
    yard.run()

    chip = tab.locator("tr[data-key='cart-01/mass'] .chip")
    expect(chip).to_have_text("needs work", timeout=20_000)
    expect(tab.locator("#asof")).to_contain_text("not live")
    tab.unroute("**/live/**")
    expect(tab.locator("#asof")).not_to_contain_text("not live", timeout=20_000)


def test_before_the_first_reading_it_says_what_to_do_and_then_shows_it(visit, service):
    empty = fleet(0)
    published(service, empty)
    tab = visit.open()
    expect(tab.locator(".empty")).to_contain_text("No readings yet")
    shoot(tab, "empty")
    published(service, fleet(3))

    expect(tab.locator("#rows tr")).to_have_count(3, timeout=20_000)


@pytest.mark.parametrize("sensors", [13, 300])
def test_the_picture_is_above_the_list_of_many_and_the_first_view_has_no_jargon(
    visit, service, sensors
):
    published(service, fleet(sensors))
    tab = visit.open()
    picture = tab.locator(".overview svg.plot")
    expect(picture).to_have_count(int(sensors > 50))
    if sensors > 50:
        first = tab.locator("#rows tr").first.bounding_box()
        assert picture.bounding_box()["y"] < first["y"]
        target = picture.locator("a:has(.firing)").last
        wanted = target.get_attribute("href")
        target.click()
        tab.wait_for_url(f"**{wanted}")
        tab.go_back()
    words = tab.locator("body").inner_text().casefold()
    assert re.findall(r"firing|stale|evidence|undecided|zms|\bok\b", words) == []


@pytest.mark.parametrize("visit", [{**PHONE, "timezone_id": "Pacific/Auckland"}], indirect=True)
def test_a_series_says_its_remedy_first_with_local_times_and_folds_its_figures(visit, yard):
    yard.run(0.1)
    tab = visit.open("/series/cart-03/mass")
    verdict = tab.locator(".verdict")
    expect(verdict.locator(".advice")).to_contain_text("subtract", use_inner_text=True)
    expect(verdict).not_to_contain_text("CRPS", use_inner_text=True)
    at = datetime.fromisoformat(verdict.locator("time").get_attribute("datetime"))
    local = at.astimezone(ZoneInfo("Pacific/Auckland")).strftime("%Y-%m-%d %H:%M:00 local")
    expect(verdict.locator("time .local")).to_contain_text(local.split(" ", 1)[1])
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    figures = tab.locator("#figures dl")
    expect(figures).not_to_be_visible()
    tab.locator("#figures summary").click()
    expect(figures).to_contain_text("ZMS")
    yard.stop()
    shoot(tab, "series-phone")
