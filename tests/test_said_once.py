"""What is listed is listed once: an entry added to a table is found wherever the table is shown.

Each test adds an entry in a process of its own, before anything else is imported, as a commit
would.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.core.detector.e_values import FAMILIES
from monitor.core.snapshot.snapshot import STATE_MEANINGS, STATE_NAMES
from monitor.core.verdict import FAULTS, Estimate, Verdict
from monitor.core.verdict.words import NOW, PAST
from monitor.decode import DECODERS
from monitor.http import selection

PROJECT = Path(__file__).parents[1]


def told_by(script: str, *arguments: str) -> dict:
    """Return what a script prints as JSON in a fresh process at the project's root."""
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ANOTHER_FAULT = """
import json, sys
from dataclasses import replace
from monitor.core.verdict import FAULTS, Estimate, Verdict, estimate_unit

FAULTS["ringing"] = replace(
    FAULTS["stuck"],
    means="it swings about the measurand",
    words=lambda found, unit, _verbs: f"rings by {found.size.value:g} {unit}",
    estimate_means="how far it swings",
    rule="SensorRinging",
    summaries=("rings by {estimate:%.3g} {unit}",),
    description="It swings about the measurand.",
)

import numpy as np
from monitor.config import SettingsError, parse
from monitor.core.detector.lifecycle import FIRING
from monitor.core.snapshot.snapshot import active
from monitor.http.application import application
from monitor.http.metrics_docs import metrics_page
from monitor.http.published import Published
from monitor.core.verdict import Pairs
from monitor.core.verdict.sentences import sentence

sys.path.insert(0, "deploy/prometheus")
import fault_rules

try:
    parse(b"thresholds: [{name: ringing, statistic: calibration_bias, above: 1.0}]", "x.yaml")
    refused = ""
except SettingsError as error:
    refused = str(error)
found = Verdict("fault", "ringing", Estimate(3.0, 2.0, 4.0))
pairs = Pairs(*np.ones((5, 10)))
print(json.dumps({
    "sentence": sentence(found, 10, "kg"),
    "unit": estimate_unit("ringing", "kg"),
    "active": active(np.array([FIRING]), np.array([len(FAULTS) - 1]))["ringing"].tolist(),
    "refused": refused,
    "docs": metrics_page(),
    "rules": fault_rules.alerts(fault_rules.ALERTS.read_text()),
    "api": json.dumps(application(Published(), 64).openapi()),
    "quiet": fault_rules.inhibitions(fault_rules.ALERTMANAGER.read_text()),
}))
"""


def test_a_fault_that_is_added_to_the_table_is_found_everywhere():
    told = told_by(ANOTHER_FAULT)

    assert told["sentence"] == "rings by 3 kg"
    assert told["unit"] == "kg"
    assert told["active"] == [True]
    assert "there is already an alert of this name" in told["refused"]
    assert "| `ringing` | it swings about the measurand |" in told["docs"]
    assert "| `ringing` | unit | how far it swings |" in told["docs"]
    assert f"{', '.join(FAULTS)}, ringing," in told["api"]
    assert "      - alert: SensorRinging\n" in told["rules"]
    assert '(monitor_fault_estimate" $fault | query }}rings by ' in told["rules"]
    assert "/docs/alerts#sensorringing'\n" in told["rules"]
    assert re.search(r'alert!~"[^"]*\|ringing\|', told["rules"])
    assert re.search(r'alertname =~ "[^"]*\|SensorRinging"', told["quiet"])


def test_the_faults_begin_with_what_the_detector_bets_on():
    assert tuple(FAULTS)[: len(FAMILIES)] == FAMILIES


def test_the_glossary_and_the_runbook_name_every_fault():
    glossary = (PROJECT / "docs" / "concepts.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| fault \| (.*?); ", glossary, re.MULTILINE)
    runbook = (PROJECT / "docs" / "alerts.md").read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)$", runbook, re.MULTILINE)

    assert re.findall(r"`(\w+)`", row) == list(FAULTS)
    assert [name for name in sections if name in {each.rule for each in FAULTS.values()}] == [
        each.rule for each in FAULTS.values()
    ]


# -- the words of a fault on the pages ------------------------------------------------------------

WRONG = Verdict(
    "fault", size=Estimate(3.0, 2.0, 4.0), level=Estimate(3.0, 2.0, 4.0),
    slope_per_day=Estimate(3.0, 2.0, 4.0), scale=Estimate(3.0, 2.0, 4.0),
    gain=Estimate(3.0, 2.0, 4.0), pivot=5.0, pairs=14,
)  # fmt: skip
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
WAYS = "(?:heavy|light|high|low)"
LIKE_AN_OFFSET = rf"[\w-]+ [\d.]+(?: [^\s,]+)?(?: \w+)? {WAYS} \([\d.]+ to [\d.]+\)"


