"""A hard live stream: every reference is late or revised, sensors come and go, epochs begin.

Rules of this file: what is said in a second follows from the seed and from what was said before; a
reference stands at the time of one reading, which makes it known again by its value.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

from harness.publishing import Said

RATE: Final = 1000  # messages a second
SENSORS: Final = 300  # that are on at a time
_NAMES: Final = 400  # of which they are
_SWAP_SECONDS: Final = 5  # between two sensors that go off, and others that come back
_REFERENCES: Final = 0.27
_REVISED: Final = 0.2  # of the references: another value for one that was said before
_EVENTS: Final = 0.009
_LATE_SECONDS: Final = 300  # at most
_REVISION_STEP: Final = 0.25  # of a reference's value; all values are whole numbers
_REVISIONS_MAX: Final = 3
_OFFSET_EVERY: Final = 20  # sensors, of which one is off
U, U_REF = 5.0, 0.05


class _Paired(NamedTuple):
    """A reading that a reference may be of, or is of: whose, which one, when."""

    sensor: str
    number: int
    time: float
    revision: int = 0


class LateStream:
    """State: which sensors are on, and what was said in the last minutes.

    ``wanted`` maps (sensor, number of the reading) to the highest revision of its reference.
    """

    def __init__(self, start: float, seed: int = 0, rate: int = RATE) -> None:
        self._chance: Final = random.Random(seed)
        self._start: Final = start
        self._rate: Final = rate
        self._on: Final = [f"s{at}" for at in range(SENSORS)]
        self._off: Final = deque(f"s{at}" for at in range(SENSORS, _NAMES))
        self._number = 0
        self._bare: Final[deque[list[_Paired]]] = deque(maxlen=_LATE_SECONDS)
        self._given: Final[deque[list[_Paired]]] = deque(maxlen=_LATE_SECONDS)
        self._second = 0
        self.wanted: Final[dict[tuple[str, int], int]] = {}

    def second(self) -> list[Said]:
        """Return what is said in the next second, in order."""
        chance, at = self._chance, self._start + self._second
        if self._second % _SWAP_SECONDS == _SWAP_SECONDS - 1:
            place = chance.randrange(SENSORS)
            self._off.append(self._on[place])
            self._on[place] = self._off.popleft()
        references, events = round(_REFERENCES * self._rate), round(_EVENTS * self._rate)
        readings = [
            self._reading(at + k / self._rate) for k in range(self._rate - references - events)
        ]
        self._bare.append([paired for paired, _ in readings])
        self._given.append([])
        said = [each for _, each in readings]
        said += [self._event(at) for _ in range(events)]
        said += [self._reference() for _ in range(references)]
        chance.shuffle(said)
        self._second += 1
        return said

    def _reading(self, time: float) -> tuple[_Paired, Said]:
        self._number = number = self._number + 1
        sensor = self._on[number % SENSORS]
        offset = 2.0 * U if int(sensor[1:]) % _OFFSET_EVERY == 0 else 0.0
        value = round(number + offset + self._chance.gauss(0.0, U), 3)
        body = {"time": _stamp(time), "value": value, "u": U, "seq": number}
        return _Paired(sensor, number, time), _said(sensor, "x/reading", body)

    def _reference(self) -> Said:
        """Say a reference for some reading of the last minutes, or another value for one."""
        chance = self._chance
        if chance.random() < _REVISED and (given := _drawn(chance, self._given)) is not None:
            paired = given._replace(revision=given.revision + 1)
        else:
            found = _drawn(chance, self._bare)
            assert found is not None
            paired = found
        if paired.revision < _REVISIONS_MAX:
            self._given[-1].append(paired)
        self.wanted[paired.sensor, paired.number] = paired.revision
        body = {
            "time": _stamp(paired.time),
            "value": paired.number + _REVISION_STEP * paired.revision,
            "u": U_REF,
            "id": f"r{paired.number}",
            "rev": paired.revision,
        }
        return _said(paired.sensor, "x/reference", body)

    def _event(self, at: float) -> Said:
        body = {"time": _stamp(at), "event": "adjusted", "note": str(self._chance.random())}
        return _said(self._chance.choice(self._on), "event", body)


class LateHistory(NamedTuple):
    """What became of a stream's references: promised, lost, twice, of an earlier revision."""

    promised: int
    lost: int
    doubled: int
    stale: int

    @property
    def right(self) -> int:
        """How many count once, as they were last revised."""
        return self.promised - self.lost - self.doubled - self.stale

    def __str__(self) -> str:
        return f"{self.lost} lost, {self.doubled} twice, {self.stale} of an earlier revision"


def compared(
    wanted: Mapping[tuple[str, int], int], found: Iterable[tuple[str, float]]
) -> LateHistory:
    """Hold the references of all pairs, (sensor, value), against what was said of them."""
    seen: dict[tuple[str, int], int] = {}
    doubled = stale = 0
    for sensor, value in found:
        number = int(value)
        doubled += (sensor, number) in seen
        seen[sensor, number] = round((value - number) / _REVISION_STEP)
    lost = sum(each not in seen for each in wanted)
    stale = sum(seen.get(each, revision) != revision for each, revision in wanted.items())
    return LateHistory(len(wanted), lost, doubled, stale)


def _drawn(chance: random.Random, seconds: deque[list[_Paired]]) -> _Paired | None:
    """Take one out of those of a second, each of the last minutes as likely; None if it has none.

    The second just now counts where others have none left.
    """
    for some in (seconds[chance.randrange(len(seconds))], *reversed(seconds)):
        if some:
            place = chance.randrange(len(some))
            some[place], some[-1] = some[-1], some[place]
            return some.pop()
    return None


def _said(sensor: str, rest: str, body: dict[str, object]) -> Said:
    return Said(f"monitor/{sensor}/{rest}", json.dumps(body).encode())


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds")
