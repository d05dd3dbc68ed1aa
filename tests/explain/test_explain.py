"""``monitor explain``: what it shows of each format and refusal, and that the page is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import cbor2
import msgspec
import pytest
from harness.explained import (
    AIR,
    ANALYSER,
    CONFIGS,
    FORMATS,
    NOW_SECONDS,
    PROCESS,
    PROJECT,
    T,
    data,
    hour,
    sparkplug,
)
from harness.programs import need
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.config import load, parse
from monitor.decode import DECODERS, REASONS
from monitor.explain import Message, explain
from monitor.explain.text import explanation_lines

PAGE = PROJECT / "docs" / "formats.md"


# -- the three trades -----------------------------------------------------------------------------


def test_a_station_s_hour_has_identity_revision_and_can_be_taken_back(document):
    (made,) = document(AIR, hour())["observed"]
    taken, _no2 = document(AIR, hour(flag="I", rev=2), hour())["observed"]

    assert (made["identity"], made["revision"], made["status"]) == ("2026-03-01T05:00Z", 1, "")
    assert [read["kept"] for read in made["reads"] if read["what"] in ("start", "end")] == [
        "2026-03-01T05:00:00Z",
        "2026-03-01T06:00:00Z",
    ]
    assert (taken["revision"], taken["status"]) == (2, "void")


def test_an_alias_needs_its_birth(tell):
    told = tell(PROCESS, data())

    assert (told.code, told.said("verdict")) == (1, ["rejected: unknown_alias"])
    assert "--with TOPIC PAYLOAD" in told.said("hint")[0]


def test_what_says_nothing_is_not_rejected(tell):
    told = tell(PROCESS, (ANALYSER.format("DDEATH"), "hex:00"))

    assert (told.code, told.said("verdict")[0][:14]) == (0, "nothing to use")


# -- refusals -------------------------------------------------------------------------------------

HINTED = b"""
sources:
  - topic: "a/{sensor}"
    kind: reading
    decoder: json
    map: {time: ts, where: {ok: [true]}, defaults: {ok: true, unit: degC},
          series: [{quantity: t, value: v, u: u, unit_path: unit, to_unit: degC}]}
  - {topic: "r/{subject}/{quantity}", kind: reference}
