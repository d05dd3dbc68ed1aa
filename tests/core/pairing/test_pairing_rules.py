"""A pairing rule is added in one place, and found wherever rules are used or described."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from monitor.config import Settings
from monitor.core.pairing.pairing_rules import PAIRING_RULES

PROJECT = Path(__file__).resolve().parents[3]

# The new rule pairs each reference with the last reading held, however old.
ADDED = """
from dataclasses import replace

from monitor.core.pairing import pairing_rules
from monitor.core.pairing.pairing_rule import pair_with

pairing_rules.PAIRING_RULES["latest"] = replace(
    pairing_rules.PAIRING_RULES["asof"],
    name="latest",
    help="the last reading of all",
    sentence="each reference with the last reading of all",
    pairs=lambda probe: pair_with(probe, -1) if probe.readings.times else [],
    affected_by_reading=lambda _readings, references, _at: range(len(references.times)),
    is_local=False,
    needs=(("reading_seconds", "is needed for latest"),),
    why_unpaired=lambda *_: "no reading is held at all",
    uses_tolerance=False,
    unmet_cause="side",
    unmet="mode latest needs a reading",
)
"""

USED = """
import json
from monitor.config import SettingsError, parse
from monitor.config.core_plan import rules_of
from monitor.config.settings_docs import schema_json, settings_page
from monitor.core.model import Reading, Reference
from monitor.core.pairing.engine import Pairing
from monitor.journal.in_memory import InMemoryStore
from monitor.explain.doctor import _CAUSES
from monitor.explain.pair_wording import JoinConditions, miss, rules_sentence
from monitor.core.pairing.unpaired import examine

try:
    parse(b"pairing: {mode: latest}", "f")
    raise SystemExit("reading_seconds is not asked for")
except SettingsError as error:
    assert "is needed for latest" in str(error), error
settings = parse(b"pairing: {mode: latest, reading_seconds: 1}", "f")
rules = rules_of(settings, "a", "x")
assert rules.pairing.mode == "latest"
assert "latest: the last reading of all" in settings_page()
assert "latest" in json.loads(schema_json())["$defs"]["Pairing"]["properties"]["mode"]["enum"]

pairing = Pairing(lambda *_: rules.pairing, frozenset(("subject",)), InMemoryStore())
far = Reference("a", "x", 1e6, 4.0)
readings = pairing.open_buffer(Reading("a", "x", 1.0, 5.0, u=1.0), 0)
for time in (1.0, 2.0):
    pairing.ingest_reading(readings, Reading("a", "x", time, 5.0, u=1.0), 0.0)
pairing.add_reference(far, 0.0)
assert pairing.drain_changes()["time"].tolist() == [2.0]

assert "the last reading of all" in rules_sentence(rules, ["subject"])
conditions = JoinConditions((), (), rules.pairing)
assert miss(Reading("a", "x", 1.0, 5.0), far, conditions).why == "no reading is held at all"
(found,) = examine(pairing)
assert found.cause == "paired"
assert _CAUSES["side"](found._replace(mode="latest")) == "mode latest needs a reading"
"""


def test_a_rule_added_in_one_place_is_found_everywhere():
    done = subprocess.run(
        [sys.executable, "-c", ADDED + USED],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


@pytest.mark.parametrize("rule", PAIRING_RULES.values(), ids=lambda rule: rule.name)
def test_every_rule_can_be_set_and_is_described(rule):
    setting = "candidates" if rule.is_candidate else "mode"
    needed = {name: 60.0 for name, _ in rule.needs}

    pairing = Settings.model_validate({"pairing": {setting: rule.name, **needed}}).pairing

    assert getattr(pairing, setting) == rule.name
    page = (PROJECT / "docs" / "settings.md").read_text()
    assert f"{rule.name}: {rule.help}" in page
    assert rule.is_candidate or f"`{rule.name}`" in (PROJECT / "docs" / "pairing.md").read_text()
