"""What holds for all of the code: style, types, and who may import whom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
CHECKS = {
    "style": [sys.executable, "-m", "ruff", "check", "."],
    "format": [sys.executable, "-m", "ruff", "format", "--check", "."],
    "types": [sys.executable, "-m", "mypy"],
    "imports": [
        sys.executable,
        "-c",
        "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())",
    ],
}


@pytest.mark.parametrize("check", CHECKS)
def test_the_code_keeps_its_contracts(check):
    done = subprocess.run(CHECKS[check], check=False, capture_output=True, text=True, cwd=PROJECT)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_of_the_package_is_documented():
    empty = [
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "monitor").rglob("*.py")
        if not path.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]

    assert empty == []
