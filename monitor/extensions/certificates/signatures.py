"""Signatures of files by Ed25519 (RFC 8032), and those of certificates' holders with XMLDSig's.

Rules of this file: a signature says that the holder of a key signed these bytes. Who that is
follows only from the public key, which therefore comes from elsewhere and never with the file; a
file's signature is detached, 64 bytes in a file of their own beside it. Whether an X.509
certificate is to be trusted or was valid is not checked. SHA-1 is in no table: signatures with it
can be forged. The library is an optional part (extra ``certificates``) and is imported when it is
needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from monitor.errors import BAD_INPUT, UNAVAILABLE, MonitorError, install_hint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.x509 import Certificate as X509Certificate

SUFFIX: Final = ".sig"
SIGNATURE_BYTES: Final = 64
_MADE: Final = "make one with `openssl genpkey -algorithm ed25519 -out key.pem`"
_PUBLIC: Final = "make one with `openssl pkey -in key.pem -pubout -out public.pem`"


class SignatureError(MonitorError):
    """A key or a signature cannot be used; the message says what to do."""

    exit_code = BAD_INPUT


def signature_file(path: Path) -> Path:
    """Return where the signature of a file is."""
    return path.with_name(f"{path.name}{SUFFIX}")


def signature_of(data: bytes, key: bytes, key_file: str) -> bytes:
    """Return the signature of ``data`` by a private key in PEM; raises SignatureError."""
    return _private(key, key_file).sign(data)


def is_signed(data: bytes, signature: bytes, key: bytes, key_file: str) -> bool:
    """Return whether the holder of a public key in PEM made this signature of ``data``.

    Raises SignatureError if the key is not one.
    """
    public = _public(key, key_file)
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _private(key: bytes, key_file: str) -> Ed25519PrivateKey:
    serialization, ed25519 = _crypto_library()
    try:
        loaded = serialization.load_pem_private_key(key, None)
    except TypeError as error:
        reason = (
            "is encrypted with a password, which no command accepts; sign with an unencrypted copy"
        )
        raise SignatureError(f"{key_file}: {reason}") from error
    except Exception as error:  # the library raises several kinds of errors for wrong keys
        raise SignatureError(f"{key_file}: is not a private key in PEM; {_MADE}") from error
    if not isinstance(loaded, ed25519.Ed25519PrivateKey):
        raise SignatureError(f"{key_file}: is not an Ed25519 key; {_MADE}")
    return loaded


def _public(key: bytes, key_file: str) -> Ed25519PublicKey:
    serialization, ed25519 = _crypto_library()
    try:
        loaded = serialization.load_pem_public_key(key)
    except Exception as error:  # as above
        raise SignatureError(f"{key_file}: is not a public key in PEM; {_PUBLIC}") from error
    if not isinstance(loaded, ed25519.Ed25519PublicKey):
        raise SignatureError(f"{key_file}: is not an Ed25519 key; {_PUBLIC}")
    return loaded


def _crypto_library() -> tuple[ModuleType, ModuleType]:
    """Return its modules for serialized keys and for Ed25519; raises SignatureError."""
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError as error:
        refused = SignatureError(
            f"signatures need the library cryptography: {install_hint('certificates')}"
        )
        refused.exit_code = UNAVAILABLE
        raise refused from error
    return serialization, ed25519


_MORE: Final = "http://www.w3.org/2001/04/xmldsig-more#"
_MGF1: Final = "http://www.w3.org/2007/05/xmldsig-more#"
# By the name in XML signatures (RFC 6931, RFC 9231): method and hash.
_ALGORITHMS: Final[Mapping[str, tuple[str, str]]] = {
    **{f"{_MORE}rsa-sha{bits}": ("rsa", f"SHA{bits}") for bits in (256, 384, 512)},
    **{f"{_MORE}ecdsa-sha{bits}": ("ecdsa", f"SHA{bits}") for bits in (256, 384, 512)},
    **{f"{_MGF1}sha{bits}-rsa-MGF1": ("pss", f"SHA{bits}") for bits in (256, 384, 512)},
    "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519": ("ed25519", "SHA512"),
}
_OWNER_CHARACTERS: Final = 300


class CertifiedKey:
    """The public key of a certificate; ``owner`` says whose it is and who issued it."""

    def __init__(self, certificate: X509Certificate) -> None:
        self._key: Final = certificate.public_key()
        subject, issuer = certificate.subject, certificate.issuer
        owner = f"{subject.rfc4514_string()} (issued by {issuer.rfc4514_string()})"
        self.owner: Final = owner[:_OWNER_CHARACTERS]

    def has_signed(self, algorithm: str, data: bytes, signature: bytes) -> bool | None:
        """Return whether its holder signed ``data``; None for an unknown algorithm."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

        if algorithm not in _ALGORITHMS:
            return None
        try:
            return self._verified(*_ALGORITHMS[algorithm], data, signature)
        except (InvalidSignature, ValueError):
            return False

    def _verified(self, how: str, name: str, data: bytes, signature: bytes) -> bool:
        """Return False for a key of another kind; raises InvalidSignature, ValueError."""
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415
            ec,
            ed25519,
            padding,
            rsa,
            utils,
        )

        by: Mapping[str, hashes.HashAlgorithm] = {
            "SHA256": hashes.SHA256(),
            "SHA384": hashes.SHA384(),
            "SHA512": hashes.SHA512(),
        }
        digest, key = by[name], self._key
        if how == "rsa" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), digest)
        elif how == "pss" and isinstance(key, rsa.RSAPublicKey):
            length = digest.digest_size
            key.verify(signature, data, padding.PSS(padding.MGF1(digest), length), digest)
        elif how == "ecdsa" and isinstance(key, ec.EllipticCurvePublicKey):
            half = len(signature) // 2
            r, s = (int.from_bytes(each, "big") for each in (signature[:half], signature[half:]))
            key.verify(utils.encode_dss_signature(r, s), data, ec.ECDSA(digest))
        elif how == "ed25519" and isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, data)
        else:
            return False
        return True


def certified_key(der: bytes) -> CertifiedKey:
    """Return the key of a certificate in DER; raises SignatureError."""
    _crypto_library()
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        return CertifiedKey(x509.load_der_x509_certificate(der))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SignatureError("the certificate of its key cannot be read") from error
