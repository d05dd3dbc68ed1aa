"""Records of a payload: which exist, which count, and the names split from them."""

from __future__ import annotations

import json

from monitor.decode.mapping import Mapped
from monitor.decode.records import Arrival
from monitor.decode.spec import MapSpec, SeriesSpec
from tests.decode.test_mapping import RECEIVED, T, observe


def test_each_entry_of_an_array_is_a_record_and_a_bad_one_costs_itself_alone():
    found = observe(
        {"t": T, "n": "x", "list": [{"v": 1, "u": 1}, {"v": "a", "u": 1}, {"v": 3, "u": 0}]},
        each="list", time="$.t", sequence="$.n",
    )  # fmt: skip

    assert [getattr(each, "reason", None) for each in found] == [
        None, "bad_field", "bad_uncertainty",
    ]  # fmt: skip
    assert found[0].sequence == "x"
    assert "$.v" in found[1].detail


def test_columns_become_rows():
    found = observe({"t": [T, T + 1], "v": [1, 2], "u": 0.5}, columnar="$")

    assert [(each.time, each.value, each.u) for each in found] == [(T, 1, 0.5), (T + 1, 2, 0.5)]


def test_quality_filters_refuse_and_selections_pass_over():
    payload = {"t": T, "v": 1, "u": 1, "f": "BAD", "ok": 1}

    (refused,) = observe(payload, where={"f": ("GOOD",)})
    (missing,) = observe(payload, where={"g": ("GOOD",)})
    (truth,) = observe(payload, where={"ok": (True,)})

    assert {each.reason for each in (refused, missing, truth)} == {"quality"}
    assert "$.f" in refused.detail
    assert len(observe(payload, where={"g": ("GOOD",)}, defaults={"g": "GOOD"})) == 1
    assert observe(payload, select={"f": ("GOOD",)}) == []


def test_a_record_without_the_optional_value_is_skipped_whatever_its_quality():
    """It is about something else: neither its quality nor a missing one is that of the value."""
    states = {"g": ("GOOD",)}

    assert observe({"t": T, "temp": 21}, where=states, optional=True) == []
    assert observe({"t": T, "temp": 21, "g": "BAD"}, where=states, optional=True) == []
    for stated in ({"v": 1, "u": 1}, {"v": 1, "u": 1, "g": "BAD"}, {"v": None, "g": "BAD"}):
        (refused,) = observe({"t": T, **stated}, where=states, optional=True)
        assert refused.reason == "quality"
    (null,) = observe({"t": T, "v": None, "g": "GOOD"}, where=states, optional=True)
    assert null.reason == "no_reading"
    (mistaken,) = observe({"t": T, "temp": 21}, where=states)
    assert mistaken.reason == "quality"


def test_a_void_without_the_optional_value_still_withdraws():
    spec = MapSpec(
        series=(SeriesSpec(quantity="m", value="v"),),
        time="t",
        sensor="s",
        identity="id",
        status="st",
        where={"g": ("GOOD",)},
        optional=True,
    )

    def found(**record):
        (seen,) = Mapped(spec, "reference").observe(
            {"t": T, "id": "7", **record}, Arrival({"subject": "s"}, T)
        )
        return seen.found

    (void,) = found(st="void", g="GOOD")
    (refused,) = found(st="void")
    assert void.void
    assert refused.reason == "quality"
    assert found(st="final") == []


def test_a_text_is_split_into_names():
    spec = MapSpec(
        series=(SeriesSpec(quantity="{what}", value="v", u="u"),),
        time="t",
        names={"tag": "{device}.{what}"},
        sensor="plant-{device}",
    )
    tags = ("AT-4012.x.density", "AT-4012", "a+b.density")

    found, plain, spaced = (
        found
        for tag in tags
        for seen in Mapped(spec, "reading").observe(
            {"t": T, "v": 1, "u": 1, "tag": tag}, Arrival({}, RECEIVED)
        )
        for found in seen.found
    )

    assert (found.sensor, found.quantity) == ("plant-AT-4012.x", "density")
    assert (plain.reason, spaced.reason) == ("bad_name", "bad_name")


def test_records_may_be_a_text_that_is_json_itself():
    for how in ({"each": "rows"}, {"columnar": "rows"}):
        rows = [{"v": 1}, {"v": 2}] if "each" in how else {"v": [1, 2]}
        found = observe(
            {"t": T, "rows": json.dumps(rows)}, time="$.t", series=[{"value": "v", "u": 1.0}], **how
        )
        assert [each.value for each in found] == [1, 2]
