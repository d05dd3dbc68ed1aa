"""Eight mistakes that such programs make, planted to show that the simulation finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from monitor.core.state.network import Outcome
from monitor.daemon.assembly import Parts
from monitor.daemon.redeliveries import Held
from monitor.decode import Decoded
from monitor.mqtt.inbox import InboxMessage

from .source import ModelSource
from .world import Plant, Wrong, simulate


def acknowledge_before_commit(parts: Parts, source: ModelSource) -> None:
    """Tell the broker that messages are safe before they are."""
    receive = source.receive

    def hasty(timeout: float) -> list:
        messages = receive(timeout)
        source.acknowledge(messages)
        return messages

    source.receive = hasty


def no_removal_of_duplicates(parts: Parts, source: ModelSource) -> None:
    """Count what comes again as if it were new."""
    _judge_anew(parts, lambda outcome, _numbers: outcome.duplicates)


def last_number_only(parts: Parts, source: ModelSource) -> None:
    """Take for new whatever is not the very last message that came."""
    last: list[object] = [None]

    def fresh(outcome: Outcome, observations: list) -> list[int]:
        found = [at for at in outcome.duplicates if observations[at] != last[0]]
        if observations:
            last[0] = observations[-1]
        return found

    _judge_anew(parts, fresh)


def stale_acknowledgement(parts: Parts, source: ModelSource) -> None:
    """Acknowledge on a new connection what came on a former one."""
    acknowledge = source.acknowledge

    def careless(messages: list) -> int:
        return acknowledge([_of_now(message, source.receiver.generation) for message in messages])

    source.acknowledge = careless


def _of_now(message: InboxMessage, generation: int) -> InboxMessage:
    """Return a message as if it had come on another connection."""
    return InboxMessage(message.topic, message.payload, message.flags, message.mid, generation)


def leaked_permit(parts: Parts, source: ModelSource) -> None:
    """Never acknowledge what cannot be read: it holds its place for ever."""
    acknowledge = source.acknowledge
    source.acknowledge = lambda messages: acknowledge(
        [message for message in messages if message.payload.startswith(b'{"time"')]
    )


def poison_loop(parts: Parts, source: ModelSource) -> None:
    """Die of a message that cannot be read, and be sent it again."""
    decode_all = parts.intake._router.decode_all

    def brittle(topics: Sequence[str], payloads: Sequence[bytes], *more: object) -> Decoded:
        if any(payload == b"{" for payload in payloads):
            raise RuntimeError(b"{")
        return decode_all(topics, payloads, *more)

    parts.intake._router.decode_all = brittle


def no_memory_of_packets(parts: Parts, source: ModelSource) -> None:
    """Take a packet that comes again for a new message, where it has no time."""
    parts.intake.redeliveries.hold = lambda _messages: Held()


def packets_forgotten(parts: Parts, source: ModelSource) -> None:
    """Remember packets, but not beyond the end of the process."""
    hold = parts.intake.redeliveries.hold
    parts.intake.redeliveries.hold = lambda messages: hold(messages)._replace(notes={})


def _judge_anew(parts: Parts, fresh) -> None:
    """Let ``fresh`` say which duplicates are taken for new."""
    observe = parts.network.observe

    def wrong(observations: list, received: float) -> Outcome:
        outcome = observe(observations, received)
        again = fresh(outcome, observations)
        kept = [at for at in outcome.duplicates if at not in again]
        return outcome._replace(duplicates=kept)

    parts.network.observe = wrong


PLANTS: Final[dict[str, Plant]] = {
    "acknowledge before commit": acknowledge_before_commit,
    "no removal of duplicates": no_removal_of_duplicates,
    "last number only": last_number_only,
    "stale acknowledgement": stale_acknowledgement,
    "leaked permit": leaked_permit,
    "poison loop": poison_loop,
    "no memory of packets": no_memory_of_packets,
    "packets forgotten": packets_forgotten,
}


def simulate_with(seed: int, steps: int, plant: str | None) -> Wrong | None:
    """Return what is wrong after one seed with a mistake planted, or with none."""
    return simulate(seed, steps, PLANTS[plant] if plant else None)
