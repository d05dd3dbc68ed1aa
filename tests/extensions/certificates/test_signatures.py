"""Ed25519 signatures, against the test vectors of RFC 8032, section 7.1."""

from __future__ import annotations

import base64

import pytest

from monitor.extensions.certificates.signatures import SignatureError, is_signed, signature_of

# Secret key, public key, message and signature of tests 1 and 2, in hexadecimal digits.
VECTORS = (
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
            "387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
)


def pem(kind: str, head: str, key: str) -> bytes:
    """Return a key as PEM: RFC 8410's DER is a fixed head before the 32 bytes."""
    body = base64.b64encode(bytes.fromhex(head + key)).decode()
    return f"-----BEGIN {kind} KEY-----\n{body}\n-----END {kind} KEY-----\n".encode()


@pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
def test_signatures_are_those_of_the_rfc_and_of_no_other_bytes(secret, public, message, signature):
    private = pem("PRIVATE", "302e020100300506032b657004220420", secret)
    known = pem("PUBLIC", "302a300506032b6570032100", public)
    data, signed = bytes.fromhex(message), bytes.fromhex(signature)

    assert signature_of(data, private, "key.pem") == signed
    assert is_signed(data, signed, known, "public.pem")
    assert not is_signed(data + b"x", signed, known, "public.pem")
    assert not is_signed(data, signed[:-1] + b"\1", known, "public.pem")
    with pytest.raises(SignatureError, match=r"public\.pem"):
        is_signed(data, signed, private, "public.pem")
    with pytest.raises(SignatureError, match=r"key\.pem"):
        signature_of(data, known, "key.pem")
