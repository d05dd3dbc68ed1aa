"""The state of a block as bytes, with a version; states of earlier versions are upgraded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from monitor.cluster.block_store import BlockImage
from monitor.core.detector.thresholds import Bases, Crossings
from monitor.errors import UNAVAILABLE, MonitorError

VERSION: Final = 3


class StateError(MonitorError):
    """The state of a block cannot be used; the message says what to do."""

    exit_code = UNAVAILABLE


class SeriesState(msgspec.Struct, array_like=True):
    """The evidence of one series, and when its last reading came."""

    path: int
    state: bytes
    root: tuple[float, int, bytes] | None
    last_reading: float
    heard: float


class BlockState(msgspec.Struct, array_like=True):
    """A block; :data:`_UPGRADES` says what earlier versions had."""

    version: int
    expired: float
    too_late: int
    stored: BlockImage
    rows: list[SeriesState]
    noted: list[int]
    refusals: tuple[list[int], dict[str, int], dict[str, tuple[float, float, int]]]
    crossings: Crossings
    bases: Bases
    losses: tuple[int, int]


encode_state: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(BlockState).decode


def _with_refusals(old: list[Any]) -> list[Any]:
    """Version 1 did not know what was refused."""
    return [2, *old[1:], [[], {}, {}]]


def _with_thresholds(old: list[Any]) -> list[Any]:
    """Version 2 had the transitions that were told, and nothing of thresholds and losses."""
    _, expired, too_late, kept, rows, standing, _, refusals = old
    told = {(each["sensor"], each["quantity"]) for each in standing}
    noted = [row for row, sensor, quantity, *_ in kept[0] if (sensor, quantity) in told]
    return [3, expired, too_late, kept, rows, noted, refusals, [], [], [0, 0]]


_UPGRADES: Final[dict[int, Callable[[list[Any]], list[Any]]]] = {
    1: _with_refusals,
    2: _with_thresholds,
}


def load_state(state: bytes) -> BlockState:
    """Return a state of this version; raises StateError."""
    try:
        version = msgspec.msgpack.decode(state, type=list[Any])[0]
        if version == VERSION:
            return _decode(state)
        plain = msgspec.msgpack.decode(state, type=list[Any])
        while plain[0] in _UPGRADES:
            plain = _UPGRADES[plain[0]](plain)
        if plain[0] == VERSION:
            return msgspec.convert(plain, BlockState)
    except (msgspec.DecodeError, msgspec.ValidationError, IndexError) as error:
        raise StateError(f"the state of a block is damaged: {error}") from error
    raise StateError(
        f"the state of a block is of version {version}, newer than this program's {VERSION}; "
        "run the program that wrote it"
    )
