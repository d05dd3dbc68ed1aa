"""The clock guard: whether this machine's clock can be believed, and what time it is meanwhile.

Rules of this file: no I/O and no clock, both are handed in; what is in doubt is said in a sentence.
Messages are decoded as of the guard's time; their own times may cast doubt on it. A sample of event
times spread over a batch speaks for all of it, at a bounded cost.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median, median_low
from typing import Final, NamedTuple

from monitor.core.formatting import duration, instant
from monitor.core.model import Reading, Reference
from monitor.decode.checks import FUTURE_SECONDS
from monitor.decode.router import Decoded, Router

RELEASED: Final = 1_735_689_600.0  # 2025-01-01 UTC: no clock that is right says an earlier time
ERA_END: Final = 3_345_062_400.0  # 2076-01-01 UTC: no clock of a sensor that is right says a later
STEP_SECONDS: Final = 60.0  # a larger step of the wall clock against the monotonic one is a jump
NEAR_SECONDS: Final = FUTURE_SECONDS  # what is further ahead of a trusted clock is refused
PROBATION_SECONDS: Final = 600.0  # after so long a clock that messages agree with is confirmed
PATIENCE_SECONDS: Final = 86_400.0  # a doubt that no message supports for so long is dropped
SOON_SECONDS: Final = 3600.0  # a start so soon after the journal's newest arrival confirms a clock
ALONE_SECONDS: Final = 180 * 86_400.0  # a single topic that is further ahead is wrong itself
TOPICS_MAX: Final = 64
_OLD_A_VOICE: Final = 4  # so many topics with old times at most, for each that is ahead
_SAME_SECONDS: Final = 1e-6
_DELAYS_KEPT: Final = 101


class Stamp(NamedTuple):
    """The event time that a message of ``topic`` carries, s since 1970 UTC."""

    topic: str
    time: float


def stamps_of(topics: Sequence[str], decoded: Decoded, step: int) -> list[Stamp]:
    """Return the event times of every ``step``th reading or reference."""
    plain, others = decoded.observations.plain, decoded.observations.others
    stamps = []
    for at in range(0, len(decoded.sources), step):
        time = math.nan
        if at < len(plain):
            time = float(plain.times[at])
        elif isinstance(other := others[at - len(plain)], Reading | Reference):
            time = other.time
        if math.isfinite(time):
            stamps.append(Stamp(topics[decoded.sources[at]], time))
    return stamps


class Delays:
    """How long after their event messages come, by the topic filter of their source, in s.

    Below zero the sender's clock is ahead of this machine's.
    """

    def __init__(self) -> None:
        self._last: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_DELAYS_KEPT))

    def add(self, topics: str, seconds: float) -> None:
        """Record one message's delay."""
        self._last[topics].append(seconds)

    def medians(self) -> Mapping[str, float]:
        """Return the median delay of the last messages of each source."""
        return {topics: median(last) for topics, last in self._last.items()}


