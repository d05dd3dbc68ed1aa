"""MQTT's packets as types (MQTT 3.1.1 and 5.0 section 3): those a client sends, and a broker.

``encoding`` writes the former as bytes, ``decoding`` reads the latter.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Version(IntEnum):
    """Version of the protocol, as CONNECT says it."""

    V3_1_1 = 4
    V5 = 5


class Connect(NamedTuple):
    """Asks for a session, which goes on if there is one; the last three are of MQTT 5."""

    client_id: str
    keepalive_seconds: int
    username: str | None = None
    password: str | None = None
    session_expiry_seconds: int = 0
    receive_maximum: int = 65_535
    maximum_packet_bytes: int = 268_435_455


class Connack(NamedTuple):
    """The broker's answer; ``code`` is one of MQTT 5 with both versions."""

    session_present: bool
    code: int
    said: str = ""
    keepalive_seconds: int | None = None


class Subscribe(NamedTuple):
    """Asks for topic filters, each with a quality of service."""

    packet_id: int
    filters: tuple[tuple[str, int], ...]


class Suback(NamedTuple):
    """For each filter the quality of service that is granted, or why it is refused."""

    packet_id: int
    codes: tuple[int, ...]
    said: str = ""


class Unsubscribe(NamedTuple):
    """Ends subscriptions."""

    packet_id: int
    filters: tuple[str, ...]


class Unsuback(NamedTuple):
    """Answers UNSUBSCRIBE; MQTT 3.1.1 has no codes."""

    packet_id: int
    codes: tuple[int, ...] = ()


class Publish(NamedTuple):
    """A message; ``first`` is the first byte, which has its flags, ``packet_id`` 0 with QoS 0."""

    first: int
    topic: str
    packet_id: int
    payload: bytes


class Puback(NamedTuple):
    """A message of QoS 1 has been taken."""

    packet_id: int
    code: int = 0


class Pubrec(NamedTuple):
    """A message of QoS 2 has been taken."""

    packet_id: int
    code: int = 0


class Pubrel(NamedTuple):
    """The sender of a message of QoS 2 has heard of PUBREC."""

    packet_id: int
    code: int = 0


class Pubcomp(NamedTuple):
    """The packet identifier of a message of QoS 2 is free again."""

    packet_id: int
    code: int = 0


class Pingreq(NamedTuple):
    """Asks whether the broker is there."""


class Pingresp(NamedTuple):
    """It is."""


class Disconnect(NamedTuple):
    """Ends the connection; a broker sends it with MQTT 5 only."""

    code: int = 0
    said: str = ""


Sent = Connect | Subscribe | Unsubscribe | Puback | Pubrec | Pubrel | Pubcomp | Pingreq | Disconnect
Control = Connack | Suback | Unsuback | Puback | Pubrec | Pubrel | Pubcomp | Pingresp | Disconnect
