"""As-found / as-left records: their figures, their files, their signatures, and made again."""

from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from harness.dcc_examples import certificate, quantity, real
from scipy.signal import lfilter

from monitor.cli import main
from monitor.core.model import PAIR
from monitor.core.pairing.series_rules import Systematic
from monitor.extensions.certificates.dcc import read_certificate
from monitor.extensions.certificates.found_and_left import Issuer, RecordScope
from monitor.extensions.certificates.found_and_left import record_of as found_and_left_of
from monitor.journal import Journal
from tests.extensions.certificates.conftest import START, journal_in

END = "<dcc:date>2026-02-01</dcc:date>"
WRITE = ("certificate", "write")
BY = ("--laboratory", "Example Farm <A&B>", "--person", "Ä. Person", "--country", "NZ")


def certify(journal: Path, out: Path, *more: str) -> int:
    return main(
        [*WRITE, "cart/ü <3>", "mass", "--journal", str(journal), "--out", str(out), *BY, *more]
    )


class Meta(HTMLParser):
    """The record that a page holds, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.record = {}
        self.fetched: list[str] = []

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if named.get("name") == "monitor-record":
            self.record = json.loads(named["content"])
        self.fetched += [named[key] for key in ("src", "href") if key in named]


def record_of(page: Path) -> dict:
    reader = Meta()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.record


# -- what it says ---------------------------------------------------------------------------------


def test_as_found_and_as_left_are_the_sensor_before_and_after_its_adjustment(
    journal, tmp_path, capsys
):
    assert certify(journal, tmp_path / "cart.html") == 0
    told = capsys.readouterr().out
    record = record_of(tmp_path / "cart.html")

    found, left = record["as_found"], record["as_left"]
    assert (found["pairs"], left["pairs"], record["pairs"]) == (100, 100, 200)
    assert abs(found["bias"] - 3.0) < found["bias_expanded"] < 1.0
    assert abs(left["bias"]) < left["bias_expanded"] < 0.5
    assert found["u_factor"]["lower"] < 2.0 < found["u_factor"]["upper"]
    assert left["u_factor"]["lower"] < 1.0 < left["u_factor"]["upper"]
    assert left["gain"]["lower"] < 1.0 < left["gain"]["upper"]
    assert found["verdict"]["fault"] in ("offset", "understated")
    assert left["verdict"]["state"] != "fault"
    assert record["events"] == [
        {"time": "2026-02-06T06:40:00Z", "event": "adjusted", "note": "zero set"}
    ]
    assert told == f"{record['sentence']}\n"
    assert told.startswith(f"As found: {found['verdict']['sentence']}; bias 3.")


def part_of(error: np.ndarray, *, code_at: slice = slice(0)) -> tuple[dict, str]:
    """Return what is found of a sensor of u = 1 kg with such errors, and the record's sentence."""
    asked = RecordScope(
        *("a", "mass", "kg", "\\kilogram", START, START + 1e9, 0.9, 1000.0),
        *(Systematic(), (), Issuer("L", "L", "")),
    )
    random = np.random.default_rng(3)
    pairs = np.zeros(error.size, dtype=PAIR)
    pairs["id"] = np.arange(error.size)
    pairs["time"] = START + 3600.0 * pairs["id"]
    pairs["reference"] = random.normal(500.0, 50.0, error.size)
    pairs["value"] = pairs["reference"] + error + random.normal(size=error.size)
    pairs["value"][code_at] = -999.0
    pairs["u"], pairs["u_ref"] = 1.0, 0.1
    pairs["reference_id"] = 1 + pairs["id"]
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    record = found_and_left_of(asked, pairs, [], START)
    return record["as_found"], record["sentence"]


def test_a_bias_over_a_changing_error_is_told_as_such_with_the_error_at_the_end():
    """6 kg heavy in the last 100 of 250 pairs: the mean, 2.4 kg, was the error at no time."""
    found, sentence = part_of(np.where(np.arange(250) < 150, 0.0, 6.0))

    assert "reads 6" in found["verdict"]["sentence"]
    assert found["bias"] == pytest.approx(2.4, abs=0.3)
    judged = found["verdict"]["pairs"]
    told = r"the mean over 250 pairs, in which the error may have changed: [56]\.\d+ kg \(.*\) over"
    assert re.fullmatch(f"{told} the newest {judged}", found["bias_note"])
    assert sentence.endswith(f"(k = 2), {found['bias_note']}.")


def test_a_drift_and_a_repair_have_their_bias_told_as_a_mean():
    drift, _ = part_of(0.03 * np.arange(300.0))
    assert drift["verdict"]["fault"] == "drift"
    assert re.search(r"in which the error may have changed: [89]\.\d+ kg", drift["bias_note"])

    repaired, _ = part_of(np.where(np.arange(300) < 100, 5.0, 0.0))
    assert "(200 pairs since " in repaired["verdict"]["sentence"]
    assert "may have changed" in repaired["bias_note"]


@pytest.mark.parametrize("level", [0.0, 3.0])
def test_a_bias_of_one_state_needs_no_words(level):
    found, sentence = part_of(np.full(200, level))

    assert found["bias_note"] == ""
    assert sentence.endswith("(k = 2).")


def test_error_codes_are_no_part_of_the_bias_and_the_figures_beside_it():
    found, sentence = part_of(np.zeros(200), code_at=slice(5, 200, 20))

    assert "-999" in found["verdict"]["sentence"]
    assert abs(found["bias"]) < found["bias_expanded"] < 0.5
    assert found["bias_note"] == "without 10 pairs that hold -999"
    assert found["bias_note"] in sentence
    assert found["rmse"] == pytest.approx(1.0, abs=0.15)  # u is 1, and true
    assert found["zms"] == pytest.approx(1.0, abs=0.3)
    assert found["coverage"] == pytest.approx(0.9, abs=0.06)


