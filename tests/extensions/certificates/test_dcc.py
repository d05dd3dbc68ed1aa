"""Calibration certificates: what is read of a good one, and what is said of a bad one."""

from __future__ import annotations

import pytest
from harness.dcc_examples import LISTS_2, SIGNATURE, certificate, quantity, real
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.dcc import CertificateError, read_certificate
from monitor.extensions.certificates.safe_xml import BYTES_MAX
from tests.extensions.certificates.conftest import FILE

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


def test_an_xml_signature_without_a_value_is_broken(told):
    code, _, err = told(certificate(signature=SIGNATURE.format(value="")))

    assert code == BAD_INPUT
    assert "its XML signature is broken (it has no SignatureValue or no Reference)" in err


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
