"""As-found / as-left records: their figures, their files, their signatures, and made again."""

from __future__ import annotations

import hashlib
import html
import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from harness.cases import further
from harness.dcc_examples import certificate, quantity, real
from harness.programs import need
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from monitor.cli import main
from monitor.core.model import PAIR, Event
from monitor.core.pairing.series_rules import Systematic
from monitor.core.registry import KnownSeries
from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.dcc import read_certificate
from monitor.extensions.certificates.found_and_left import Issuer, RecordScope
from monitor.extensions.certificates.found_and_left import record_of as found_and_left_of
from monitor.journal import Batch, Journal

START = 1_770_000_000.0
MARK = START + 100 * 3600.0
END = "<dcc:date>2026-02-01</dcc:date>"
WRITE = ("certificate", "write")
VERIFY = ("certificate", "verify")
BY = ("--laboratory", "Example Farm <A&B>", "--person", "Ä. Person", "--country", "NZ")


def journal_in(folder: Path, *, unit: str = "kg", events=(("adjusted", MARK, "zero set"),)) -> Path:
    """Write a journal of a sensor that reads 3 kg heavy and understates u twice, then is mended."""
    random = np.random.default_rng(5)
    pairs = np.zeros(200, dtype=PAIR)
    truth = random.normal(500.0, 50.0, 200)
    found = np.arange(200) < 100
    pairs["id"] = np.arange(1, 201)
    pairs["time"] = START + 3600.0 * np.arange(200)
    pairs["value"] = truth + np.where(found, 3.0 + 2.0 * random.normal(size=200), 0.0)
    pairs["value"] += np.where(found, 0.0, random.normal(size=200))
    pairs["u"], pairs["reference"], pairs["u_ref"] = 1.0, truth, 0.1
    pairs["reference_id"] = np.arange(1, 201)
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    path = folder / "journal.sqlite"
    journal = Journal(path)
    journal.append(
        Batch(
            START,
            pairs=pairs,
            series=[KnownSeries(0, "cart/ü <3>", "mass", unit, START)],
            events=[Event("cart/ü <3>", time, name, note) for name, time, note in events],
        )
    )
    journal.close()
    return path


@pytest.fixture
def journal(tmp_path) -> Path:
    return journal_in(tmp_path)


@pytest.fixture
def keys(tmp_path) -> tuple[str, str]:
    """Return a private and a public key that openssl made."""
    made = ("genpkey -algorithm ed25519 -out key.pem", "pkey -in key.pem -pubout -out public.pem")
    for words in made:
        subprocess.run([need("openssl"), *words.split()], cwd=tmp_path, check=True)
    return str(tmp_path / "key.pem"), str(tmp_path / "public.pem")


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
    assert "before" in repaired["verdict"]["sentence"]
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


@pytest.mark.parametrize("correlation", [0.7, *further(0.0)])
def test_the_expanded_uncertainty_of_the_bias_holds_the_true_one(correlation):
    asked = RecordScope(
        *("a", "mass", "kg", "\\kilogram", START, START + 1e9, 0.9, 1000.0),
        *(Systematic(reference_value=0.5), (), Issuer("L", "L", "")),
    )
    held = []
    for seed in range(120):
        random = np.random.default_rng(seed)
        rows = np.zeros(60, dtype=PAIR)
        rows["time"], rows["u"] = START + 60.0 * np.arange(60), 1.0
        for name in ("lower", "upper", "p", "crps"):
            rows[name] = np.nan
        error = lfilter([np.sqrt(1 - correlation**2)], [1, -correlation], random.normal(size=160))
        rows["reference"] = 100.0 + 0.5 * random.normal()  # all wrong by the same
        rows["value"] = 100.0 + 2.0 + error[100:]
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


def test_the_xml_is_read_as_a_certificate(journal, tmp_path):
    assert certify(journal, tmp_path / "cart.xml") == 0
    assert certify(journal, tmp_path / "cart.html") == 0
    record = record_of(tmp_path / "cart.html")

    found = read_certificate((tmp_path / "cart.xml").read_bytes(), "cart.xml")
    assert found.mistakes == ()
    assert found.laboratory == "Example Farm <A&B>"
    assert found.items == ("cart/ü <3>, mass (cart/ü <3>)",)
    errors = [each for each in found.values if "basic_measurementError" in each.ref_types]
    parts = (record["as_found"], record["as_left"])
    assert [each.value for each in errors] == [part["bias"] for part in parts]
    assert [each.u * 2 for each in errors] == [part["bias_expanded"] for part in parts]
    assert {(each.unit, each.k) for each in errors} == {("kg", 2.0)}
    factors = [each.value for each in found.values if each.name.startswith("Factor")]
    assert factors == [part["u_factor"]["value"] for part in parts]


