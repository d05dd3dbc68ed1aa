"""The doctor's input from a daemon; imported when somebody asks for its report."""

from __future__ import annotations

from monitor.daemon.assembly import Parts, notices_of
from monitor.explain.doctor import LETTERS_EXAMINED, Examined


def examined(parts: Parts, now: float) -> Examined:
    """Return what the doctor examines at ``now``, s since 1970 UTC."""
    intake = parts.intake
    return Examined(
        parts.settings,
        parts.network,
        intake.counts,
        intake.delays.medians(),
        parts.journal.dead_letters(LETTERS_EXAMINED),
        tuple(notices_of(parts, now)),
        intake.shared_topics(),
    )
