"""Files of certificates and records, and the signatures beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from monitor.extensions.certificates.dcc import CertificateError
from monitor.extensions.certificates.safe_xml import BYTES_MAX
from monitor.extensions.certificates.signatures import is_signed, signature_file

Detached = Literal["none", "unchecked", "missing", "good", "broken"]


def read_whole(path: Path) -> bytes:
    """Return a file's content, up to the size of a certificate; raises CertificateError."""
    try:
        with path.open("rb") as stream:
            return stream.read(BYTES_MAX + 1)
    except OSError as error:
        raise CertificateError(f"{path}: cannot be read: {error.strerror or error}") from error


def detached_signature(path: Path, data: bytes, key: str | None) -> Detached:
    """Return what is known of a file's detached signature, checked only with a ``key``."""
    beside = signature_file(path)
    if not beside.exists():
        return "none" if key is None else "missing"
    if key is None:
        return "unchecked"
    return "good" if is_signed(data, read_whole(beside), read_whole(Path(key)), key) else "broken"