def test_an_error_of_a_temperature_is_a_difference_in_kelvin(tmp_path):
    assert certify(journal_in(tmp_path, unit="°C"), tmp_path / "cart.xml") == 0

    found = read_certificate((tmp_path / "cart.xml").read_bytes(), "cart.xml")
    assert [each.unit for each in found.values if each.name == "Bias"] == ["K", "K"]


def test_the_page_needs_nothing_else(journal, tmp_path):
    assert certify(journal, tmp_path / "cart.html") == 0
    page = (tmp_path / "cart.html").read_text(encoding="utf-8")
    reader = Meta()
    reader.feed(page)

    assert reader.fetched == []
    assert "<script" not in page
    assert html.escape("cart/ü <3>") in page
    assert "<A&B>" not in page


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


def test_a_note_with_any_character_leaves_xml_that_is_read(tmp_path):
    note = "".join(map(chr, range(0x20))) + "<&\"'>]]>\u2028\ufffe\U0001f600"
    path = journal_in(tmp_path, events=(("adjusted", MARK, note),))
    out = tmp_path / "cart.xml"
    assert certify(path, out) == 0

    assert read_certificate(out.read_bytes(), "cart.xml").mistakes == ()
    assert main([*VERIFY, str(out), "--journal", str(path)]) == 0


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


