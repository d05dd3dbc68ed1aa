"""Records read as columns are what the mapping makes of them, and nothing else is read so."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.core.model import Reading
from monitor.decode import Rejected, Route, Router
from monitor.decode.accelerators.batch_records import arrays
from monitor.decode.mapping import Mapped
from monitor.decode.spec import Kind, MapSpec, SeriesSpec

NOW = 1_772_330_500.0
TOPIC = "plant/a/mass"
PLAIN = SeriesSpec(value="v", u="s")
WHOLE = MapSpec(series=(PLAIN,), time="t")
GOOD = {"t": 1_772_330_400, "v": 5.0, "s": 0.5}

times = st.sampled_from(
    [
        1_772_330_400,
        1_772_330_400.25,
        1_772_330_400_123,
        1_772_330_400_123_456,
        1_772_330_400_123_456_789,
        0,
        -5.5,
        NOW + 301,
        "2026-03-01T02:00:00Z",
        "2026-03-01T02:00:00.125+13:00",
        "2026-03-01 02:00:00",
        "1772330400",
        None,
        True,
    ]
)
numbers = st.sampled_from(
    [5, 5.25, -1e15, 2e15, 1e-13, 0, -1, "5", None, True, 10**40]
) | st.floats(-1e6, 1e6)
records = st.fixed_dictionaries(
    {}, optional={"t": times, "v": numbers, "s": numbers, "more": st.just([1, {"t": 2}])}
) | st.just(GOOD)


def route(spec: MapSpec, unit: str = "", kind: Kind = "reading") -> Route:
    mapped = Mapped(spec, kind, ("sensor", "quantity"), unit)
    return Route(kind, "json", unit, "plant/{sensor}/{quantity}", mapped)


def said(router: Router, payload: bytes) -> tuple[str, str]:
    """Return what a router that knows the topic makes of a payload, and what the mapping does."""
    router.decode_all([TOPIC], [json.dumps(GOOD).encode()], NOW)
    decoded = router.decode_all([TOPIC], [payload], NOW)
    found = [*decoded.observations, *(str(refused) for _, refused in decoded.refused)]
    seen, error = router.trace(TOPIC, payload, NOW)
    one_by_one = [str(e) if isinstance(e, Rejected) else e for one in seen for e in one.found]
    if error is not None:
        one_by_one = [str(error)]
    return repr(sorted(map(repr, found))), repr(sorted(map(repr, one_by_one)))


@pytest.mark.parametrize("each", ["", "$", "data"])
@pytest.mark.parametrize("unit", ["auto", "s", "ms"])
@settings(deadline=None, max_examples=150)
@given(made=st.lists(records, max_size=4))
@example(made=[GOOD, GOOD])
@example(made=[])
def test_columns_say_what_the_mapping_says(each, unit, made):
    router = Router([route(WHOLE._replace(each=each, time_unit=unit))], 10_000)
    payload = {"": (made or [3])[0], "$": made, "data": {"data": made}}[each]

    mine, theirs = said(router, json.dumps(payload).encode())

    assert mine == theirs


@pytest.mark.parametrize("unit", ["auto", "s", "ms"])
@settings(deadline=None, max_examples=300)
@given(record=records)
@example(record=GOOD)
def test_a_plain_reference_says_what_the_mapping_says(unit, record):
    router = Router([route(WHOLE._replace(time_unit=unit), kind="reference")], 10_000)

    mine, theirs = said(router, json.dumps(record).encode())

    assert mine == theirs


@pytest.mark.parametrize(
    "payload", [b"", b"[", b"\xff", b"[1]", b'{"data":[]}', b"[" * 9000, b"null"]
)
def test_what_is_no_record_is_refused_as_the_mapping_refuses_it(payload):
    mine, theirs = said(Router([route(WHOLE._replace(each="$"))], 10_000), payload)

    assert mine == theirs


@pytest.mark.parametrize("count", [1, 15, 16, 3000, 70_000])
@pytest.mark.parametrize("letters", [1, 31, 32, 300])
def test_every_number_is_read_however_many_there_are_and_however_they_are_called(count, letters):
    value, u = "v" * letters, "s" * letters
    spec = WHOLE._replace(each="$", series=(SeriesSpec(value=value, u=u),), time_unit="s")
    made = [{"t": 1e9 + at, value: at / 3.0, u: 1.0 + at / 7.0} for at in range(count)]
    router = Router([route(spec)], 100_000_000)

    plain = router.decode_all([TOPIC], [json.dumps(made).encode()], NOW).observations.plain

    assert plain.times.tolist() == [each["t"] for each in made]
    assert plain.values.tolist() == [each[value] for each in made]
    assert plain.us.tolist() == [each[u] for each in made]


def test_a_message_with_a_time_that_is_not_usable_is_left_to_the_mapping_and_no_other():
    router = Router([route(WHOLE._replace(each="$"))], 10_000)
    late = {**GOOD, "t": NOW + 1000.0}
    messages = [[GOOD], [GOOD, late, GOOD], [GOOD, GOOD], [late]]

    decoded = router.decode_all([TOPIC] * 4, [json.dumps(m).encode() for m in messages], NOW)

    assert decoded.sources == [0, 1, 1, 2, 2]
    assert [each.time for each in decoded.observations] == [GOOD["t"]] * 5
    assert [(at, refused.reason) for at, refused in decoded.refused] == [
        (1, "future"),
        (3, "future"),
    ]


def test_good_records_are_columns_from_the_first_message_on():
    router = Router([route(WHOLE._replace(each="$"))], 10_000)

    decoded = router.decode_all([TOPIC] * 2, [json.dumps([GOOD] * 3).encode()] * 2, NOW)

    assert (len(decoded.observations.plain), decoded.observations.others) == (6, [])
    assert decoded.sources == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    "spec",
    [
        WHOLE._replace(key="k"),
        WHOLE._replace(time="arrival.time"),
        WHOLE._replace(time=("day", "hour")),
        WHOLE._replace(time_zone="Pacific/Auckland"),
        WHOLE._replace(where={"quality": ("good",)}),
        WHOLE._replace(each="a.b"),
        WHOLE._replace(columnar="$"),
        WHOLE._replace(series=(PLAIN, PLAIN)),
        WHOLE._replace(series=(PLAIN._replace(u=0.5),)),
        WHOLE._replace(series=(PLAIN._replace(u="", U="s", k=2.0),)),
        WHOLE._replace(series=(PLAIN._replace(unit="g", to_unit="kg"),)),
        WHOLE._replace(series=(PLAIN._replace(u="v"),)),
        WHOLE._replace(series=(PLAIN._replace(quantity="mass"),)),
        WHOLE._replace(number_texts=True),
        WHOLE._replace(defaults={"v": 5.0}),
    ],
    ids=str,
)
def test_a_mapping_that_says_more_is_not_read_so(spec):
    assert arrays(spec, "") is None


def test_a_unit_that_is_the_sources_is_no_conversion():
    kilograms = WHOLE._replace(series=(PLAIN._replace(unit="kg"),))

    assert arrays(kilograms, "kg") is not None
    assert arrays(kilograms, "g") is None
    assert arrays(WHOLE, "kg") is not None


def test_plain_readings_that_were_decoded_with_care_are_columns_too():
    router = Router([route(WHOLE._replace(each="$", sequence="n"))], 10_000)
    messages = [
        [{**GOOD, "n": ""}, {**GOOD, "n": "7"}, {**GOOD, "v": None, "n": ""}],
        [{**GOOD, "v": 6.0, "n": ""}],
    ]

    decoded = router.decode_all([TOPIC] * 2, [json.dumps(m).encode() for m in messages], NOW)

    plain, others = decoded.observations.plain, decoded.observations.others
    made = Reading("a", "mass", GOOD["t"], 5.0, GOOD["s"])
    assert [plain.reading(at) for at in range(len(plain))] == [made, replace(made, value=6.0)]
    assert others == [replace(made, sequence="7")]
    assert decoded.sources == [0, 1, 0]
    assert [at for at, _ in decoded.refused] == [0]