class ClockGuard:
    """State: the wall clock against the monotonic clock, the journal and the messages.

    The clock is *trusted* or *in doubt*. Two clocks compete while it is in doubt: the wall clock,
    and the *reckoned* one, which goes on from the last time that was believed. :attr:`now` is the
    wall clock while it is trusted, else the reckoned one.

    **In doubt** it is from the moment that

    * it says a time before 2025 (no clock yet, before NTP: 1970); or
    * at the start, it is over ``NEAR_SECONDS`` before the newest arrival in the journal; or
    * it steps by more than a minute against the monotonic clock (set by hand or by NTP; the
      monotonic clock stands still while the machine is suspended); or
    * more topics carry times further ahead of it than times within ``NEAR_SECONDS`` of it. Each of
      the last 64 topics has one voice. A single topic has none if it is more than 180 days ahead (a
      date mistyped in the first message is no sign of the time), if messages came that carry no
      time (one mistyped date must not move all of theirs), or if others carry old times: in a
      backlog, what is fresh of the others is still to come. For the same reason those ahead
      must be over a fifth of the topics that are not near. A clock that messages have agreed with
      for ten minutes is *confirmed*: what is ahead of it is the sender's mistake, and is refused.

    **Only what is ahead speaks against a clock.** An event time long past says nothing, since it
    may be a replay of recorded data or a late upload. Neither does a time that is the arrival
    itself, nor one after 2076. So a replay never puts a clock in doubt, and ends no doubt but one
    that too few topics raised.

    **The doubt ends** when

    * the wall clock is again within a minute of the reckoned one (it was set back), or within
      ``NEAR_SECONDS`` where that is of messages or of the journal, which are behind the time; or
    * more topics speak for the wall clock than for the reckoned one. A topic speaks for the later
      of the two if its time is beyond what the earlier one allows, for the earlier one if it is
      within ``NEAR_SECONDS`` of that; or
    * for a day nothing spoke for the reckoned clock; or
    * topics put it in doubt, and by now they would not: the others carry a backlog.

    A year before the release stays in doubt whatever is said. If most topics are ahead of both
    clocks, the reckoned one moves to the median of what they say.

    Before the first :meth:`look` the guard does nothing, and nothing is in doubt.
    """

    def __init__(self, newest: float = -math.inf) -> None:
        """Begin with the newest arrival in the journal, s since 1970 UTC; -inf if it is empty."""
        self._newest: Final = newest
        self._monotonic = self._began = math.nan
        # Clocks less the monotonic one, in s: constant while a clock goes at its rate.
        self._wall = self._reckoned = 0.0
        self._tolerance = STEP_SECONDS
        self._voices: OrderedDict[str, float] = OrderedDict()
        self._events: OrderedDict[str, float] = OrderedDict()
        self._trusted_since = self._contradicted = 0.0
        self._is_confirmed = self._is_agreed = False
        self._is_by_topics = False  # whether it is messages that put the clock in doubt
        self._has_arrivals = False  # whether a message without a time of its own was accepted
        self.doubt = ""
        """Why the clock is in doubt, in a sentence; empty while it is trusted."""
        self.doubts = 0
        """How often it came into doubt."""

    @property
    def now(self) -> float:
        """The time to work with as of the last look, s since 1970 UTC; NaN before the first."""
        return self._monotonic + self._reckoned

    @property
    def can_be_doubted(self) -> bool:
        """Whether messages that are ahead can put the clock in doubt now."""
        return self.is_looked_at and not (self.doubt or self._is_confirmed)

    @property
    def is_looked_at(self) -> bool:
        """Whether there was a look."""
        return not math.isnan(self._monotonic)

    def may_expire(self, wait_seconds: float) -> bool:
        """Return whether what arrived more than ``wait_seconds`` ago may be dropped.

        Of a former run it may be if a message agreed with the clock, if the journal did at the
        start, or if this run lasts so long.
        """
        is_long = self._monotonic - self._began >= wait_seconds
        return not self.doubt and (self._is_agreed or is_long or self._newest == -math.inf)

    def retention_time(self) -> float | None:
        """Return the time (s since 1970 UTC) from which retention counts back.

        It is the median of the newest event times that the last topics carried, never later than
        :attr:`now`. If all times are arrivals it is :attr:`now`, once the clock agreed with the
        journal at the start or was trusted for a day. None, if nothing may be deleted: in doubt, or
        if nothing came yet.
        """
        if self.doubt:
            return None
        if self._events:
            return min(self.now, median_low(self._events.values()))
        is_long = self._monotonic - self._trusted_since >= PATIENCE_SECONDS
        return self.now if self._has_arrivals and (self._is_agreed or is_long) else None

    # -- what speaks ------------------------------------------------------------------------

    def look(self, wall: float, monotonic: float) -> float:
        """Compare the clocks as they stand, in s; return the time to work with."""
        offset = wall - monotonic
        step, is_first = offset - self._wall, not self.is_looked_at
        self._wall, self._monotonic = offset, monotonic
        if is_first:
            self._begin(wall)
        elif self.doubt:
            if abs(step) > STEP_SECONDS:
                self._voices.clear()
                self._is_by_topics = False
                self._contradicted = monotonic
            self._compare(is_heard=False)
        elif abs(step) > STEP_SECONDS:
            where = "ahead" if step > 0.0 else "back"
            self._voices.clear()
            why = f"it jumped {where} by {duration(step)}"
            self._come_into_doubt(why, self._reckoned, STEP_SECONDS)
        else:
            self._reckoned = offset
        return self.now

    def hear(self, stamps: Iterable[Stamp], *, are_accepted: bool = True) -> None:
        """Let messages speak for a clock or against it.

        Messages that ``are_accepted`` also show how far the data have advanced.
        """
        if not self.is_looked_at:
            return
        for topic, time in stamps:
            if abs(time - self.now) < _SAME_SECONDS:
                self._has_arrivals |= are_accepted
                continue
            if not time < ERA_END:  # or NaN
                continue
            if are_accepted:
                _put(self._events, topic, max(time, self._events.get(topic, time)))
            voice = time - self._monotonic
            known = self._voices.get(topic, math.inf)
            is_near = abs(known - self._wall) <= NEAR_SECONDS
            # A topic that agreed with a trusted clock does not count against it the next time.
            _put(self._voices, topic, known if is_near and not self.doubt else voice)
        if self.doubt:
            self._compare(is_heard=True)
        else:
            self._count_voices()

    # -- inside -----------------------------------------------------------------------------

    def _begin(self, wall: float) -> None:
        self._began = self._trusted_since = self._monotonic
        self._reckoned = self._wall
        best = max(wall, self._newest)
        if wall < RELEASED:
            self._come_into_doubt(f"it says {instant(wall, 'seconds')}", best - self._monotonic)
        elif wall < self._newest - NEAR_SECONDS:
            behind = duration(self._newest - wall)
            why = f"it is {behind} before the newest message in the journal"
            self._come_into_doubt(why, best - self._monotonic)
        elif wall - self._newest <= SOON_SECONDS:
            self._is_agreed = True

    def _count_voices(self) -> None:
        """Compare the wall clock, which is trusted, with the times on the last topics."""
        ahead, near = self._sides()
        if near > len(ahead):
            self._is_agreed = True
            if self._monotonic - self._trusted_since >= PROBATION_SECONDS:
                self._is_confirmed = True
        elif self._are_credible(ahead, near):
            behind = duration(median_low(ahead) - self._wall)
            fresh = len(ahead) + near
            why = f"{len(ahead)} of the last {fresh} topics are {behind} ahead of it"
            self._come_into_doubt(why, median_low(ahead))
            self._is_by_topics = True

    def _sides(self) -> tuple[list[float], int]:
        """Return the voices that are ahead of the wall clock, and how many are near it."""
        voices = self._voices.values()
        ahead = [each for each in voices if each > self._wall + NEAR_SECONDS]
        return ahead, sum(abs(each - self._wall) <= NEAR_SECONDS for each in voices)

    def _are_credible(self, ahead: list[float], near: int) -> bool:
        """Return whether times ahead of the wall clock put it in doubt, against those near it."""
        old = len(self._voices) - len(ahead) - near
        if self._is_confirmed or len(ahead) <= near or len(ahead) * _OLD_A_VOICE < old:
            return False
        is_alone_credible = not (old or self._has_arrivals)
        return len(ahead) > 1 or (is_alone_credible and ahead[0] - self._wall <= ALONE_SECONDS)

    def _compare(self, *, is_heard: bool) -> None:
        """Let the voices choose between wall clock and reckoned clock; end the doubt, or not."""
        wall, reckoned = self._wall, self._reckoned
        if self._is_by_topics and not self._are_credible(*self._sides()):
            self._trust_anew(is_agreed=False)
            return
        is_possible = wall + self._monotonic >= RELEASED
        if is_possible and abs(wall - reckoned) <= self._tolerance:
            self._trust()
            return
        earlier, later = sorted((wall, reckoned))
        limit = min(earlier + NEAR_SECONDS, (earlier + later) / 2.0)
        voices = self._voices.values()
        beyond = [each for each in voices if each > later + NEAR_SECONDS]
        for_later = sum(limit < each <= later + NEAR_SECONDS for each in voices)
        for_earlier = sum(earlier - NEAR_SECONDS <= each <= limit for each in voices)
        for_wall, against = (
            (for_later, for_earlier) if wall > reckoned else (for_earlier, for_later)
        )
        if beyond and len(beyond) > for_wall + against:
            self._reckoned, self._tolerance = median_low(beyond), NEAR_SECONDS
            self._contradicted = self._monotonic
        elif not is_possible:
            return
        elif for_wall > against:
            self._trust_anew(is_agreed=True)
        elif against and is_heard:
            self._contradicted = self._monotonic
        elif self._monotonic - self._contradicted >= PATIENCE_SECONDS:
            self._trust_anew(is_agreed=False)

    def _come_into_doubt(self, why: str, reckoned: float, tolerance: float = NEAR_SECONDS) -> None:
        self.doubt = f"this machine's clock is in doubt: {why}"
        self.doubts += 1
        self._reckoned, self._tolerance = reckoned, tolerance
        self._is_by_topics = False
        self._contradicted = self._monotonic

    def _trust(self) -> None:
        self.doubt, self._reckoned = "", self._wall

    def _trust_anew(self, *, is_agreed: bool) -> None:
        """Trust a wall clock that is another one than before."""
        self._trust()
        self._trusted_since = self._monotonic
        self._is_confirmed, self._is_agreed = False, is_agreed


