"""A sink at work: its contract and settings, a bounded queue, and a thread that delivers in order.

Rules of this file: the data's thread never waits here; a transition is done once it is delivered,
refused for good, or too old; other failures are retried with growing pauses and jitter.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Protocol, runtime_checkable

from annotated_types import Gt, Le, doc

from monitor.alerts.transition import Transition, log_fields
from monitor.core.setting import Contradiction, no_contradictions

# -- at work --------------------------------------------------------------------------------------

QUEUE: Final = 1000
_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 86_400.0

_log: Final = logging.getLogger("monitor")


class SinkFigures(NamedTuple):
    """Figures of a sink: transitions delivered and dropped, attempts failed, queue length."""

    delivered: int = 0
    failed: int = 0
    dropped: int = 0
    queued: int = 0


class LaterError(Exception):
    """Delivery failed for now; ``seconds`` is the pause that the receiver asks for, if any.

    The message says why in one line, without secrets.
    """

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


class RefusedError(Exception):
    """The receiver will never accept it; the message says why in one line, without secrets."""


class Sink(Protocol):
    """A receiver of transitions; this is the contract.

    * ``deliver`` is called by one thread, one transition at a time, in their order. It may wait,
      but not for ever: each wait has a time limit.
    * When it returns, the transition is delivered. :class:`LaterError` asks to try this one again
      later, :class:`RefusedError` to go on without it.
    * The same transition, with the same id, may come again after a crash.
    * ``close`` releases what the sink holds; no call follows it.
    """

    def deliver(self, transition: Transition) -> None:
        """Deliver a transition."""

    def close(self) -> None:
        """Release everything."""


@runtime_checkable
class RepeatingSink(Sink, Protocol):
    """A sink whose receiver forgets what is not said again.

    ``repeat`` is called by the same thread every ``repeat_seconds``, at the start, and after
    deliveries that failed; it raises what ``deliver`` does.
    """

    repeat_seconds: float

    def repeat(self, current: Sequence[Transition]) -> None:
        """Say again what fires and what ended lately."""


class Patience(Protocol):
    """How long deliveries are retried."""

    @property
    def retry_seconds_max(self) -> float:
        """The longest pause between two attempts, s."""

    @property
    def give_up_hours(self) -> float:
        """How long delivery of one transition is retried."""


class Outlet:
    """One sink with its queue and thread; counters are read by any thread.

    ``offered`` is the last transition that was put into the queue, ``done`` the last that is
    finished, which the journal has to remember. ``jitter`` gives a factor for each pause.
    """

    def __init__(
        self,
        name: str,
        sink: Sink,
        patience: Patience,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = lambda: random.SystemRandom().uniform(0.5, 1.0),
    ) -> None:
        self.name: Final = name
        self.offered = 0
        self.done = 0
        self.delivered = 0
        self.failed = 0
        self.dropped = 0
        self._sink: Final = sink
        self._patience: Final = patience
        self._monotonic: Final = monotonic
        self._jitter: Final = jitter
        self._queue: Final[deque[tuple[int, Transition | None]]] = deque()
        self._changed: Final = threading.Condition()
        self._stopping = False
        self._ends_at = float("inf")
        self._repeats: Final = sink if isinstance(sink, RepeatingSink) else None
        self._repeat_at = float("inf") if self._repeats is None else self._monotonic()
        self._repeat_trouble = ""
        self._current: Callable[[], Sequence[Transition]] = tuple
        self._thread: Final = threading.Thread(target=self._run, name=f"sink {name}", daemon=True)

    def start(self, done: int, current: Callable[[], Sequence[Transition]] = tuple) -> None:
        """Start delivering the transitions after ``done``; ``current`` is what is repeated."""
        self.offered = self.done = done
        self._current = current
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Transitions in the queue, including the one being delivered."""
        return len(self._queue)

    @property
    def room(self) -> int:
        """How many more transitions the queue has room for."""
        return QUEUE - len(self._queue)

    def offer(self, seq: int, transition: Transition | None) -> None:
        """Queue the next transition; None if this sink does not need it."""
        with self._changed:
            self.offered = seq
            self._queue.append((seq, transition))
            self._changed.notify_all()

    def drop(self, count: int) -> None:
        """Count transitions that this sink will never receive."""
        self.dropped += count

    def end(self, seconds: float) -> None:
        """Deliver the queue if that takes at most ``seconds``, then end; wait for neither."""
        with self._changed:
            self._stopping = True
            self._ends_at = self._monotonic() + seconds
            self._changed.notify_all()

    def stop(self, seconds: float) -> None:
        """Deliver the queue if that takes at most ``seconds``, then end the thread."""
        self.end(seconds)
        if self._thread.is_alive():
            self._thread.join(seconds)

    # -- the sink's thread --------------------------------------------------------------------

    def _run(self) -> None:
        while self._wait_for_one():
            if self._monotonic() >= self._repeat_at:
                self._repeat()
            if not self._queue:
                continue
            seq, transition = self._queue[0]
            if transition is not None and not self._deliver(transition):
                break
            self.done = seq
            self._queue.popleft()
        self._sink.close()

    def _wait_for_one(self) -> bool:
        """Wait for something to deliver or repeat; False if the thread is to end."""
        with self._changed:
            while not self._queue and not self._stopping:
                left = self._repeat_at - self._monotonic()
                if left <= 0.0:
                    return True
                self._changed.wait(min(left, threading.TIMEOUT_MAX))
        return bool(self._queue) and self._monotonic() < self._ends_at

    def _repeat(self) -> None:
        """Say again what fires; a failure is logged when it changes."""
        if self._repeats is None:
            return
        trouble = ""
        try:
            self._repeats.repeat(self._current())
        except (LaterError, RefusedError) as error:
            trouble = str(error)
        except Exception:  # noqa: BLE001 - as in _attempt
            trouble = "an internal error"
            _log.exception("sink %s: cannot repeat", self.name)
        self.failed += bool(trouble)
        if trouble != self._repeat_trouble:
            _log.warning("sink %s: %s", self.name, trouble or "repeats what fires again")
        self._repeat_trouble = trouble
        self._repeat_at = self._monotonic() + self._repeats.repeat_seconds

    def _deliver(self, transition: Transition) -> bool:
        """Try until ``transition`` is delivered or given up; False if stopped meanwhile."""
        give_up = self._monotonic() + self._patience.give_up_hours * 3600.0
        attempt = 0
        while (trouble := self._attempt(transition)) is not None:
            if isinstance(trouble, RefusedError) or self._monotonic() >= give_up:
                self._give_up(transition, str(trouble))
                return True
            if not attempt:
                text = "sink %s: %s; retrying"
                _log.warning(text, self.name, trouble, extra=log_fields(transition))
            if not self._pause(attempt, trouble.seconds):
                return False
            attempt += 1
        if attempt:
            _log.info("sink %s: delivering again", self.name)
            self._repeat_at = min(self._repeat_at, self._monotonic())
        return True

    def _attempt(self, transition: Transition) -> LaterError | RefusedError | None:
        """Try once; return what went wrong, if anything."""
        try:
            self._sink.deliver(transition)
        except (LaterError, RefusedError) as error:
            self.failed += 1
            return error
        except Exception:  # noqa: BLE001 - a fault of the sink costs time, not the sink its life
            self.failed += 1
            text = "sink %s: cannot deliver %s"
            _log.exception(text, self.name, transition.id, extra=log_fields(transition))
            return LaterError("an internal error")
        self.delivered += 1
        return None

    def _give_up(self, transition: Transition, why: str) -> None:
        self.dropped += 1
        words = (self.name, transition.id, transition, why)
        _log.error("sink %s: gave up on %s (%s): %s", *words, extra=log_fields(transition))

    def _pause(self, attempt: int, asked: float | None) -> bool:
        """Wait before the next attempt; False if stopped meanwhile."""
        longest = self._patience.retry_seconds_max
        pause = min(longest, _FIRST_PAUSE_SECONDS * 2.0 ** min(attempt, 30)) * self._jitter()
        if asked is not None:
            pause = min(max(pause, asked), _PAUSE_SECONDS_MAX)
        until = self._monotonic() + pause
        with self._changed:
            while not self._stopping and (left := until - self._monotonic()) > 0.0:
                self._changed.wait(left)
            return not self._stopping


