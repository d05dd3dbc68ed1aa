"""From what a broker carries to settings that read it: ``monitor discover``.

What it does. Messages in, a proposal out: a settings file whose guesses are explained in comments,
what it made of the messages that were heard, and what is missing. A pure function of messages and a
clock; listening is the command's.

Why so. Nobody writes a settings file for ten kinds of devices by heart. Payloads tell most of it:
topics of one shape are one source (:mod:`.families`), a field's name, its neighbours and its values
say what it is (:mod:`.payload_fields`, :mod:`.times`, by :mod:`.vocabulary`), announcements
such as Home Assistant's discovery and Sparkplug's births say the rest (:mod:`.births`,
:mod:`.sparkplug_metrics`). Names and keys that references and readings share tie them together
(:mod:`.linking`, :mod:`.joining`). The proposal is run on what was heard with the daemon's own
decoders and pairing (:mod:`.trial`), so that what it promises is what the daemon does.

What must hold.
* Every proposal can be loaded; ``check-config`` finds no mistake in it.
* The same messages give the same proposal, in whatever order topics came.
* What was assumed is marked as ASSUMED, beside what would replace it.

What was tried and rejected. A table of devices alone: each new project would be unknown, while its
payload says what it measures. Reading every number there is: a fleet of battery levels and uptimes,
none of which a reference is about.

What breaks first. A project changes its topics: the layouts of :mod:`.families` name them.
"""

from __future__ import annotations

from monitor.discover.heard import Heard
from monitor.discover.proposal import Proposal, propose
from monitor.discover.settings_text import Broker

__all__ = ["Broker", "Heard", "Proposal", "propose"]
