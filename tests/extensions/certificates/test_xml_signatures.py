"""XML signatures within certificates, made by another implementation and checked by ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from harness.dcc_examples import SIGNATURE, certificate, quantity, real
from harness.xml_signer import XmlSigner

from monitor.cli import main
from monitor.errors import BAD_INPUT
from monitor.extensions.certificates.dcc import read_certificate
from monitor.extensions.certificates.xml_signatures import xml_signature_of

INCLUSIVE = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"
RSA = ("rsa:2048",)
EC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
SIGNED = Path(__file__).parents[2] / "small"
METHODS = {
    "rsa": (f"{MORE}rsa-sha256", RSA),
    "ecdsa": (f"{MORE}ecdsa-sha256", EC),
    "pss": ("http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1", RSA),
}
# Much of what canonical XML has a rule for.
STRANGE = """<?xml version="1.0" encoding="UTF-8"?>
<?style before?><!-- out -->
<a:root xmlns:a="urn:a" xmlns="urn:default" xmlns:unused="urn:u" id="whole" b='2'  a:b="1"
    xmlns:z="urn:first" z:y="&lt;&quot;&#9;&#10;&#13;&amp;>'" c="  two   spaces ">
  <!-- a comment --><inner xmlns="" q="1"><deep xmlns="urn:default"/></inner>
  <![CDATA[<not> & markup]]> text &gt; &amp; \u00e9 \U0001f600 &#13;
  <a:same xmlns:a="urn:a"/><a:other xmlns:a="urn:other" a:x="1"><empty></empty></a:other>
  <?inside   data ?><?bare?><e xml:lang="en" xml:space="preserve"> </e>
