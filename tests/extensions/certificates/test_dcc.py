"""Calibration certificates: what is read of a good one, and what is said of a bad one."""

from __future__ import annotations

import json
import math
import re
import subprocess
from datetime import date

import pytest
from harness.dcc_examples import (
    D_SI_1,
    D_SI_2,
    HYBRID,
    LISTS_1,
    LISTS_2,
    SIGNATURE,
    certificate,
    quantity,
    real,
)
from harness.programs import need
from hypothesis import given
from hypothesis import strategies as st

from monitor.cli import main
from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.certified_uncertainty import (
    NoUncertaintyError,
    certified_uncertainty,
)
from monitor.extensions.certificates.dcc import CertificateError, read_certificate
from monitor.extensions.certificates.safe_xml import BYTES_MAX

FILE = "scale.xml"


@pytest.fixture
def told(tmp_path, capsys):
    """Return what the command says of a certificate: exit code, output, errors."""

    def of(data: bytes, *options: str) -> tuple[int, str, str]:
        path = tmp_path / FILE
        path.write_bytes(data)
        code = main(["certificate", "show", str(path), *options])
        out, err = capsys.readouterr()
        return code, out, err.replace(f"{tmp_path}/", "")

    return of


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [D_SI_1, D_SI_2])
def test_value_u_k_and_validity_are_read_of_both_forms_of_d_si(form):
    found = read_certificate(certificate(quantity(real(form))), FILE)

    (value,) = found.values
    assert (value.value, value.unit, value.u, value.k, value.p) == (20.0005, "kg", 0.0005, 2, 0.95)
    assert (value.name, value.ref_types) == ("Indication", ("basic_measuredValue",))
    assert (found.identifier, found.laboratory) == ("EX-2026-0815", "Example Lab")
    assert found.items == ("Reference scale (SN 4711)",)
    assert (found.performed, found.recalibration) == (date(2026, 3, 2), date(2027, 3, 2))
    assert found.mistakes == ()


@pytest.mark.parametrize("numbers", [LISTS_1, LISTS_2])
def test_lists_of_points_are_read_of_both_forms_of_d_si(numbers):
    found = read_certificate(certificate(quantity(numbers)), FILE)

    assert [(each.value, each.u, each.unit) for each in found.values] == [
        (0.072, 0.03, "K"),
        (0.089, 0.04, "K"),
        (-0.009, 0.05, "K"),
    ]


def test_of_a_hybrid_the_part_that_states_its_uncertainty_is_read():
    found = read_certificate(certificate(quantity(HYBRID)), FILE)

    assert [(each.value, each.unit, each.u) for each in found.values] == [
        (33.098, "°C", 0.01),
        (99.971, "°C", 0.01),
    ]


def test_a_value_without_an_uncertainty_has_none():
    number = "<si:real><si:value>5</si:value><si:unit>\\one</si:unit></si:real>"
    (value,) = read_certificate(certificate(quantity(number)), FILE).values

    assert (value.value, value.unit) == (5.0, "1")
    assert math.isnan(value.u)


def test_the_largest_u_of_the_error_counts_in_the_unit_of_the_series():
    found = read_certificate(
        certificate(
            quantity(
                real(value="300", unit="\\kelvin", U="9"), "Reference", "basic_referenceValue"
            ),
            quantity(LISTS_2, "Error", "basic_measurementError"),
        ),
        FILE,
    )

    assert certified_uncertainty(found)[:2] == (0.05, "K")
    assert certified_uncertainty(found, unit="degC")[:2] == pytest.approx((0.05, "degC"))
    assert certified_uncertainty(found, "Reference", "mK").u == pytest.approx(4500.0)
    with pytest.raises(NoUncertaintyError, match=r"'nothing'.*'Reference', 'Error'"):
        certified_uncertainty(found, "nothing")
    with pytest.raises(NoUncertaintyError, match="cannot be converted"):
        certified_uncertainty(found, unit="kg")


def test_which_of_several_quantities_is_meant_is_asked():
    found = read_certificate(
        certificate(quantity(real(), "First", "a_b"), quantity(real(), "Second", "a_b")), FILE
    )

    with pytest.raises(NoUncertaintyError, match="several quantities: 'First', 'Second'"):
        certified_uncertainty(found)


# -- what is said of bad ones ---------------------------------------------------------------------

