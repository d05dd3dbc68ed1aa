"""What a pairing rule is: its behaviour, its needs and its words, in one object.

Rules of this file: nothing here knows a rule by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from monitor.core.model import Reading, Reference
from monitor.core.pairing import affected
from monitor.core.pairing.buffers import Join, NearestReading, ReadingBuffer, ReferenceBuffer
from monitor.core.pairing.pair_rows import Row
from monitor.core.pairing.probes import Probe
from monitor.core.pairing.series_rules import Rules

Duration = Callable[[float], str]  # seconds -> text such as "3.5 h"
# (reading, reference, rules, how to write a duration) -> why the two are not a pair, "" for the
# reason that holds for every rule: too far apart, or another one is nearer
WhyUnpaired = Callable[[Reading, Reference, Rules, Duration], str]


def _no_reason(reading: Reading, reference: Reference, rules: Rules, duration: Duration) -> str:
    del reading, reference, rules, duration
    return ""


@dataclass(frozen=True, slots=True)
class PairingRule:
    """One rule: how it pairs, what it needs, and its words.

    ``pairs`` are those of one reference in one reading buffer. ``affected_by_reading`` and
    ``affected_by_reference`` return the references that an arrival may change, and
    ``last_is_affected`` whether a reference later than all others may change the last of them.
    ``pair_newest``, where there is one, is an accelerator: it returns what ``pairs`` would for a
    plain reference later than all others, None to leave it to ``pairs``.
    ``is_local``: a reading affects no reference that lies before the reading before it.
    ``is_of_several``: a pair is made of several readings, so that retention cannot tell from the
    pair alone which ones it needs.

    ``is_candidate``: chosen by ``pairing.candidates``, else by ``pairing.mode``. ``help`` is its
    line in the settings' documentation, ``sentence`` how ``monitor explain`` puts it, with
    ``{tolerance}``, ``{reading}`` and ``{completeness}``. ``needs`` names settings of a series
    (of :class:`.Rules`) that must not be 0, each with the reason.
    ``why_unpaired`` says why two observations are not a pair. ``unmet_cause`` and ``unmet`` say why
    a whole quantity has no pairs although times are within tolerance, or whatever the times are
    where the rule has none (``uses_tolerance``).
    """

    name: str
    help: str
    sentence: str
    pairs: Callable[[Probe], list[Row]]
    affected_by_reading: Callable[[ReadingBuffer, ReferenceBuffer, int, Rules], Iterable[int]]
    affected_by_reference: Callable[[ReadingBuffer, ReferenceBuffer, int], Iterable[int]]
    last_is_affected: Callable[[ReadingBuffer, ReferenceBuffer, float], bool] = affected.always
    pair_newest: (
        Callable[[ReadingBuffer, Join, int, float, Rules, NearestReading | None], list[Row] | None]
        | None
    ) = None
    is_local: bool = False
    is_of_several: bool = False
    is_candidate: bool = False
    uses_tolerance: bool = True
    needs: tuple[tuple[str, str], ...] = ()
    why_unpaired: WhyUnpaired = _no_reason
    unmet_cause: str = "tolerance"
    unmet: str = ""
