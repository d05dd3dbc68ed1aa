"""One word for one thing: pages, help, rules and the manual use the terms of the tables.

``OTHER_WORDS`` has an entry for each fault and for each figure with a name of its own: what people
elsewhere call it, and nobody here does. The pages of commands, metrics and settings are generated
from the texts of the program, so the manual stands for these.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from monitor.core.scores.statistics import STATISTICS
from monitor.core.verdict import FAULTS

ROOT = Path(__file__).parent.parent
OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "offset": ("zero error", "constant error", "systematic shift", "zero shift"),
    "drift": ("creep", "creeps", "ageing error"),
    "understated": (
        *("overconfident", "over-confident", "over-certain", "optimistic"),
        *("underestimates its uncertainty", "underestimated uncertainty"),
    ),
    "overstated": (
        *("underconfident", "under-confident", "overcautious", "pessimistic", "conservative"),
        *("overestimates its uncertainty", "overestimated uncertainty"),
    ),
    "outliers": ("gross error", "gross errors", "blunder", "blunders", "spikes", "glitch"),
    "gain": ("scale error", "slope error", "span error", "multiplicative error"),
    "stuck": ("frozen", "flatline", "flat-line", "hung sensor"),
    "lag": ("sluggish", "time lag", "latency of the sensor"),
    "sign": ("inverted sensor", "reversed sign", "sign error"),
    "unrelated": ("uncorrelated with its references", "mispaired"),
    "clipped": ("saturated", "saturates", "saturation"),
    "spells": ("intermittent", "intermittently"),
    "daily": ("diurnal", "circadian"),
    "step": ("discontinuity", "step change"),
    "sensitivity": ("span drift", "gain drift"),
    "coverage": ("hit rate", "PICP", "coverage rate"),
    "zms": ("reduced chi", "Birge ratio", "chi-squared per pair"),
    "crps": ("ranked probability skill", "continuous rank score"),
    "information": ("sharpness gain", "skill score"),
}
FIGURES = ("coverage", "zms", "crps", "information")


def texts() -> dict[str, str]:
    """Return the texts that users read, by their paths; the glossary may have other names."""
    patterns = (
        *("README.md", "docs/*.md", "monitor/http/templates/*", "deploy/prometheus/alerts.yml"),
        *("deploy/alertmanager/*", "deploy/grafana/dashboards/*.json", "configs/*.yaml"),
    )
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    told = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}
    told["docs/concepts.md"] = re.sub(r"^\| .*$", "", told["docs/concepts.md"], flags=re.MULTILINE)
    of_faults = (
        " ".join((each.noun, each.means, each.many, each.look, each.description, *each.summaries))
        for each in FAULTS.values()
    )
    return told | {"FAULTS": "\n".join(of_faults)}


def test_each_fault_has_its_other_words_here_and_each_figure_is_a_statistic():
    assert set(OTHER_WORDS) - set(FIGURES) == set(FAULTS)
    assert set(FIGURES) - {"information"} <= set(STATISTICS)
    assert STATISTICS["auucc_partial_gain"].help


@pytest.mark.parametrize("term", OTHER_WORDS)
def test_nothing_goes_by_another_name(term):
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, OTHER_WORDS[term]))})\b", re.IGNORECASE)
    found = [
        f"{path}:{text.count(chr(10), 0, each.start()) + 1}: {each[0]}"
        for path, text in texts().items()
        for each in pattern.finditer(text)
    ]
    assert not found, f"call it {term!r}"
