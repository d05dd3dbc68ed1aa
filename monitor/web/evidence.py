"""Would the advice have helped? Each remedy chosen on some pairs and judged on those after them.

Rules of this file: sentences on what ``core.prequential`` finds; nothing is ever applied.
"""

from __future__ import annotations

from typing import Final

from monitor.core.details import Detail
from monitor.core.prequential import Trial, prequential
from monitor.web.lines import percent, rounded, sized

PAIRS: Final = 50
TRIED: Final = {
    "offset": "subtracting the mean error",
    "scale": "multiplying u by one factor",
    "both": "both",
}


def evidence(detail: Detail) -> list[str]:
    """Return what each remedy would have done, nothing below a hundred pairs."""
    if detail.pairs is None:
        return []
    trials = (prequential(detail.pairs, method, PAIRS, detail.density) for method in TRIED)
    return [_said(trial, detail.name.unit) for trial in trials if trial is not None]


def _said(trial: Trial, unit: str) -> str:
    before, after = (sized(each, unit) for each in (trial.crps.before, trial.crps.after))
    zms = " to ".join(rounded(each) for each in trial.zms)
    held = " to ".join(percent(each) for each in trial.coverage)
    judged = f"over {trial.pairs} pairs"
    return f"{TRIED[trial.method]}: CRPS {before} to {after}, ZMS {zms}, coverage {held}, {judged}"
