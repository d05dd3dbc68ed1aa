"""What the command says of a certificate; a sensor's journal and keys to sign its record."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from harness.dcc_examples import certificate, quantity, real
from harness.programs import need

from monitor.cli import main
from monitor.core.model import PAIR, Event
from monitor.core.registry import KnownSeries
from monitor.journal import Batch, Journal

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


START = 1_770_000_000.0

MARK = START + 100 * 3600.0


def journal_in(folder: Path, *, unit: str = "kg", events=(("adjusted", MARK, "zero set"),)) -> Path:
    """Write a journal of a sensor that reads 3 kg heavy and understates u twice, then is mended."""
    random = np.random.default_rng(5)
    pairs = np.zeros(200, dtype=PAIR)
    truth = random.normal(500.0, 50.0, 200)
    found = np.arange(200) < 100
    pairs["id"] = np.arange(1, 201)
    pairs["time"] = START + 3600.0 * np.arange(200)
    pairs["value"] = truth + np.where(found, 3.0 + 2.0 * random.normal(size=200), 0.0)
    pairs["value"] += np.where(found, 0.0, random.normal(size=200))
    pairs["u"], pairs["reference"], pairs["u_ref"] = 1.0, truth, 0.1
    pairs["reference_id"] = np.arange(1, 201)
    for name in ("lower", "upper", "p", "crps"):
        pairs[name] = np.nan
    path = folder / "journal.sqlite"
    journal = Journal(path)
    journal.append(
        Batch(
            START,
            pairs=pairs,
            series=[KnownSeries(0, "cart/ü <3>", "mass", unit, START)],
            events=[Event("cart/ü <3>", time, name, note) for name, time, note in events],
        )
    )
    journal.close()
    return path


@pytest.fixture
def journal(tmp_path) -> Path:
    return journal_in(tmp_path)


@pytest.fixture
def keys(tmp_path) -> tuple[str, str]:
    """Return a private and a public key that openssl made."""
    made = ("genpkey -algorithm ed25519 -out key.pem", "pkey -in key.pem -pubout -out public.pem")
    for words in made:
        subprocess.run([need("openssl"), *words.split()], cwd=tmp_path, check=True)
    return str(tmp_path / "key.pem"), str(tmp_path / "public.pem")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scale.xml"
    path.write_bytes(certificate(quantity(real(U="800", unit="\\gram"))))
    return path