@pytest.mark.parametrize("label", FAULTS)
def test_the_table_of_sentences_has_every_fault_in_its_words(label):
    """The words before the first number, or before a colon."""
    said = FAULTS[label].words(replaced(label), "kg", NOW)
    begins = re.split(r" \+?\d|:", said)[0]
    page = (PROJECT / "docs" / "verdicts.md").read_text(encoding="utf-8")

    assert f"\n| {begins}" in page


def replaced(label: str) -> Verdict:
    """Return a verdict of that fault; an uncertainty is overstated where the scale is below 1."""
    return WRONG._replace(fault=label) if label != "overstated" else WRONG._replace(
        fault=label, scale=Estimate(0.3, 0.2, 0.4)
    )  # fmt: skip


def test_every_page_tells_an_offset_as_the_product_does():
    found = WRONG._replace(fault="offset")
    told = [re.escape(FAULTS["offset"].words(found, "kg", verbs)) for verbs in (NOW, PAST)]
    forms = "|".join(
        re.sub(r"\d+(\\\.\d+)?", r"[\\d.]+", each)
        .replace(r"\ kg", r"(?: [^\s,]+)?")
        .replace("heavy", WAYS)
        for each in told
    )
    shown = [
        (page.name, each)
        for page in PAGES
        for each in re.findall(LIKE_AN_OFFSET, page.read_text(encoding="utf-8"))
    ]

    assert [each for each in shown if not re.fullmatch(forms, each[1])] == []
    assert len(shown) > 20


ANOTHER_STATISTIC = """
import json, sys
from monitor.core.scores import statistics
from monitor.core.scores.entries import Live, Statistic


def largest_error(c):
    return np.maximum.reduceat(np.abs(c.error), c.starts)


statistics.STATISTICS["largest_error"] = Statistic(
    largest_error, "quantity", "Largest error.", "nobody", "low",
    Live("calibration_largest_error", "Largest error, in the unit of the quantity."),
    threshold=True,
)

import io, tempfile
from contextlib import redirect_stdout
from pathlib import Path
import numpy as np
from monitor.cli import main
from monitor.config import parse
from monitor.core.model import Reading, Reference
from monitor.http import documents
from monitor.http.metrics import Exposition
from monitor.http.metrics_docs import metrics_page
from monitor.journal.in_memory import InMemoryStore
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network

rules = SeriesRules(pairing=Rules("nearest", 1.0))
network = Network(CoreSettings(lambda sensor, quantity: rules), InMemoryStore())
seen = []
for at, error in enumerate([1.0, -3.0, 2.0]):
    seen.append(Reading("a", "x", 10.0 * at, 5.0 + error, u=1.0))
    seen.append(Reference("a", "x", 10.0 * at, 5.0, u=0.1))
network.apply(network.observe(seen, 100.0).pairs)
now = network.evaluate(100.0)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "pairs.csv"
    rows = [f"2026-01-0{day}T00:00:00Z,a,x,kg,{100 + day},1.0,100" for day in (1, 2, 3)]
    head = "time,sensor,quantity,unit,value,sigma,reference"
    file.write_text("\\n".join([head, *rows]) + "\\n")
    with redirect_stdout(io.StringIO()) as printed:
        main(["score", str(file), "--json"])
scored = json.loads(printed.getvalue())
limit = b"{name: far, statistic: calibration_largest_error, above: 1.0}"
(threshold,) = parse(b"thresholds: [" + limit + b"]", "x.yaml").thresholds
print(json.dumps({
    "page": Exposition().render(now).decode(),
    "docs": metrics_page(),
    "api": documents.entry(now, 0)["statistics"]["calibration_largest_error"],
    "json": scored["series"][0]["statistics"]["largest_error"],
    "threshold": threshold.statistic,
}))
"""


def test_a_live_statistic_that_is_added_to_the_table_is_found_everywhere():
    told = told_by(ANOTHER_STATISTIC)

    metric = "monitor_calibration_largest_error"
    assert f'{metric}{{sensor="a",quantity="x"}} 3.0\n' in told["page"]
    assert f"# HELP {metric} Largest error, in the unit of the quantity.\n" in told["page"]
    row = f"| `{metric}` | unit | low | yes | Largest error, in the unit of the quantity. |"
    assert row in told["docs"].splitlines()
    assert told["api"] == 3.0
    assert told["json"] == 3.0
    assert told["threshold"] == "calibration_largest_error"


