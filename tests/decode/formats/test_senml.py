"""SenML in JSON and CBOR."""

from __future__ import annotations

import json

import cbor2
import pytest

from tests.decode.formats.test_formats import RECEIVED, T, decode


def reasons(found):
    return [getattr(each, "reason", None) for each in found]


PACK = [
    {"bn": "urn:dev:1:", "bt": T, "bu": "kg", "bver": 10, "n": "kg", "v": 512},
    {"n": "kg_u", "v": 11},
    {"n": "kg", "v": 513, "t": 60},
    {"n": "kg_u", "v": 12, "t": 60},
]

LABELS = {"bver": -1, "bn": -2, "bt": -3, "bu": -4, "bv": -5, "n": 0, "u": 1, "v": 2, "t": 6}


@pytest.mark.parametrize(
    "payload",
    [
        json.dumps(PACK).encode(),
        cbor2.dumps([{LABELS[name]: each for name, each in record.items()} for record in PACK]),
    ],
    ids=["json", "cbor"],
)
def test_senml_base_fields_are_resolved(payload):
    first, second = decode("senml", payload)

    assert (first.time, first.value, first.u) == (T, 512, 11)
    assert (second.time, second.value, second.u) == (T + 60, 513, 12)


def test_senml_base_values_add_and_small_times_are_relative_to_arrival():
    pack = [{"bv": 500, "n": "kg", "v": 12, "t": -5}, {"n": "kg_u", "v": -499, "t": -5}]

    (found,) = decode("senml", json.dumps(pack).encode())

    assert (found.value, found.u, found.time) == (512, 1, RECEIVED - 5)


def test_senml_fields_that_must_be_understood_are_refused():
    pack = [{"n": "kg", "v": 1, "danger_": 1}, {"n": "kg", "v": 1, "bver": 11}]

    assert reasons(decode("senml", json.dumps(pack).encode())) == ["bad_payload", "bad_payload"]
