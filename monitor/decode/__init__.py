"""From topic and payload to observations: one meaning for each message.

What it does. A source of the settings is one specification (:mod:`.spec`): where a payload holds
the time, the values and the names. Its decoder turns bytes into records (:mod:`.formats`, one file
per format), and a compiled mapping (:mod:`.mapping`) turns records into observations or refusals.
The native format is a mapping like any other. :class:`Router` finds the source of a topic and
decodes batches; ``decode(m)`` is ``decode_all([m])``, and ``monitor explain`` runs the same
decoder.

Why so. There used to be several readers of times and of numbers, and how many messages came
together decided which of them read a message: a reference with seven digits of a second, delivered
three times, became three references. Now there is one parser of times (:mod:`.time`), one of
numbers (:func:`.paths.to_number`), one of JSON (:mod:`.formats.mapped_json`) and one table of
limits (:mod:`.checks`). The fast code is in :mod:`.accelerators`: it takes messages that it
provably reads as the decoder does and hands back all others.

Invariants.
* A message means the same alone and among others, first or thousandth on its topic, bit for bit.
* A refusal has a reason of the closed list, a sentence and a place; the decoder names all three. No
  code parses a sentence, ours or a library's.
* An object that has a member twice is refused, because nobody can say which of the two is meant.
* A quantity is kept in one unit (:mod:`.units`).
* A decoder's own fault costs one message (``unexpected``), never the daemon.

Tried and rejected. Typed structs as the decoder of native payloads: they take the last of two equal
members, and their refusals name places only in sentences. A byte template for payloads that differ
in digits alone, in 200 lines: no gain at 500 messages a read, 7 % of a message's whole time at
2000, a quarter at 12 000. A limit on depth by Python's stack: it depended on the caller.

What breaks first. An accelerator that learns to read one more form: extend
``tests/fuzz/differential.py`` with that form first. State that decoders keep from message to
message (births, units): accelerators run before decoders do, so they must not depend on what a
message of the same batch may teach.
"""

from __future__ import annotations

from monitor.decode.checks import REASONS, Rejected
from monitor.decode.records import Found
from monitor.decode.route import Route
from monitor.decode.router import DECODERS, Decoded, Router
from monitor.decode.units import Units

__all__ = [
    "DECODERS",
    "REASONS",
    "Decoded",
    "Found",
    "Rejected",
    "Route",
    "Router",
    "Units",
]
