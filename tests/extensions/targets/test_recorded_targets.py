"""What a file's series come to, in a report on a daemon's pairs too."""

from __future__ import annotations

from pathlib import Path

from extensions.targets.air_pairs import file_of, hourly

from monitor.config import parse
from monitor.config.core_plan import rules_of
from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.targets.recorded_targets import report_sentences
from monitor.report.recorded import read


def test_the_settings_of_a_daemon_bring_them_to_its_report(tmp_path):
    settings = parse(b"scoring: {targets: eu, limit_value: 100}", "settings.yaml")
    recorded = read(Path(file_of(tmp_path, hourly(gain=1.3))), SeriesRules())
    rules = rules_of(settings, "n1", "no2")._replace(unit="ug/m3")

    (sentence,) = report_sentences(recorded._replace(rules=(rules,)))[0]

    assert sentence.startswith("By the rules eu: ")
    assert "at the limit value of 100 ug/m3: class 2" in sentence
    assert report_sentences(recorded) == {}