def _put(numbers: OrderedDict[str, float], topic: str, number: float) -> None:
    """Keep a number for a topic among those of the last topics."""
    numbers[topic] = number
    numbers.move_to_end(topic)
    if len(numbers) > TOPICS_MAX:
        numbers.popitem(last=False)


def decode_guarded(
    router: Router,
    clock: ClockGuard,
    topics: Sequence[str],
    payloads: Sequence[bytes],
    received: float,
    retained: Collection[int] = (),
) -> tuple[Decoded, float]:
    """Return the content of messages and their arrival (s since 1970 UTC), which they may correct.

    While the clock is in doubt, or if they put it in doubt, none is refused as ``future``.
    """

    def decoded_at(arrival: float, latest: float | None) -> Decoded:
        return router.decode_all(topics, payloads, arrival, latest, retained)

    if clock.doubt:
        decoded = decoded_at(received, ERA_END)
        clock.hear(stamps_of(topics, decoded, len(decoded.sources) // TOPICS_MAX + 1))
        if abs(clock.now - received) <= NEAR_SECONDS:
            return decoded, received
        return decoded_at(clock.now, ERA_END), clock.now
    decoded = decoded_at(received, None)
    if not clock.can_be_doubted:
        return decoded, received
    ahead = list(dict.fromkeys(at for at, why in decoded.refused if why.reason == "future"))
    if not ahead:
        return decoded, received
    step = (len(decoded.sources) + len(ahead)) // TOPICS_MAX + 1
    clock.hear(stamps_of(topics, decoded, step))
    some = ahead[::step]
    names = [topics[at] for at in some]
    old = [place for place, at in enumerate(some) if at in retained]
    early = router.decode_all(names, [payloads[at] for at in some], received, ERA_END, old)
    clock.hear(stamps_of(names, early, 1), are_accepted=False)
    if not clock.doubt:
        return decoded, received
    return decoded_at(clock.now, ERA_END), clock.now