BILLION = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;'>]>"
OUTSIDE = "<!DOCTYPE x SYSTEM 'file:///etc/passwd'>"
REFUSED = {
    "text": (b"hello", "scale.xml:1: is not XML: syntax error"),
    "nothing": (b"", "is not XML: no element found"),
    "cut": (certificate()[:900], "is not XML"),
    "page": (b"<html/>", "is not a digital calibration certificate"),
    "billion laughs": (certificate(head=BILLION), "document type declaration (DOCTYPE)"),
    "external entity": (certificate(head=OUTSIDE), "document type declaration (DOCTYPE)"),
    "undefined entity": (certificate(quantity("&passwd;")), "undefined entity"),
    "deep": (b"<a>" * 100_000, "in another"),
    "large": (b"<a>" + b" " * BYTES_MAX, "has more than 8 MiB"),
    "encoding": (b"<?xml version='1.0' encoding='klingon'?><a/>", "unknown encoding"),
    "version 2": (certificate(version="2.4.0"), "versions 3.x are read"),
    "no number": (certificate(identifier=""), "has no uniqueIdentifier"),
    "no date": (certificate(performed=""), "has no endPerformanceDate"),
    "bad date": (
        certificate(performed="<dcc:endPerformanceDate>2026-02-30</dcc:endPerformanceDate>"),
        "scale.xml:13: endPerformanceDate '2026-02-30' is not a date",
    ),
    "no results": (certificate("<dcc:text/>"), "has no result that is a number"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_no_certificate_is_refused_with_its_place(told, which):
    data, sentence = REFUSED[which]
    code, out, err = told(data)

    assert (code, out) == (BAD_INPUT, "")
    assert err.startswith("monitor: scale.xml")
    assert sentence in err
    assert len(err.splitlines()) == 1


MISTAKES = {
    "unit": (real(unit="\\furlong"), "unit \\furlong: \\furlong is not a unit known here"),
    "no D-SI": (real(unit="kg"), "unit kg is not a D-SI unit"),
    "no unit": ("<si:real><si:value>1</si:value></si:real>", "has no unit"),
    "comma": (real(value="20,5"), "value '20,5' is not a finite number"),
    "digits": (real(value="\u0661"), "value '\u0661' is not a finite number"),
    "underscore": (real(U="1_0"), "valueExpandedMU '1_0' is not a finite number"),
    "infinite": (real(value="INF"), "value 'INF' is not a finite number"),
    "no factor": (real(k=""), "coverageFactor '' is not a finite number"),
    "factor 0": (real(k="0"), "its coverage factor 0 is not above 0"),
    "below 0": (real(U="-1"), "its uncertainty -0.5 is below 0"),
    "complex": ("<si:complex/>", "numbers of the kind 'complex' are not read"),
    "lengths": (
        LISTS_2.replace("0.06 0.08 0.1", "0.06 0.08"),
        "has 3 values, and 2 of uncertainty",
    ),
}


@pytest.mark.parametrize("which", MISTAKES)
def test_a_quantity_that_cannot_be_used_is_told_and_left_out(told, which):
    number, sentence = MISTAKES[which]
    code, out, err = told(certificate(quantity(real(), "Good"), quantity(number, "Bad")))

    assert code == BAD_INPUT
    assert re.search(r"^scale\.xml:\d+: Bad: ", err)
    assert sentence in err
    assert "Good" in out
    assert "Bad" not in out


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


def test_what_its_owner_says_counts_before_what_it_says_itself(told):
    said = told(certificate(), "--valid-for", "1d")[2]
    assert "valid until 2026-03-03, as you say, and has expired" in said
    assert "valid until 9026-03-02, as you" in told(certificate(), "--valid-for", "7000 y")[1]
    assert told(certificate(), "--valid-for", "long")[0] == 2
    assert told(certificate(), "--valid-until", "1.3.2027")[0] == 2


def test_a_period_counts_from_the_last_day_of_the_calibration():
    found = read_certificate(certificate(until="<dcc:period>P1Y6M</dcc:period>"), FILE)
    assert found.recalibration == date(2027, 9, 2)
    found = read_certificate(certificate(until="<dcc:period>soon</dcc:period>"), FILE)
    assert found.recalibration is None
    assert "period until recalibration 'soon' is not a duration" in found.mistakes[0]


def test_an_xml_signature_without_a_value_is_broken(told):
    code, _, err = told(certificate(signature=SIGNATURE.format(value="")))

    assert code == BAD_INPUT
    assert "its XML signature is broken (it has no SignatureValue or no Reference)" in err


def test_a_signature_beside_it_is_checked(told, tmp_path):
    for words in (
        "genpkey -algorithm ed25519 -out key.pem",
        "pkey -in key.pem -pubout -out pub.pem",
    ):
        subprocess.run([need("openssl"), *words.split()], cwd=tmp_path, check=True)
    options = ("--valid-until", "9000-01-01", "--key", str(tmp_path / "pub.pem"))

    code, _, err = told(certificate(), *options)
    assert (code, "scale.xml.sig: does not exist" in err) == (BAD_INPUT, True)

    sign = "pkeyutl -sign -inkey key.pem -rawin -in scale.xml -out scale.xml.sig"
    subprocess.run([need("openssl"), *sign.split()], cwd=tmp_path, check=True)
    code, out, _ = told(certificate(), *options)
    assert (code, "scale.xml.sig is its signature" in out) == (0, True)
    assert "is not checked without --key" in told(certificate())[1]

    code, _, err = told(certificate(quantity(real(U="0.002"))), *options)
    assert code == BAD_INPUT
    assert "the signature scale.xml.sig does not match this content" in err
    code, _, err = told(certificate(), "--key", str(tmp_path / "key.pem"))
    assert (code, "is not a public key in PEM" in err) == (BAD_INPUT, True)


def test_a_file_that_is_not_there_is_told(tmp_path, capsys):
    assert main(["certificate", "show", str(tmp_path / "none.xml")]) == BAD_INPUT
    assert "cannot be read: No such file" in capsys.readouterr().err


@given(st.binary(max_size=300), st.integers(0, len(certificate())), st.integers(0, 300))
def test_any_bytes_give_a_certificate_or_one_sentence(noise, at, length):
    signature = SIGNATURE.format(value="<ds:SignatureValue>AAAA</ds:SignatureValue>")
    whole = certificate(quantity(LISTS_2), quantity(real()), signature=signature)
    for data in (noise, whole[:at] + noise + whole[at + length :]):
        found, refused = None, ""
        try:
            found = read_certificate(data, FILE)
        except CertificateError as error:
            refused = str(error)

        assert refused.startswith(FILE) if found is None else found.identifier


# -- what is printed ------------------------------------------------------------------------------


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