# What a file monitor/decode/formats/words.py would hold, and its entry in DECODERS.
ANOTHER_FORMAT = """
import sys
from monitor.core.setting import Contradiction
from monitor.decode import router
from monitor.decode.checks import Rejected
from monitor.decode.route import Decoder


def parse(call):
    for line in call.payload.decode().splitlines():
        words = line.split()
        if len(words) % 2:
            yield Rejected("bad_payload", f"{words[-1]!r} has no value")
        else:
            yield dict(zip(words[::2], words[1::2]))


def contradictions(spec, names):
    if "race" not in names:
        yield Contradiction(("topic",), "must name the {race} for words")


router.DECODERS["words"] = Decoder(
    parse, many=True, help="names and values by turns", contradictions=contradictions,
    number_texts=True,
)

import io, json
from contextlib import redirect_stdout
from pathlib import Path
from monitor import config
from monitor.cli import main
from monitor.extensions.cluster.placing import Placing
from monitor.config.settings_docs import schema_json, settings_page
from monitor.daemon.assembly import assemble
from monitor.explain import Message

NOW = 1_780_000_000.0
MAP = "{time: at, series: [{value: kg, u: u}]}"
TRUTH = "{topic: 'true/{subject}', kind: reference}"
folder = Path(sys.argv[1])
file = str(folder / "s.yaml")


def mistakes(source):
    try:
        config.parse(f"sources: [{TRUTH}, {{kind: reading, {source}}}]".encode(), "f")
    except config.SettingsError as error:
        return error.lines()
    return []


def printed(*arguments):
    with redirect_stdout(io.StringIO()) as out:
        main(arguments)
    return out.getvalue()


source = f"{{topic: 'scale/{{race}}/{{sensor}}', kind: reading, decoder: words, map: {MAP}}}"
Path(file).write_text(
    f"journal: {{path: {folder}/journal.sqlite}}\\nsources: [{source}, {TRUTH}]"
)
settings = config.load(file)
placing = Placing(settings)
line = "at 2026-02-28T10:00:00Z kg 5.5 u 0.5"
topic, payload = "scale/north/s", f"{line}\\n{line} odd".encode()
truth = b'{"time": "2026-02-28T10:00:00Z", "value": 5.0, "u": 0.1}'
parts = assemble(settings, NOW)
batch = parts.intake.prepare([Message(topic, payload), Message("true/s", truth)], NOW)
parts.intake.commit(batch)
parts.journal.close()
raw = folder / "messages.jsonl"
raw.write_text(json.dumps({"topic": topic, "payload": line.replace("28T", "27T"), "time": NOW}))
print(json.dumps({
    "mistakes": [
        *mistakes("topic: 'a/{sensor}', decoder: word"),
        *mistakes("topic: 'a/{sensor}', decoder: words"),
        *mistakes("topic: 'a/{sensor}', decoder: words, map: " + MAP),
    ],
    "checked": printed("check-config", file),
    "schema": json.loads(schema_json())["$defs"]["Source"]["properties"]["decoder"]["enum"],
    "page": settings_page(),
    "explained": printed("explain", "--config", file, "--now", "2026-03-01T00:00Z", topic, line),
    "pairs": [[pair["value"].item(), pair["reference"].item()] for pair in batch.pairs],
    "refused": [[each.reason, each.detail] for each in batch.dead_letters],
    "replayed": printed("replay", str(raw), "--config", file, "--direct"),
    "placed": len(placing.places(
        [topic], placing.router.decode_all([topic], [line.encode()], NOW)
    )[0]),
}))
"""


def test_a_format_that_is_added_to_the_table_is_found_everywhere(tmp_path):
    told = told_by(ANOTHER_FORMAT, str(tmp_path))

    unknown, without_map, without_name = (each.partition(": ")[2] for each in told["mistakes"])
    last = [*DECODERS][-1]
    assert unknown.endswith(f", {last} or words; did you mean words?")
    assert without_map == "sources[1].decoder: words needs a mapping; give map too"
    assert without_name == "sources[1].topic: must name the {race} for words"
    assert "no mistakes" in told["checked"]
    assert told["schema"][-1] == "words"
    assert f'`"{last}"`, `"words"` |' in told["page"]
    assert "; words: names and values by turns. |" in told["page"]
    assert "a reading, decoder words" in told["explained"]
    assert "verdict      would be used: 1 reading" in told["explained"]
    assert told["pairs"] == [[5.5, 5.0]]
    assert told["refused"] == [["bad_payload", "'odd' has no value"]]
    assert told["replayed"].startswith("3 messages in the journal ")  # two came before
    assert told["placed"] == 1


def test_the_page_sorts_by_every_state_there_is():
    assert {*selection.STATES} == {*STATE_MEANINGS} == {*STATE_NAMES}
