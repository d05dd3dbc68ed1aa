"""How the interpreter looks after memory in a daemon: what is there at the start is there to stay.

Rules of this file: the collector of cycles is told once, before the work begins; nothing is
switched off, since pages and connections make cycles.
"""

from __future__ import annotations

import gc
from typing import Final

# New containers before a round of the youngest: batches make many, and hardly any cycle.
_YOUNGEST: Final = 50_000
_ROUNDS: Final = 20


def settle() -> None:
    """Leave modules, settings and what was recovered out of the collector's rounds from now on."""
    gc.unfreeze()  # what is left of a former life may be in cycles
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNGEST, _ROUNDS, _ROUNDS)
