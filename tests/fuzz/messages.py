"""The messages that are fuzzed: at least one entry a format, which all fuzzing takes from here.

``settings`` names settings of targets.py: those of a file in configs/, or of seeds.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from . import fields, seeds, values
from .mutations import Mutation


class Messages(NamedTuple):
    """Good payloads of a topic, and what they are mutated with."""

    settings: str
    topic: str
    seeds: Sequence[bytes]
    decoder: str = "json"
    tokens: Sequence[bytes] = seeds.JSON_TOKENS
    codec: Mutation | None = values.JSON


_SPARKPLUG: Final[tuple[Any, ...]] = ("sparkplug", seeds.PROTOBUF_TOKENS, fields.sparkplug)
_MSGPACK: Final[tuple[Any, ...]] = ("msgpack", seeds.MSGPACK_TOKENS, values.MSGPACK)
_CELLS: Final[tuple[Any, ...]] = ("csv", seeds.CELL_TOKENS, None)

MESSAGES: Final[Mapping[str, Messages]] = {
    "native-reading": Messages("default", "monitor/s-1/mass/reading", seeds.READING, "native"),
    "native-reference": Messages(
        "default", "monitor/s-1/mass/reference", seeds.REFERENCE, "native"
    ),
    "native-event": Messages("default", "monitor/s-1/event", seeds.EVENT, "native"),
    "native-collocation": Messages("native", "beside/s-1", seeds.COLLOCATION, "native"),
    "json-vendor": Messages("weighing", "wow/otago/r1/p1/reading", seeds.VENDOR),
    "json-kalman": Messages("weighing", "wow/otago/r1/p1/kalman", seeds.KALMAN),
    "json-static": Messages("weighing", "wow/otago/r1/static", seeds.STATIC),
    "json-air": Messages("air", "aq/v2/dn/n01/obs", seeds.AIR),
    "json-hour": Messages("air", "ref/S3/hourly", seeds.HOUR),
    "json-lims": Messages("process", "lims/p1/result", seeds.LIMS),
    "json-forms": Messages("own", "forms/s/q", seeds.FORMS),
    "json-event": Messages("own", "done/s", seeds.DONE),
    "json-collocation": Messages("own", "beside/s", seeds.BESIDE),
    "json-lab": Messages("own", "lab/s", seeds.LAB),
    "senml-json": Messages("own", "senml/s/q", seeds.SENML_JSON, "senml"),
    "senml-cbor": Messages(
        "own", "senml/s/q", seeds.SENML_CBOR, "senml", seeds.CBOR_TOKENS, values.CBOR
    ),
    "lineprotocol": Messages("own", "lp/s", seeds.LINES, "lineprotocol", seeds.LINE_TOKENS, None),
    "csv-cells": Messages("own", "csv/s", seeds.CELLS, *_CELLS),
    "csv-head": Messages("weighing", "wow/otago/r1/p1/line", seeds.HEAD, *_CELLS),
    "display": Messages("own", "display/s", seeds.DISPLAY, "display", seeds.DISPLAY_TOKENS, None),
    "msgpack-columns": Messages("own", "msgpack/s", seeds.COLUMNS, *_MSGPACK),
    "msgpack-rows": Messages("own", "rows/s", seeds.ROWS, *_MSGPACK),
    "sparkplug-data": Messages("own", "spBv1.0/g/DDATA/e/s", seeds.DATA, *_SPARKPLUG),
    "sparkplug-birth": Messages("own", "spBv1.0/g/NBIRTH/e", (seeds.BIRTH,), *_SPARKPLUG),
    "sparkplug-plant": Messages(
        "process", "spBv1.0/PlantA/DDATA/edge7/AT-4012", seeds.DATA, *_SPARKPLUG
    ),
}
