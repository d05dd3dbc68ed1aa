"""Native payloads mean the same at every size of a read."""

from __future__ import annotations

import json

import pytest
from fuzz.differential import RECEIVED, Daemon, compare, compare_explained

from monitor.core.model import Reference
from tests.decode.accelerators.test_differential import (
    MAPPED_REFERENCE,
    READING,
    REFERENCE,
    SETTINGS,
    TIME,
    native,
)


def text(**changed):
    """Return a payload with members as they are written."""
    members = {"time": f'"{TIME}"', "value": "1.5", "u": "0.5", **changed}
    return (
        f"{{{', '.join(f'{json.dumps(name)}: {each}' for name, each in members.items())}}}".encode()
    )


PLAIN = [
    *(native(value=value) for value in (51.5, -1.5, 0, -0.0, 1e15, -1e15)),
    *(text(value=value) for value in ("-0", "0.12345678901234567", "1E+2", "5e-324", "1e-400")),
    *(native(u=u) for u in (1e-12, 1e15)),
    native(unit="kg"),
    native(key="k"),
    native(key="a", seq="7"),
    native(lower=1.0, upper=2.0, p=0.9),
    *(
        native(time=time)
        for time in (
            "2026-02-28T10:00:00.1234567Z",
            "2026-02-28T10:00:00.9999999Z",
            "2026-02-28t10:00:01z",
            "2026-02-28 23:00:00.25+13:00",
            "0001-01-01T00:00:00Z",
        )
    ),
]

ODD = [
    *(text(value=value) for value in ("01.5", "1e999", "NaN", "-", '"1.5"', "1" * 400, "null")),
    *(text(u=u) for u in ("0", "-0.0", "1e-13", "1e16", '"1"')),
    *(native(key=key) for key in ("a\n", "k" * 257, 7, None, "")),
    *(native(unit=unit) for unit in ("g", "lb", "K", "", "k9", 1, None)),
    *(
        native(time=time)
        for time in ("x", "2026-02-28T10:00:00", "2027-01-01T00:00:00Z", "2026-02-28", 7, None)
    ),
    native(time="0001-01-01T00:00:00+13:00"),
    native(lower=2.0, upper=1.0),
    native(U=1.0),
    native(id="s1"),
    native(rev=1),
    native(other={"a": [1]}),
    native()[:-1] + b', "value": 1.5}',
    b'{"time": "x", ' + native()[1:],
    native()[:-1] + b', "tim\\u0065": "x"}',
    native()[:-1] + b', "x": {"a": 1, "a": 1}}',
    native() + b"}",
    native() + b" ",
    b"\xef\xbb\xbf" + native(),
    native(key="?").replace(b"?", rb"\ud800"),
    native(key="?").replace(b"?", rb"\""),
    native(key="?").replace(b"?", b"\xff"),
    native().decode().encode("utf-16"),
    b"",
]


@pytest.mark.parametrize("topic", [READING, REFERENCE])
@pytest.mark.parametrize("payload", [*PLAIN, *ODD], ids=lambda payload: str(payload[:80]))
def test_a_native_payload_says_the_same_at_every_size_of_a_read(topic, payload):
    for many in (1, 2, 101, 1000):
        sent = [(topic, native(value=at)) for at in range(many)]
        sent[many // 2] = (topic, payload)
        one, together = Daemon.of(SETTINGS), Daemon.of(SETTINGS)

        assert compare(one, together, sent, many) >= many - 1
    compare_explained(SETTINGS, (topic, payload))


def test_a_reference_with_seven_digits_is_one_reference_by_every_way():
    stamp = "2026-02-28T10:00:00.1234567Z"
    mapped = json.dumps({"t": stamp, "v": 5.0, "s": 0.5}).encode()
    daemon = Daemon.of(SETTINGS)
    first = daemon.router.decode_all([MAPPED_REFERENCE], [mapped], RECEIVED).observations
    later = daemon.router.decode_all([MAPPED_REFERENCE] * 2, [mapped] * 2, RECEIVED).observations
    ((seen,), _) = daemon.router.trace(MAPPED_REFERENCE, mapped, RECEIVED)

    assert [*first, *later, *seen.found] == [first[0]] * 4
    assert isinstance(first[0], Reference)