"""


@pytest.mark.parametrize(
    ("payload", "hint"),
    [
        ('{"ts": 1772366400, "v": 20}', "write assumed in its place"),
        ('{"ts": 1772366400, "v": 20, "u": 0}', "write assumed in place of it"),
        ('{"v": 20, "u": 1}', "time: arrival"),
        ('{"ts": 1772366400, "u": 1}', "optional: true"),
        ('{"ts": 1772366400, "V": 20, "u": 1}', "did you mean `$.V`?"),
        ('{"ts": 1772366400, "v": 20, "u": 1, "ok": false}', "`where` in the map"),
        ('{"ts": 1772466400, "v": 20, "u": 1}', "time_zone in the map"),
        ('{"ts": 1772366400, "v": 20, "u": 1, "unit": "kg"}', "unit_path of the series"),
        ("ST,NT,+  1.234kg", "decoder display reads it"),
        ("weather,host=n1 t=20.5", "decoder lineprotocol reads it"),
        ("{", ""),
    ],
)
def test_a_refusal_names_the_setting_that_would_read_the_message(payload, hint):
    settings = parse(HINTED, "settings.yaml")
    (refused,) = explain(settings, Message("a/s", payload.encode()), NOW_SECONDS).refused

    assert hint in refused.hint
    assert bool(hint) == bool(refused.hint)


@pytest.mark.parametrize("payload", ["", "null", '{"ts": 1772366400, "v": null, "u": 1}'])
def test_no_reading_is_told_as_such_and_as_no_fault(payload):
    settings = parse(HINTED, "settings.yaml")
    explanation = explain(settings, Message("a/s", payload.encode()), NOW_SECONDS)

    wanted = "no reading, which is no fault of the sensor" if payload != "null" else "missing_field"
    assert [*explanation_lines(explanation)][-1].endswith(f"rejected: {wanted}")


def test_good_records_are_used_and_bad_ones_shown(formats, tell):
    body = f'{{{T},"list":[{{"v":1,"u":1}},{{"v":2,"u":0}},{{"v":3,"u":1}}]}}'
    told = tell(formats, ("many/s", body))

    assert (told.code, told.said("verdict")) == (0, ["would be used: 2 readings"])
    assert told.said("reading") == ["s, value (record 0)", "s, value (record 2)"]
    assert told.said("rejected")[0].startswith("bad_uncertainty (record 1)")


# -- hostile payloads -----------------------------------------------------------------------------


GOOD = {
    "native/s/q": b'{"time":"2026-03-01T10:00:00Z","value":1,"u":1,"unit":"kg"}',
    "natref/s/q": b'{"time":"2026-03-01T10:00:00Z","value":1,"id":"a","rev":3,"status":"final"}',
    "one/s": f'{{{T},"v":1,"e":{{"u":1}},"unit":"kg","k":"a"}}'.encode(),
    "many/s": f'{{{T},"list":[{{"v":1,"u":1}},{{"v":2,"u":0}}]}}'.encode(),
    "senml/s/q": cbor2.dumps([{-2: "a", -3: 1772298600, 0: "kg", 2: 1}, {0: "kg_u", 2: 1}]),
    "lp/s": b"wow,a=b kg=1,u=2 1772298600000000000",
    "csv/s": b"2026-03-01T10:00Z,1,2\n",
    "msgpack/s": msgspec.msgpack.encode({"t": [1772298600], "v": [1.0], "u": [1], 5: {b"a": 1}}),
    "spBv1.0/g/DDATA/e/s": bytes.fromhex(
        sparkplug([{"name": "x", "datatype": 10, "double_value": 1}])[4:]
    ),
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_no_bytes_break_the_explanation(topic, chance):
    payload = bytearray(GOOD[topic])
    for _ in range(chance.draw(st.integers(0, 4))):
        at = chance.draw(st.integers(0, len(payload)))
        payload[at : at + chance.draw(st.integers(0, 3))] = chance.draw(st.binary(max_size=4))
    text = FORMATS.replace(
        "maintenance:", '- {topic: "r/{subject}/{quantity}", kind: reference}\nmaintenance:'
    )

    said = explain(parse(text.encode(), "f"), Message(topic, bytes(payload)),
                   NOW_SECONDS)  # fmt: skip

    assert said.outcome in ("used", "rejected", "nothing")
    assert (said.outcome == "rejected") == (said.refused_count > 0 and not said.observed_count)
    assert all(each.reason in REASONS and each.detail for each in said.refused)
    assert all(line.isprintable() for line in explanation_lines(said))
    msgspec.json.encode(said)


# -- the document and the page --------------------------------------------------------------------


def commands():
    """Return (commands, output) of each block of the page that explains a message."""
    text = PAGE.read_text()
    return re.findall(r"```sh\n(monitor explain.*?)```\n\n```\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="session")
def folder_of_the_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        found = re.search(r"```yaml\n(.*?)```", part, re.DOTALL)
        if found:
            (folder / f"{part.splitlines()[0].lower()}.yaml").write_text(found[1])
    return folder


@pytest.mark.parametrize("at", range(len(commands())))
def test_the_commands_of_the_page_print_what_the_page_shows(at, folder_of_the_page):
    command, output = commands()[at]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

    done = subprocess.run(
        [need("bash"), "-c", command], cwd=folder_of_the_page, env={**os.environ, "PATH": path},
        check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert (done.stderr, done.stdout) == ("", output)


def test_the_page_explains_every_decoder_and_every_block_of_it_is_run():
    text = PAGE.read_text()
    blocks = re.findall(r"```sh\n(monitor explain.*?)```", text, re.DOTALL)
    shown = "".join(command for command, _ in commands())

    assert len(blocks) == len(commands())
    assert [name for name in DECODERS if f"--config {name}.yaml" not in shown] == []
    assert load(CONFIGS / "default.yaml").sources
