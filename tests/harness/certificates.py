"""An authority and the certificates it vouches for, as PEM files."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import trustme


class Authority:
    """Vouches for certificates; ``ca_file`` is what those who trust it need."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._authority = trustme.CA()
        self.ca_file = folder / "ca.pem"
        self._authority.cert_pem.write_to_path(str(self.ca_file))

    def issue(self, name: str, *hosts: str, not_after: datetime | None = None) -> tuple[Path, Path]:
        """Return the files of a new certificate for ``hosts`` and of its key."""
        issued = self._authority.issue_cert(*hosts, common_name=name, not_after=not_after)
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        certificate.write_bytes(issued.cert_chain_pems[0].bytes())
        issued.private_key_pem.write_to_path(str(key))
        return certificate, key
