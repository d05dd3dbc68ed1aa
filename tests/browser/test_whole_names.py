"""Names as people have them are read whole on every page, at every width, light and dark.

The truth is the browser's own: where it drew each letter of a name, in what it was drawn, and what
else it drew there.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from browser.conftest import shoot
from harness.cases import further
from harness.transitions import transition
from harness.yard import RULES, START, Yard, fleet

from monitor.alerts.transition import Transition
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http.published import Page
from monitor.journal import DeadLetter

NAMES = (
    "otago-crush-north",
    "0004a30b001c0530",
    "eui-70b3d57ed0051234",
    "Wägestation-Südufer-3",
    "北门一号计量站地磅",
    "harbour_quay_7_pm25_west",
    "sensor.living_room_window_probe",
    "n1",
)
QUANTITIES = ("mass", "relative_humidity_percentage", "pm2_5_mass_concentration")
SIZES = ((390, 844), (1024, 768), (1440, 900), (2560, 1440))
LIGHT, DARK = {"color_scheme": "light"}, {"color_scheme": "dark"}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}

CUT = """names => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, holder = node.parentElement;
    if (!node.data.trim() || holder.closest('script, option, title, noscript')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 1.5);
    texts.push({node, holder, boxes, text: node.data.trim()});
  }
  const close = 1.5, cut = [];
  const inside = (box, frame) => box.left >= frame.left - close && box.right <= frame.right + close
    && box.top >= frame.top - close && box.bottom <= frame.bottom + close;
  const view = {left: 0, right: innerWidth, top: -Infinity, bottom: Infinity};
  let read = 0;
  for (const {node, holder, boxes, text} of texts) {
    if (!names.some((name) => text.includes(name))) continue;
    read += 1;
    if (!boxes.every((box) => inside(box, view))) cut.push(`out of sight: ${text}`);
    for (let at = holder; at !== document.body; at = at.parentElement) {
      const style = getComputedStyle(at);
      const frames = style.overflowX !== 'visible' || at.matches('td, th, dd, svg');
      const frame = at.getBoundingClientRect();
      if (frames && !boxes.every((box) => inside(box, frame)))
        cut.push(`beyond its ${at.localName}: ${text}`);
    }
    const near = holder.closest('tr, svg, main') || document.body;
    for (const other of texts) {
      if (other.node === node || !near.contains(other.node)) continue;
      const covered = boxes.some((a) => other.boxes.some((b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4));
      if (covered) cut.push(`covered: ${text} | ${other.text}`);
    }
  }
  for (const field of document.querySelectorAll('select, input'))
    if (!inside(field.getBoundingClientRect(), view)) cut.push(`out of sight: ${field.name}`);
  return [read, cut];
}"""


def named(sensors: int) -> Snapshot:
    """Return a fleet of these names, those after the first with a number, some of them long."""
    drawn = fleet(sensors)
    names = tuple(
        SeriesName(
            NAMES[row % len(NAMES)] + f"-{row}" * (row >= len(NAMES)),
            QUANTITIES[row % len(QUANTITIES)],
            "ug/m3",
            f"harbour-district-{row % 7}",
        )
        for row in range(sensors)
    )
    return replace(drawn, names=names)


def begun(shown: Snapshot) -> tuple[Transition, ...]:
    """Return the alerts of the first eight, begun within seconds."""
    return tuple(
        transition(at, sensor=name.sensor, quantity=name.quantity, notified=START - at)
        for at, name in enumerate(shown.names[:8])
    )


def assert_whole(tab, path: str, least: int) -> None:
    """At least so many names are on the page, and each is read whole at every width."""
    for width, height in SIZES:
        tab.set_viewport_size({"width": width, "height": height})
        shoot(tab, f"names-{path}-{width}", whole=False)
        read, cut = tab.evaluate(CUT, NAMES)
        assert cut == [], (path, width)
        assert read >= least, (path, width)


@pytest.mark.parametrize("visit", [LIGHT, DARK], indirect=True)
@pytest.mark.parametrize("sensors", [12, 200])
def test_no_name_is_cut_in_a_fleet_however_many_sensors(visit, service, sensors):
    shown = named(sensors)
    service.publish(Page(shown, history=begun(shown)))
    firing = shown.states.count("firing")
    for path, least in (
        ("/", min(sensors, 100)),
        ("/?figures=all", 12),
        ("/picture", 0),
        ("/alerts", 8 + firing),
    ):
        assert_whole(visit.open(path), path, least)


@pytest.mark.parametrize("visit", [LIGHT, *further(DARK)], indirect=True)
def test_no_name_is_cut_on_the_pages_of_a_series_and_of_those_that_compare(visit, service):
    due = RULES._replace(asks=(("due", True),), tolerance=20.0)
    race = Yard(service, (), match_on=frozenset({"key"}), rules=lambda _s, _q: due)
    race.race({name: 2.0 + 3.0 * at for at, name in enumerate(NAMES)}, 60)
    topic = f"farms/{'/'.join(NAMES[:3])}/mass"
    race.letters = (DeadLetter(1.0, topic, "bad_payload", "not JSON", "byte 0", b"?"),)
    race.run(0.0)
    every = len(NAMES)
    for path, least in (
        *((f"/series/{name}/mass", 2) for name in NAMES[:5]),
        ("/", every),
        ("/picture", every - 1),
        ("/ranking", every),
        ("/budget", every),
        ("/due", every),
        (f"/compare?quantity=mass&a={NAMES[0]}&b={NAMES[6]}", 4),
        ("/events/tag%207", 2 * every),
        ("/doctor", 1),
    ):
        tab = visit.open(path)
        assert_whole(tab, path, least)
        tab.close()
    race.stop()


@pytest.mark.parametrize("visit", [PHONE], indirect=True)
@pytest.mark.parametrize("sensors", [12, 200])
def test_on_a_phone_the_first_sensor_is_near_the_top(visit, service, sensors):
    shown = named(sensors)
    service.publish(Page(shown, history=begun(shown)))
    top = visit.open().locator("#rows tr").first.bounding_box()["y"]

    assert top <= 300
