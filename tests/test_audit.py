"""What needs no network of `make audit`: the code against bandit's rules, the lock's checksums."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BANDIT = [sys.executable, "-m", "bandit", "--quiet", "--configfile", "pyproject.toml"]


def test_bandit_finds_nothing():
    done = subprocess.run(
        [*BANDIT, "--recursive", "monitor"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_bandit_would_find_something(tmp_path):
    code = tmp_path / "unsafe.py"
    code.write_text("import pickle\n\npickle.loads(b'')\neval('1')\n", encoding="utf-8")
    done = subprocess.run(
        [*BANDIT, str(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "B301" in done.stdout


def test_everything_that_is_locked_has_a_checksum():
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    packages = [each for each in lock["package"] if "registry" in each["source"]]
    files = [file for each in packages for file in [*each.get("wheels", []), each.get("sdist")]]

    assert len(packages) > 50
    assert all(file["hash"].startswith("sha256:") for file in files if file is not None)
