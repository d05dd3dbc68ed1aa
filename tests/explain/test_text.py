"""Lines for a terminal, which obeys nothing in them."""

from __future__ import annotations

import json

import msgspec
import pytest
from harness.explained import FORMATS, NOW_SECONDS, VENDOR, WEIGHING
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.config import parse
from monitor.explain import Message, explain


def test_a_long_batch_is_cut_and_counted(formats, tell):
    batch = {"t": [1772298600 + at for at in range(130)], "v": list(range(130)), "u": 1}
    message = ("msgpack/s", "hex:" + msgspec.msgpack.encode(batch).hex())

    told = tell(formats, message)
    whole = tell(formats, message, options=["--all"])

    assert (len(told.said("reading")), len(whole.said("reading"))) == (5, 130)
    assert "... and 125 more observed; --all shows them" in told.out
    assert "more observed" not in whole.out


UNPRINTABLE = "\x1b]0;x\x07 \x9b31m \u202e \x7f \r\b \u2028"


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("wow/otago/north/p03/reading", UNPRINTABLE),
        ("wow/otago/north/p03/reading", json.dumps({"eid": UNPRINTABLE, "ts": UNPRINTABLE})),
        ("wow/otago/north/p03/reading", json.dumps({UNPRINTABLE: 1}, ensure_ascii=False)),
        ("wow/otago/north/p03/line", f"{UNPRINTABLE},1,LB,$,{UNPRINTABLE},03/09/04,08:58,j"),
        (f"wow/{UNPRINTABLE}/north/p03/reading", VENDOR[1]),
        (UNPRINTABLE, UNPRINTABLE),
        ("wow/otago/north/p03/kalman", f"hex:{UNPRINTABLE.encode('latin-1', 'replace').hex()}"),
    ],
)  # fmt: skip
def test_nothing_that_a_terminal_obeys_is_printed(topic, payload, options, tell):
    told = tell(WEIGHING, (topic, payload), (topic, payload), options=options)

    assert told.code in (0, 1)
    assert all(line.isprintable() for line in told.out.split("\n"))


@example(b'{"t":"2026-03-01T10:00:00Z","v":1,"q":"`$[`"}')
@given(st.binary(max_size=60))
@settings(max_examples=50, deadline=None)
def test_a_payload_that_looks_like_a_place_is_only_shown(payload):
    text = FORMATS.replace(
        "maintenance:", '- {topic: "r/{subject}/{quantity}", kind: reference}\nmaintenance:'
    )

    said = explain(parse(text.encode(), "f"), Message("one/s", payload), NOW_SECONDS)

    assert [each.reason for each in said.refused] != ["unexpected"]
