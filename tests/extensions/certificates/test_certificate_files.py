"""Files of certificates, and signatures beside them."""

from __future__ import annotations

import subprocess

from harness.dcc_examples import certificate, quantity, real
from harness.programs import need

from monitor.cli import main
from monitor.errors import BAD_INPUT


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