# -- kinds of sinks -------------------------------------------------------------------------------

if TYPE_CHECKING:  # loading settings must not import the broker's client
    from monitor.mqtt.publish import BrokerPublisher

RetrySeconds = Annotated[float, Gt(0), Le(86_400), doc("Longest pause between two attempts.")]
GiveUpHours = Annotated[
    float, Gt(0), Le(8784), doc("How long delivery of one transition is retried.")
]


class SinkContext(NamedTuple):
    """The means with which a sink is opened, besides its settings.

    ``connect`` makes a connection to the daemon's broker; ``secrets`` are those that the sink's
    settings name; ``public_url`` is where people reach the pages, empty if unknown. Do not print
    it.
    """

    connect: Callable[[], BrokerPublisher]
    secrets: Mapping[str, Any]
    public_url: str = ""

    def __repr__(self) -> str:
        return "SinkContext(...)"


class SinkKind(NamedTuple):
    """A kind of sink: all that the settings file, the daemon and the documentation need.

    ``settings`` is a NamedTuple as :mod:`monitor.core.setting` describes it, with the fields
    ``retry_seconds_max`` and ``give_up_hours``. Each secret ``x`` among ``secrets`` has the fields
    ``x_file`` and ``x_env`` that say where it is; the function converts what is found there, and
    raises ValueError, without the secret, if it cannot be used. ``default`` is the sink that runs
    without being asked for.
    """

    meaning: str
    settings: type
    open: Callable[[Any, SinkContext], Sink]
    default: Any = None
    contradictions: Callable[[Any], Iterable[Contradiction]] = no_contradictions
    secrets: Mapping[str, Callable[[str, Any], object]] = {}
