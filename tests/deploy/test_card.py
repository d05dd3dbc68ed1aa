"""The rules of the score card on simulated streams: what /metrics says of them, given to promtool.

Each stream is scored by the network itself; its page is read back, and held for three hours.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from harness.programs import need
from scipy import stats

from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.http.metrics import Exposition
from monitor.journal.in_memory import InMemoryStore
from tests.deploy.installation import DEPLOY, run

PAIRS = 500
U = 5.0
HOUR = 3600.0
Float = np.ndarray
AT = np.arange(PAIRS)
# Errors of a stream in units of its stated uncertainty, from normal noise.
STREAMS: dict[str, Callable[[Float], Float]] = {
    "honest": lambda noise: noise,
    "drifts": lambda noise: noise - 0.02 * np.maximum(AT - (PAIRS - 120), 0),
    "offset": lambda noise: noise + 1.5,
    "offset-low": lambda noise: noise - 1.5,
    "understated": lambda noise: 2.0 * noise,
    "overstated": lambda noise: 0.5 * noise,
    "heavy": lambda noise: stats.t.ppf(stats.norm.cdf(noise), 4) / np.sqrt(2.0),
    "one-blunder": lambda noise: np.where(AT == PAIRS // 2, 30.0, noise),
    "faint": lambda noise: noise + 0.2,
}
FIRES = {
    "MonitorHighCrps": {"offset", "offset-low"},
    "MonitorHighBrier": {"understated"},
    "MonitorDrift": {"drifts"},
}


@pytest.fixture(scope="module")
def page() -> str:
    """Return /metrics of all streams, written by a network that took them in."""
    rules = SeriesRules(unit="kg", pairing=Rules("nearest", 0.4))
    network = Network(CoreSettings(lambda _s, _q: rules, limits=Limits(20, 1000)), InMemoryStore())
    chance = np.random.default_rng(7)
    for sensor, error in STREAMS.items():
        truth = chance.normal(500.0, 50.0, PAIRS)
        value = truth + U * error(chance.standard_normal(PAIRS))
        both = [
            each
            for time in range(PAIRS)
            for each in (
                Reading(sensor, "mass", HOUR * time, float(value[time]), u=U),
                Reference(sensor, "mass", HOUR * time + 0.1, float(truth[time])),
            )
        ]
        network.apply(network.observe(both, HOUR * PAIRS).pairs)
    return Exposition().render(network.evaluate(HOUR * PAIRS)).decode()


def held(page: str) -> list[dict[str, str]]:
    """Return every sample of a page as a series of promtool that stays what it is."""
    samples = re.findall(r"^(\w+)\{(.*)\} (\S+)$", page, re.MULTILINE)
    return [
        {"series": f'{name}{{job="monitor",instance="m",{labels}}}', "values": f"{value}x180"}
        for name, labels, value in samples
    ]


def told(tmp_path: Path, given: list[dict[str, str]], *asked: dict) -> str:
    """Return what promtool says of the shipped rules, given series and expectations."""
    test = {
        "rule_files": ["alerts.yml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "promql_expr_test": [*asked]}],
    }
    shutil.copy(DEPLOY / "prometheus" / "alerts.yml", tmp_path)
    (tmp_path / "card.yml").write_text(yaml.safe_dump(test), encoding="utf-8")
    done = run(need("promtool"), "test", "rules", "card.yml", cwd=tmp_path)
    return done.stdout + done.stderr


def test_each_rule_of_the_card_fires_on_its_streams_and_on_no_other(page, tmp_path):
    expected = [
        {"labels": f'{{alertname="{rule}", sensor="{sensor}", severity="warning"}}', "value": 1}
        for rule, sensors in FIRES.items()
        for sensor in sensors
    ]
    firing = 'ALERTS{{alertname=~"{}", alertstate="firing"}}'
    found = told(
        tmp_path,
        held(page),
        {
            "expr": f"count by (alertname, sensor, severity) ({firing.format('|'.join(FIRES))})",
            "eval_time": "2h",
            "exp_samples": expected,
        },
        {"expr": firing.format("MonitorHigh.*"), "eval_time": "50m", "exp_samples": []},
    )

    assert "SUCCESS" in found, found
