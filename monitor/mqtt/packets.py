"""MQTT's packets as types (MQTT 3.1.1 and 5.0 section 3): a client's and a broker's.

:mod:`.codec` writes the former as bytes and reads the latter. The texts of a broker's reason codes
(MQTT 5.0 section 2.4) are those of the standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

# -- packets --------------------------------------------------------------------------------------


class Version(IntEnum):
    """Version of the protocol, as CONNECT says it."""

    V3_1_1 = 4
    V5 = 5


class Connect(NamedTuple):
    """Asks for a session, which continues if it exists; the last three fields are of MQTT 5."""

    client_id: str
    keepalive_seconds: int
    username: str | None = None
    password: str | None = None
    session_expiry_seconds: int = 0
    receive_maximum: int = 65_535


class Connack(NamedTuple):
    """The broker's answer; ``code`` is one of MQTT 5 in both versions."""

    session_present: bool
    code: int
    said: str = ""
    keepalive_seconds: int | None = None
    session_expiry_seconds: int | None = None


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
    """The sender of a message of QoS 2 has received PUBREC."""

    packet_id: int
    code: int = 0


class Pubcomp(NamedTuple):
    """The packet identifier of a message of QoS 2 is free again."""

    packet_id: int
    code: int = 0


class Pingreq(NamedTuple):
    """Asks for a sign of life."""


class Pingresp(NamedTuple):
    """The broker's answer to PINGREQ."""


class Disconnect(NamedTuple):
    """Ends the connection; a broker sends it with MQTT 5 only."""

    code: int = 0
    said: str = ""


Sent = Connect | Subscribe | Unsubscribe | Puback | Pubrec | Pubrel | Pubcomp | Pingreq | Disconnect
Control = Connack | Suback | Unsuback | Puback | Pubrec | Pubrel | Pubcomp | Pingresp | Disconnect


# -- reason codes ---------------------------------------------------------------------------------

FAILURE: Final = 0x80  # codes from here on are failures
MALFORMED_PACKET: Final = 0x81
SESSION_TAKEN_OVER: Final = 0x8E
_SAID_CHARACTERS_MAX: Final = 200

REASONS: Final[Mapping[int, str]] = {
    0x00: "Success",
    0x01: "Granted QoS 1",
    0x02: "Granted QoS 2",
    0x80: "Unspecified error",
    0x81: "Malformed packet",
    0x82: "Protocol error",
    0x83: "Implementation specific error",
    0x84: "Unsupported protocol version",
    0x85: "Client identifier not valid",
    0x86: "Bad user name or password",
    0x87: "Not authorized",
    0x88: "Server unavailable",
    0x89: "Server busy",
    0x8A: "Banned",
    0x8B: "Server shutting down",
    0x8C: "Bad authentication method",
    0x8D: "Keep alive timeout",
    0x8E: "Session taken over",
    0x8F: "Topic filter invalid",
    0x90: "Topic name invalid",
    0x91: "Packet identifier in use",
    0x92: "Packet identifier not found",
    0x93: "Receive maximum exceeded",
    0x94: "Topic alias invalid",
    0x95: "Packet too large",
    0x96: "Message rate too high",
    0x97: "Quota exceeded",
    0x98: "Administrative action",
    0x99: "Payload format invalid",
    0x9A: "Retain not supported",
    0x9B: "QoS not supported",
    0x9C: "Use another server",
    0x9D: "Server moved",
    0x9E: "Shared subscription not supported",
    0x9F: "Connection rate exceeded",
    0xA0: "Maximum connect time",
    0xA1: "Subscription identifiers not supported",
    0xA2: "Wildcard subscription not supported",
}

# The codes of CONNACK in MQTT 3.1.1 as codes of MQTT 5 (3.1.1 section 3.2.2.3).
CONNACK_311: Final[Mapping[int, int]] = {0: 0x00, 1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87}


def reason_text(code: int, stated: str = "") -> str:
    """Return a code in words, with what the broker ``stated``, fit for a line of a log."""
    words = REASONS.get(code, f"reason code {code:#04x}")
    return f"{words} ({stated[:_SAID_CHARACTERS_MAX]!r})" if stated else words
