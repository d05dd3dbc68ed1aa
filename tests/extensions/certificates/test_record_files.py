"""Records as files: their own text and no other."""

from __future__ import annotations

import html
import json

import pytest
from harness.dcc_examples import certificate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from monitor.cli import main
from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.dcc import read_certificate
from tests.extensions.certificates.conftest import MARK, journal_in
from tests.extensions.certificates.test_found_and_left import Meta, certify, record_of

VERIFY = ("certificate", "verify")


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


def test_the_page_needs_nothing_else(journal, tmp_path):
    assert certify(journal, tmp_path / "cart.html") == 0
    page = (tmp_path / "cart.html").read_text(encoding="utf-8")
    reader = Meta()
    reader.feed(page)

    assert reader.fetched == []
    assert "<script" not in page
    assert html.escape("cart/ü <3>") in page
    assert "<A&B>" not in page


def test_a_note_with_any_character_leaves_xml_that_is_read(tmp_path):
    note = "".join(map(chr, range(0x20))) + "<&\"'>]]>\u2028\ufffe\U0001f600"
    path = journal_in(tmp_path, events=(("adjusted", MARK, note),))
    out = tmp_path / "cart.xml"
    assert certify(path, out) == 0

    assert read_certificate(out.read_bytes(), "cart.xml").mistakes == ()
    assert main([*VERIFY, str(out), "--journal", str(path)]) == 0


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


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
