"""Pages are rendered from templates: hostile text stays text, and links lead on."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from harness.http_service import HOSTILE, SPREADS, document, get, page, published, stream
from harness.transitions import transition
from harness.yard import DOCTOR, START, fleet
from markupsafe import escape

import monitor
from monitor.http.rendering import with_saving
from monitor.journal import DeadLetter


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


def test_forms_and_links_keep_what_they_do_not_ask_for(service):
    snapshot = fleet(30)
    published(service, snapshot)
    firing, here = snapshot.states[::7].count("firing"), len(snapshot.states[::7])
    body = get(service, "/?rows=7&group=model-0&state=right")[1].decode()
    first = next(stream(service, "/live/fleet?rows=7&group=model-0&state=right"))
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
        "Last 24 h: 5 alerts began (S3 reference suspect, node-00001 offset, "
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


def test_a_fleet_of_ten_thousand_costs_a_page_of_one_hundred(service):
    published(service, fleet(10_000))
    body = get(service, "/")[1]
    packed = get(service, "/", **{"Accept-Encoding": "gzip"})[1]

    assert body.count(b"data-key=") == 100
    assert len(packed) < 35_000


def test_faults_are_counted_by_group_and_each_count_leads_to_its_sensors(service):
    now = fleet(300)
    firing = now.alerts["offset"]
    odd = firing & (np.arange(300) % 2 == 1)
    now = replace(now, alerts={"offset": firing & ~odd, "drift": odd}, gone=frozenset({0, 1, 2}))
    published(service, now)
    body = get(service, "/")[1].decode()
    table = body.partition('<table class="tally">')[2].partition("</table>")[0]
    counts = {
        (fault, now.names[row].group): count
        for fault, on in now.alerts.items()
        for row, count in Counter(
            next(at for at, each in enumerate(now.names) if each.group == now.names[row].group)
            for row in np.flatnonzero(on).tolist()
            if row > 2
        ).items()
    }

    cells = re.findall(r'href="(/\?[^"]*)"[^>]*>(\d+)</a>', table)
    assert len(cells) == len(counts)
    for link, count in ((html.unescape(link), count) for link, count in cells):
        fault, group = (re.search(rf"{key}=([^&]*)", link)[1] for key in ("fault", "group"))
        assert counts[fault, group] == int(count)
        shown = get(service, link)[1].decode()
        assert shown.count("data-key=") == int(count)
        assert shown.count('aria-current="true"') == 2  # the fault in the group, and its state


def test_the_table_of_what_needs_work_counts_what_its_links_say_needs_work(service):
    """A silent sensor keeps its alert and is silent: no group is there for it alone."""
    now = fleet(100)
    firing = np.flatnonzero(now.alerts["offset"]).tolist()
    quiet = firing[:2]
    names = (
        replace(each, group="quiet") if row in quiet else each for row, each in enumerate(now.names)
    )
    states = ("stale" if row in quiet else state for row, state in enumerate(now.states))
    published(service, replace(now, names=tuple(names), states=tuple(states)))
    body = get(service, "/")[1].decode()
    table = body.partition('<table class="tally">')[2].partition("</table>")[0]

    assert "quiet" not in table
    assert sum(map(int, re.findall(r">(\d+)</a>", table))) == len(firing) - 2
    shown = get(service, "/?fault=offset&state=firing")[1].decode()
    assert shown.count("data-key=") == len(firing) - 2
    assert f">{len(firing) - 2} need work<" in shown


@pytest.mark.parametrize("query", ["", "?state=firing", "?state=stale", "?page=2"])
def test_counts_of_states_do_not_depend_on_the_state_that_is_shown(service, query):
    letter = DeadLetter(START, "a/new/b", "missing_field", "has no u", "u", b"{}")
    published(service, fleet(200), refused={"new": letter})
    body, every = (get(service, f"/{each}")[1].decode() for each in (query, ""))

    def told(text: str) -> tuple[str, dict[str, str]]:
        chips = re.findall(r'<a class="chip (\w+)"[^>]*>(\d+) ', text)
        return text.partition("<title>")[2].partition("<")[0], dict(chips)

    assert told(body) == told(every)
    assert " of 201 need" in told(body)[0]


def test_fine_is_only_what_is_shown_to_be_right(service):
    now = fleet(40)
    right = np.arange(40) % 2 == 0
    pairs = np.where(np.array(now.states) == "unknown", 3, now.window_pairs)
    withdrawn = np.array(now.states) == "unknown"
    withdrawn[np.flatnonzero(withdrawn)[1:]] = False
    published(service, replace(now, right=right, window_pairs=pairs, withdrawn=withdrawn))
    body = get(service, "/")[1].decode()
    told = dict(re.findall(r'<a class="chip (\w+)"[^>]*>(\d+) ', body))
    fine = sum(state == "ok" and bool(on) for state, on in zip(now.states, right, strict=True))
    calm = sum(state in ("ok", "unknown") for state in now.states)

    assert int(told["right"]) == fine
    assert int(told["undecided"]) == calm - fine - withdrawn.sum()
    assert int(told["stale"]) == now.states.count("stale") + withdrawn.sum()
    assert body.count('class="chip right">fine<') == fine


def test_a_sensor_of_which_no_message_can_be_used_is_on_the_list_with_the_reason(service):
    letter = DeadLetter(
        START, f"a/{HOSTILE}/b", "missing_field", "has no u; see docs/formats.md", "u", b"{}"
    )
    published(service, fleet(3), refused={HOSTILE: letter, "node-00001": letter})
    body = get(service, "/")[1].decode()
    rows = re.findall(r'<tr data-key="([^"]*)"', body)

    assert [html.unescape(row) for row in rows if row.endswith("/")] == [f"{HOSTILE}/"]
    assert len(rows) == 4
    assert "a required field is missing" in body
    assert 'has no u; see <a href="/docs/formats">' in body
    assert HOSTILE not in body
    assert get(service, "/?state=right")[1].count(b"data-key=") == 0
    assert get(service, "/?state=stale")[1].count(b"no message could be used") == 1
    published(service, fleet(0), refused={"new": letter})
    assert b"no message could be used" in get(service, "/")[1]


def test_what_an_advice_saved_is_a_figure_for_every_kind_of_advice():
    random = np.random.default_rng(3)
    reference, error = random.normal(300.0, 60.0, 400), 2.0 * random.standard_normal(400)

    for u, form in ((6.0, "0.35 (on the safe side of 0.33; mean "), (0.8, "2.5 (mean ")):
        advice = monitor.score(reference + error, u, reference).series[0]["verdict"]["advice"]
        assert f"multiply its u by {form}" in advice
        shown = re.sub("<small>.*</small>", "", with_saving(advice))
        assert shown == advice.partition(" (")[0]
