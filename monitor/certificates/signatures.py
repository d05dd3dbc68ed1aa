"""Signatures of files by Ed25519 (RFC 8032), detached: 64 bytes in a file of their own beside them.

Rules of this file: a signature says that the holder of a key signed these bytes. Who that is
follows only from the public key, which therefore comes from elsewhere and never with the file. The
library is an optional part (extra ``certificates``) and is imported when it is needed.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from monitor.errors import BAD_INPUT, UNAVAILABLE, MonitorError, install_hint

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

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
    serialization, ed25519 = crypto_library()
    try:
        found = serialization.load_pem_private_key(key, None)
    except TypeError as error:
        what = "has a password, which no command takes; keep an unlocked copy for the signing"
        raise SignatureError(f"{key_file}: {what}") from error
    except Exception as error:  # the library raises several kinds of errors for wrong keys
        raise SignatureError(f"{key_file}: is not a private key in PEM; {_MADE}") from error
    if not isinstance(found, ed25519.Ed25519PrivateKey):
        raise SignatureError(f"{key_file}: is not an Ed25519 key; {_MADE}")
    return found


def _public(key: bytes, key_file: str) -> Ed25519PublicKey:
    serialization, ed25519 = crypto_library()
    try:
        found = serialization.load_pem_public_key(key)
    except Exception as error:  # as above
        raise SignatureError(f"{key_file}: is not a public key in PEM; {_PUBLIC}") from error
    if not isinstance(found, ed25519.Ed25519PublicKey):
        raise SignatureError(f"{key_file}: is not an Ed25519 key; {_PUBLIC}")
    return found


def crypto_library() -> tuple[ModuleType, ModuleType]:
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
