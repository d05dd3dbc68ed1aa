"""``monitor certificate write`` and ``verify``."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from harness.programs import need

from monitor.cli import main
from monitor.core.model import PAIR
from monitor.errors import BAD_INPUT
from monitor.journal import Batch, Journal
from tests.extensions.certificates.conftest import START, journal_in
from tests.extensions.certificates.test_found_and_left import BY, WRITE, certify, record_of
from tests.extensions.certificates.test_record_files import VERIFY


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
