"""From the messages on a broker to settings that read them: ``monitor discover``.

What it does. Messages in, a proposal out: a settings file whose guesses are explained in comments,
what these settings make of the messages, and what is missing. It is a pure function of messages and
a clock; the command does the listening.

Why so. Nobody writes a settings file for ten kinds of devices from memory. Payloads reveal most of
it: topics of one shape are one source (:mod:`.families`), or one for each quantity that they name
(:mod:`.source_guesses`); a field's name, its neighbours and its values show what it is
(:mod:`.payload_fields`, :mod:`.times`, by :mod:`.vocabulary`), announcements such as Home
Assistant's discovery, Sparkplug's births, the names in SenML and the lines of displays give the
rest (:mod:`.births`, :mod:`.sparkplug_metrics`, :mod:`.senml_packs`, :mod:`.display_lines`). Names
and keys that references and readings share link them (:mod:`.joining`). The proposal is run on the
received messages with the daemon's own decoders and pairing (:mod:`.trial`), so that what it
promises is what the daemon does.

Invariants.
* Every proposal can be loaded; ``check-config`` finds no mistake in it. Entries that the check
  would refuse are left out, and a sentence says which (:mod:`.draft`).
* Work grows with the messages, not with their square; each kind of devices is one sentence.
* The same messages give the same proposal, whatever the order of the topics.
* Every assumption is marked as ASSUMED, beside what would replace it.

Tried and rejected. A table of devices alone: it would not know any new project, although the
payload says what it measures. Reading every number: a fleet of battery levels and uptimes, none of
which has a reference.

What breaks first. A project that changes its topics: the layouts of :mod:`.families` name them.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="discover",
    summary="settings proposed from what a broker carries",
    page="discover.md",
    commands={
        "discover": Command(
            "listen to a broker and propose settings that read what it carries",
            "monitor.extensions.discover.command",
            "first minutes",
        ),
    },
)