@pytest.mark.parametrize(("correlation", "varying"), [(0.7, 0.0), (0.0, 1.2)])
def test_the_expanded_uncertainty_of_the_bias_holds_the_true_one(correlation, varying):
    asked = RecordScope(
        *("a", "mass", "kg", "\\kilogram", START, START + 1e9, 0.9, 1000.0),
        *(Systematic(reference_value=0.5), (), Issuer("L", "L", "")),
    )
    held = []
    for seed in range(120):
        random = np.random.default_rng(seed)
        rows = np.zeros(60, dtype=PAIR)
        rows["time"] = START + 60.0 * np.arange(60)
        rows["u"] = np.exp(varying * random.normal(size=60))
        for name in ("lower", "upper", "p", "crps"):
            rows[name] = np.nan
        error = lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], random.normal(size=160))
        rows["reference"] = 100.0 + 0.5 * random.normal()  # all wrong by the same
        rows["value"] = 100.0 + 2.0 + rows["u"] * error[100:]
        rows["id"] = np.arange(60)
        part = found_and_left_of(asked, rows, [], 0.0)["as_found"]
        held.append(abs(part["bias"] - 2.0) < part["bias_expanded"])

    assert np.mean(held) > 0.89  # 0.95 less three standard deviations of 120


def test_the_verdict_is_that_of_a_score_of_the_same_pairs(journal, tmp_path, capsys):
    assert certify(journal, tmp_path / "cart.html") == 0
    record = record_of(tmp_path / "cart.html")
    opened = Journal(journal)
    rows = opened.pairs_of(0)
    opened.close()
    file = tmp_path / "pairs.csv"
    lines = [
        f"{np.datetime64(int(each['time']), 's')}Z,a,mass,kg,{float(each['value'])!r},1.0,"
        f"{float(each['reference'])!r},0.1"
        for each in rows[:100]
    ]
    head = "time,sensor,quantity,unit,value,sigma,reference,reference_sigma"
    file.write_text("\n".join([head, *lines]) + "\n")
    capsys.readouterr()
    assert main(["score", str(file), "--json"]) == 0

    (scored,) = json.loads(capsys.readouterr().out)["series"]
    assert scored["verdict"] == record["as_found"]["verdict"]
    assert scored["statistics"]["bias"] == record["as_found"]["bias"]
    assert scored["statistics"]["zms"] == record["as_found"]["zms"]


def test_the_digest_is_that_of_the_pairs(journal, tmp_path):
    assert certify(journal, tmp_path / "cart.html") == 0
    opened = Journal(journal)
    rows = opened.pairs_of(0)
    opened.close()

    record = record_of(tmp_path / "cart.html")
    assert record["pairs_sha256"] == hashlib.sha256(rows.tobytes()).hexdigest()
    assert record["as_left"]["pairs_sha256"] == hashlib.sha256(rows[100:].tobytes()).hexdigest()


def test_an_error_of_a_temperature_is_a_difference_in_kelvin(tmp_path):
    assert certify(journal_in(tmp_path, unit="°C"), tmp_path / "cart.xml") == 0

    found = read_certificate((tmp_path / "cart.xml").read_bytes(), "cart.xml")
    assert [each.unit for each in found.values if each.name == "Bias"] == ["K", "K"]


def test_without_an_adjustment_all_is_as_found(tmp_path, capsys):
    path = journal_in(tmp_path, events=())
    assert certify(path, tmp_path / "cart.xml") == 0

    assert capsys.readouterr().out.startswith("No adjustment is recorded in this time, so all")
    assert b"As left" not in (tmp_path / "cart.xml").read_bytes()


def test_of_several_events_the_first_and_the_last_count(tmp_path, capsys):
    events = (("adjusted", START + 50 * 3600.0, ""), ("moved", START + 150 * 3600.0, ""))
    assert certify(journal_in(tmp_path, events=events), tmp_path / "cart.html") == 0

    record = record_of(tmp_path / "cart.html")
    assert (record["as_found"]["pairs"], record["as_left"]["pairs"]) == (50, 50)
    assert "As left (moved at " in capsys.readouterr().out


def test_the_references_certificate_stands_in_it_and_widens_the_bias(journal, tmp_path):
    scale = tmp_path / "scale.xml"
    scale.write_bytes(certificate(quantity(real(U="800", unit="\\gram")), until=END))
    assert certify(journal, tmp_path / "a.html", "--reference", str(scale)) == 0
    assert certify(journal, tmp_path / "b.html") == 0

    with_it, without = (record_of(tmp_path / name)["as_left"] for name in ("a.html", "b.html"))
    (kept,) = record_of(tmp_path / "a.html")["references"]
    assert (kept["identifier"], kept["u"]) == ("EX-2026-0815", pytest.approx(0.4))
    assert kept["sha256"] == hashlib.sha256(scale.read_bytes()).hexdigest()
    assert with_it["bias"] == without["bias"]
    expected = np.hypot(without["bias_expanded"], 0.8)
    assert with_it["bias_expanded"] == pytest.approx(expected)
    assert kept["sentence"] == (
        "was valid until 2026-02-01, and expired before the end of this record's time"
    )
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Certificate EX-2026-0815 by Example Lab" in page
