"""Decodes messages as of the clock guard's time; their own times may cast doubt on it."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.daemon.clock_guard import ERA_END, NEAR_SECONDS, TOPICS_MAX, ClockGuard
from monitor.daemon.stamps import stamps_of
from monitor.decode.router import Decoded, Router


def decode_guarded(
    router: Router,
    clock: ClockGuard,
    topics: Sequence[str],
    payloads: Sequence[bytes],
    received: float,
) -> tuple[Decoded, float]:
    """Return the content of messages and their arrival (s since 1970 UTC), which they may correct.

    While the clock is in doubt, or if they put it in doubt, none is refused as ``future``.
    """
    decode_all = router.decode_all
    if clock.doubt:
        decoded = decode_all(topics, payloads, received, ERA_END)
        clock.hear(stamps_of(topics, decoded, len(decoded.sources) // TOPICS_MAX + 1))
        if abs(clock.now - received) <= NEAR_SECONDS:
            return decoded, received
        return decode_all(topics, payloads, clock.now, ERA_END), clock.now
    decoded = decode_all(topics, payloads, received)
    if not clock.can_be_doubted:
        return decoded, received
    ahead = list(dict.fromkeys(at for at, why in decoded.refused if why.reason == "future"))
    if not ahead:
        return decoded, received
    step = (len(decoded.sources) + len(ahead)) // TOPICS_MAX + 1
    clock.hear(stamps_of(topics, decoded, step))
    some = ahead[::step]
    names = [topics[at] for at in some]
    early = decode_all(names, [payloads[at] for at in some], received, ERA_END)
    clock.hear(stamps_of(names, early, 1), are_accepted=False)
    if not clock.doubt:
        return decoded, received
    return decode_all(topics, payloads, clock.now, ERA_END), clock.now