</a:root>
<?after data?><!-- out -->
"""


@pytest.fixture(scope="module")
def signer(tmp_path_factory) -> XmlSigner:
    return XmlSigner(tmp_path_factory.mktemp("signer"))


@pytest.mark.parametrize(
    ("canonical", "method", "uri"),
    [
        (INCLUSIVE, "rsa", ""),
        (EXCLUSIVE, "rsa", ""),
        (EXCLUSIVE, "ecdsa", "#whole"),
        (INCLUSIVE, "pss", ""),
        pytest.param(INCLUSIVE, "ecdsa", "#whole", marks=pytest.mark.long),
        pytest.param(EXCLUSIVE, "pss", "", marks=pytest.mark.long),
    ],
)
def test_a_signature_by_java_is_whole_and_of_no_other_content(
    signer, tmp_path, canonical, method, uri
):
    file = tmp_path / "strange.xml"
    file.write_text(STRANGE, encoding="utf-8")
    name, key = METHODS[method]
    signed = signer.sign(file, canonical, name, key=key, uri=uri)

    found = xml_signature_of(signed)
    assert found is not None
    assert found.sentence.startswith(
        "its XML signature matches this content and the certificate of"
    )
    assert "Lab A" in found.sentence
    for old, new in ((b"two   spaces", b"two spaces"), (b"urn:other", b"urn:others")):
        changed = xml_signature_of(signed.replace(old, new, 1))
        assert changed is not None
        assert changed.is_broken
        assert "the content was changed after it was signed" in changed.sentence


@pytest.mark.parametrize("name", ["signed-inclusive.xml", "signed-exclusive.xml"])
def test_a_signature_that_java_made_once_is_whole_and_of_no_other_content(name):
    signed = (SIGNED / name).read_bytes()

    found = xml_signature_of(signed)
    assert found is not None
    assert found.sentence.startswith(
        "its XML signature matches this content and the certificate of"
    )
    changed = xml_signature_of(signed.replace(b"two   spaces", b"two spaces"))
    assert changed is not None
    assert changed.is_broken


def test_the_command_tells_a_certificate_that_was_changed(signer, tmp_path, capsys):
    file = tmp_path / "scale.xml"
    file.write_bytes(certificate())
    signed = signer.sign(file, EXCLUSIVE, METHODS["ecdsa"][0], key=EC)
    file.write_bytes(signed)
    assert main(["certificate", "show", str(file), "--valid-until", "9000-01-01"]) == 0
    assert (
        "its XML signature matches this content and the certificate of" in capsys.readouterr().out
    )

    file.write_bytes(signed.replace(b"0.001", b"0.0001", 1))
    assert main(["certificate", "show", str(file), "--valid-until", "9000-01-01"]) == BAD_INPUT
    told = capsys.readouterr()
    assert "its XML signature is broken (the content was changed after it was signed)" in told.err


def test_a_value_by_another_key_is_broken(signer, tmp_path):
    file = tmp_path / "scale.xml"
    file.write_bytes(certificate())
    first = signer.sign(file, EXCLUSIVE, METHODS["rsa"][0], key=RSA)
    other = signer.sign(file, EXCLUSIVE, METHODS["rsa"][0], key=("rsa:3072",))

    def part(data: bytes, name: bytes) -> bytes:
        return data[data.index(b"<" + name) : data.index(b"</" + name)]

    for name in (b"SignatureValue", b"X509Certificate"):
        mixed = first.replace(part(first, name), part(other, name))
        found = xml_signature_of(mixed)
        assert found is not None
        assert found.is_broken
        assert "its value was not made with the key of its certificate" in found.sentence


def test_a_signature_of_a_part_is_not_one_of_the_file(signer, tmp_path):
    """What is signed is moved below another root, which holds what is read."""
    file = tmp_path / "scale.xml"
    file.write_bytes(certificate())
    signed = signer.sign(file, EXCLUSIVE, METHODS["rsa"][0], key=RSA)
    evil = certificate(quantity(real(U="0.1")))
    signature = signed[signed.index(b"<Signature ") : signed.index(b"</dcc:digitalCalibration")]
    moved = evil.replace(b"</dcc:digitalCalibration", signature + b"</dcc:digitalCalibration")

    found = read_certificate(moved, "scale.xml").signature
    assert found is not None
    assert found.is_broken


def test_a_good_signature_of_a_part_does_not_count(signer, tmp_path):
    """Digest and value agree, but what is read beside the signed part was never signed."""
    file = tmp_path / "part.xml"
    file.write_bytes(b'<part id="whole"><value>1</value></part>')
    signed = signer.sign(file, EXCLUSIVE, METHODS["rsa"][0], key=RSA, uri="#whole")
    good = xml_signature_of(signed)
    assert good is not None
    assert not good.is_broken

    start, end = signed.index(b"<Signature "), signed.index(b"</part>")
    part = signed[signed.index(b"<part") : start] + b"</part>"
    whole = b"<all><value>2</value>" + part + signed[start:end] + b"</all>"
    found = xml_signature_of(whole)
    assert found is not None
    assert found.is_broken
    assert "it covers only part of the file" in found.sentence
    changed = xml_signature_of(whole.replace(b"<value>1", b"<value>3"))
    assert changed is not None
    assert "the content was changed after it was signed" in changed.sentence


UNCHECKED = {
    "transform": ("<ds:Transform Algorithm='urn:x'/>", "its transform 'urn:x' is not known"),
    "other file": ("", "it refers to another file, 'http://example/x'"),
    "sha1": ("", "its digest 'http://www.w3.org/2000/09/xmldsig#sha1' is not known"),
}


@pytest.mark.parametrize("which", UNCHECKED)
def test_what_is_not_known_is_not_checked_and_never_good(which):
    transform, why = UNCHECKED[which]
    uri = "http://example/x" if which == "other file" else ""
    whole = SIGNATURE.format(value="<ds:SignatureValue>AAAA</ds:SignatureValue>").replace(
        '<ds:Reference URI="">',
        f'<ds:Reference URI="{uri}"><ds:Transforms>{transform}</ds:Transforms>'
        '<ds:DigestMethod Algorithm="http://www.w3.org/2000/09/xmldsig#sha1"/>',
    )
    found = read_certificate(certificate(signature=whole), "scale.xml").signature

    assert found is not None
    assert not found.is_broken
    assert found.sentence.startswith("it has an XML signature that is not checked here (")
    assert why in found.sentence


def test_without_the_library_it_is_not_checked(signer, tmp_path):
    file = tmp_path / "scale.xml"
    file.write_bytes(certificate())
    file.write_bytes(signer.sign(file, EXCLUSIVE, METHODS["rsa"][0], key=RSA))
    script = (
        "import sys; sys.modules['cryptography'] = None; from monitor.cli import main; "
        f"sys.exit(main(['certificate', 'show', {str(file)!r}, '--valid-until', '9000-01-01']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "signatures need the library cryptography: pip install" in done.stdout