# -- made again, and signed -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["xml", "html"])
def test_a_record_is_made_again_from_the_journal_and_its_signature_checked(
    journal, tmp_path, keys, capsys, form
):
    out = tmp_path / f"cart.{form}"
    assert certify(journal, out, "--sign", keys[0]) == 0
    verify = [*VERIFY, str(out), "--key", keys[1], "--journal", str(journal)]

    capsys.readouterr()
    assert main(verify) == 0
    told = capsys.readouterr().out
    assert f"is signed by the holder of {keys[1]}, and unchanged" in told
    assert "its text matches its record" in told
    assert "the journal gives the same record: 200 pairs" in told
    checked = subprocess.run(
        [
            *(need("openssl"), "pkeyutl", "-verify", "-pubin", "-inkey", keys[1], "-rawin"),
            *("-in", str(out), "-sigfile", f"{out}.sig"),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "Signature Verified Successfully" in checked.stdout

    whole = out.read_bytes()
    out.write_bytes(whole.replace(b"understates", b"overstates", 1).replace(b"Bias", b"Bios", 1))
    assert out.read_bytes() != whole
    assert main(verify) == BAD_INPUT
    errors = capsys.readouterr().err
    assert "its signature cart." in errors
    assert "is broken: the file was changed" in errors
    assert "its text does not match its record" in errors


def test_a_journal_that_says_something_else_is_told(journal, tmp_path, capsys):
    out = tmp_path / "cart.xml"
    assert certify(journal, out) == 0
    opened = Journal(journal)
    late = np.zeros(1, dtype=PAIR)
    late[0] = opened.pairs_of(0)[150]
    late["id"], late["time"], late["value"] = 900, late["time"] + 1.0, 1000.0
    opened.append(Batch(START, pairs=late))
    opened.close()

    capsys.readouterr()
    verify = [*VERIFY, str(out), "--journal", str(journal)]
    assert main(verify) == BAD_INPUT
    errors = capsys.readouterr().err
    assert "the journal gives another record: " in errors
    assert "as_left.pairs is 100 in the record, 101 by the journal" in errors
    assert "as_found" not in errors.split("pairs is")[0].replace("as_left", "")


def test_a_new_record_takes_a_signature_of_the_former_away(journal, tmp_path, keys):
    out = tmp_path / "cart.xml"
    assert certify(journal, out, "--sign", keys[0]) == 0
    assert len((tmp_path / "cart.xml.sig").read_bytes()) == 64
    assert certify(journal, out) == 0
    assert not (tmp_path / "cart.xml.sig").exists()
    assert main([*VERIFY, str(out), "--key", keys[1]]) == BAD_INPUT


def test_the_journal_is_only_read_and_may_be_open(journal, tmp_path):
    before = journal.read_bytes()
    assert certify(journal, tmp_path / "cart.xml") == 0
    assert journal.read_bytes() == before
    opened = Journal(journal)
    try:
        assert certify(journal, tmp_path / "open.xml") == 0
    finally:
        opened.close()


def test_settings_say_level_and_what_is_systematic(journal, tmp_path):
    file = tmp_path / "monitor.yaml"
    file.write_text(
        f"journal: {{path: '{journal}'}}\n"
        "scoring: {level: 0.8, u_systematic: {reference_value: 0.5}}\n"
    )
    out = tmp_path / "cart.html"
    said = [*WRITE, "cart/ü <3>", "mass", "--config", str(file), "--out", str(out), *BY]
    assert main(said) == 0
    assert certify(journal, tmp_path / "plain.html") == 0

    record, plain = record_of(out), record_of(tmp_path / "plain.html")
    assert record["level"] == 0.8
    by_chance = plain["as_left"]["bias_expanded"]
    assert record["as_left"]["bias_expanded"] == pytest.approx(np.hypot(by_chance, 1.0))
    assert main([*VERIFY, str(out), "--journal", str(journal)]) == 0


# -- what cannot be done --------------------------------------------------------------------------

WRONG = {
    "no file": (["a", "x", "--journal", "J"], "--out is needed"),
    "no form": (["a", "x", "--journal", "J", "--out", "a.pdf"], "ends in .xml or .html"),
    "no issuer": (["a", "x", "--journal", "J", "--out", "a.xml"], "--laboratory is needed"),
    "no journal": (["a", "x", "--out", "a.xml", *BY], "--journal PATH or --config FILE"),
    "other series": (["a", "x", "--journal", "J", "--out", "a.xml", *BY], "has no a x; it has"),
    "time": (
        ["cart/ü <3>", "mass", "--journal", "J", "--out", "a.xml", *BY, "--from", "today"],
        "--from today: write ISO 8601",
    ),
    "empty": (
        [
            *("cart/ü <3>", "mass", "--journal", "J", "--out", "a.xml", *BY),
            *("--to", "2020-01-01T00:00Z"),
        ],
        "has no pairs in this time, only from 2026-02-02T02:40:00Z to",
    ),
    "country": (
        ["cart/ü <3>", "mass", "--journal", "J", "--out", "a.xml", "--laboratory", "L"],
        "--country is needed for XML",
    ),
    "unit": (
        ["cart/ü <3>", "mass", "--journal", "J", "--out", "a.xml", *BY, "--dsi-unit", "kg"],
        "--dsi-unit kg is not a D-SI unit",
    ),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_is_missing_is_told(journal, tmp_path, capsys, monkeypatch, which):
    monkeypatch.chdir(tmp_path)
    words, sentence = WRONG[which]
    code = main([*WRITE, *(str(journal) if each == "J" else each for each in words)])

    assert (code, sentence in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "a.xml").exists()


def test_a_unit_without_a_d_si_form_is_told_and_a_page_needs_none(tmp_path, capsys):
    path = journal_in(tmp_path, unit="mmHg")
    assert certify(path, tmp_path / "a.xml") == 2
    assert "unit 'mmHg' has no D-SI form" in capsys.readouterr().err
    assert certify(path, tmp_path / "a.html") == 0
    assert certify(path, tmp_path / "a.xml", "--dsi-unit", "\\one") == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<a/>",
        b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'><x/>",
        certificate(),
        b"<!doctype html><meta name='monitor-record' content='[]'>",
        b"<!doctype html><meta name='monitor-record' content='{&quot;form&quot;:2}'>",
    ],
)
def test_what_is_no_record_is_refused(tmp_path, capsys, data):
    file = tmp_path / "other"
    file.write_bytes(data)

    assert main([*VERIFY, str(file)]) == BAD_INPUT
    assert capsys.readouterr().err.startswith(f"monitor: {file}")


def test_the_words_of_another_version_are_proven_by_the_signature(
    journal, tmp_path, keys, capsys, monkeypatch
):
    out = tmp_path / "cart.xml"
    with monkeypatch.context() as then:
        then.setattr("monitor.extensions.certificates.found_and_left.__version__", "0.1.0")
        assert certify(journal, out, "--sign", keys[0]) == 0
    verify = [*VERIFY, str(out), "--journal", str(journal)]

    assert main(verify) == BAD_INPUT
    assert "was made by monitor 0.1.0, this is" in capsys.readouterr().err
    assert main([*verify, "--key", keys[1]]) == 0


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_a_record_says_the_answer_is_a_sentence(journal, tmp_path, data):
    out = tmp_path / "cart.html"
    if not out.exists():
        assert certify(journal, out) == 0
    record = record_of(out)
    key = data.draw(st.sampled_from(sorted(record)))
    record[key] = data.draw(VALUES | st.sampled_from(["2026-01-01T00:00:00Z", 10**400]))
    written = html.escape(json.dumps(record))
    file = tmp_path / "other.html"
    file.write_text(f'<!doctype html><meta name="monitor-record" content="{written}">', "utf-8")

    assert main([*VERIFY, str(file), "--journal", str(journal)]) in (2, BAD_INPUT)


def test_a_record_that_is_not_whole_is_told(journal, tmp_path, capsys):
    file = tmp_path / "half.html"
    file.write_text("<!doctype html><meta name='monitor-record' content='{&quot;form&quot;:1}'>")

    assert main([*VERIFY, str(file), "--journal", str(journal)]) == BAD_INPUT
    assert "its record is incomplete" in capsys.readouterr().err
