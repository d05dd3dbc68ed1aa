"""The words on a certificate."""

from __future__ import annotations

import json

from harness.dcc_examples import certificate

from monitor.cli import main
from monitor.errors import BAD_INPUT


def test_an_expired_one_and_one_that_states_no_end_say_what_to_do(told):
    code, _, err = told(certificate(until="<dcc:date>2020-01-31</dcc:date>"))
    assert (code, "scale.xml: was valid until 2020-01-31, as the certificate says" in err) == (
        65,
        True,
    )
    assert "have the reference calibrated" in err

    code, _, err = told(certificate(until=""))
    assert code == BAD_INPUT
    assert "no end of validity is stated: give --valid-for 12mo or --valid-until" in err

    code, out, err = told(certificate(until=""), "--valid-until", "9000-01-01")
    assert (code, err) == (0, "")
    assert "valid until 9000-01-01, as you say" in out


def test_the_sentences_say_what_it_gives(told):
    _, out, _ = told(certificate(), "--valid-until", "9000-01-01")

    assert "certificate EX-2026-0815 by Example Lab (DCC 3.3.0)" in out
    assert "Indication [basic_measuredValue]: 20.0005 kg, u = 0.0005 kg" in out
    assert " (U = 0.001 kg, k = 2, p = 0.95)" in out
    assert "Air" not in out


def test_settings_lines_are_settings(told, tmp_path):
    code, out, err = told(certificate(), "--valid-until", "9000-01-01", "--settings", "--unit", "g")
    assert (code, err) == (0, "")
    source, scoring = (line for line in out.splitlines() if not line.startswith("#"))
    settings = tmp_path / "monitor.yaml"
    settings.write_text(
        "sources:\n"
        "  - {topic: 'monitor/{sensor}/{quantity}/reading', kind: reading}\n"
        "  - topic: ref/{subject}/{quantity}\n    kind: reference\n    decoder: json\n"
        f"    {source}\n{scoring}\n",
        encoding="utf-8",
    )
    assert 'u: 0.5, unit: "g"' in source
    assert main(["check-config", str(settings)]) == 0


def test_json_has_everything(told):
    _, out, _ = told(certificate(), "--valid-until", "9000-01-01", "--json")

    found = json.loads(out)
    assert found["values"][0]["u"] == 0.0005
    assert (found["valid_until"], found["valid_until_said_by"]) == ("9000-01-01", "you")
