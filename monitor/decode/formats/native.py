"""The native payload: JSON in the words of D-SI (value, u, U, k, lower, upper, p).

Rules of this file: it is a mapping like any other, except that what it states counts as stated,
that the payload is an object, and that its times are texts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.formats import mapped_json
from monitor.decode.mapping import Mapped
from monitor.decode.paths import type_of
from monitor.decode.route import Call, Decoder
from monitor.decode.spec import Kind, MapSpec, SeriesSpec
from monitor.mqtt.topic_templates import Template

_MEASURED: Final = SeriesSpec(
    value="value",
    unit_path="unit",
    u="u",
    U="U",
    k="k",
    lower="lower",
    upper="upper",
    p="p",
    stated=True,
)
_SPECS: Final[dict[Kind, MapSpec]] = {
    "reading": MapSpec(
        series=(_MEASURED,),
        key="key",
        sequence="seq",
        agree={"sensor": "sensor", "quantity": "quantity"},
        defaults={"key": "", "seq": ""},
    ),
    "reference": MapSpec(
        series=(_MEASURED,),
        key="key",
        identity="id",
        reference_id="reference_id",
        revision="rev",
        status="status",
        start="start",
        end="end",
        defaults={"key": "", "id": "", "rev": 0},
    ),
    "event": MapSpec(event="event", note="note", defaults={"note": ""}),
    "collocation": MapSpec(
        names={"subject": "{subject}"},
        start="start",
        end="end",
        distance_m="distance_m",
        defaults={"distance_m": 0.0},
    ),
}


def specification(kind: Kind, unit: str) -> MapSpec:
    """Return the mapping that reads native payloads of a source whose values are in ``unit``."""
    spec = _SPECS[kind]
    series = tuple(each._replace(unit=unit) for each in spec.series)
    return spec._replace(series=series, number_times=False)


@lru_cache(maxsize=1024)
def mapping(kind: Kind, unit: str, template: str) -> Mapped:
    """Return that mapping compiled, for a source whose topics fit ``template``."""
    names = Template.parse(template).names if template else ("sensor", "subject", "quantity")
    return Mapped(specification(kind, unit), kind, names, unit)


def parse(call: Call) -> object:
    """Return the object in a payload; raises Rejected."""
    message = mapped_json.parse(call.payload)
    if not isinstance(message, dict):
        raise Rejected(
            "bad_field",
            f"the payload is {type_of(message)}, not an object; a source with "
            "decoder json and a map reads it (each: $ for the entries of an array, value: $ for a "
            "number alone)",
            "$",
        )
    return message


decode: Final = Decoder(
    parse, many=False, help="JSON in the words of D-SI, read without map", mapping=mapping
)
