"""A command that is interrupted leaves no half file, and one that takes long says what it does."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from monitor.files.whole_file import whole_file
from monitor.report import progress


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")
    path.chmod(0o640)

    def interrupted() -> None:
        with whole_file(path) as new:
            new.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"

    with whole_file(path) as new:
        new.write_text("after")
        assert path.read_text() == "before"

    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["out.csv"]


def test_a_device_is_written_to_itself():
    with whole_file(Path("/dev/null")) as new:
        assert str(new) == "/dev/null"


@pytest.mark.parametrize("takes_long", [True, False])
def test_what_takes_long_says_so_on_a_terminal(monkeypatch, takes_long):
    heard: list[str] = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "write", heard.append)
    monkeypatch.setattr(progress, "_SECONDS", 0.05 if takes_long else 3600.0)

    with progress.step("scoring 2 series"):
        until = time.monotonic() + 600.0
        while takes_long and not heard and time.monotonic() < until:
            time.sleep(0.01)

    assert heard == (["scoring 2 series ...\n"] if takes_long else [])


def test_a_report_is_written_through_and_leaves_one_file(tmp_path):
    reference = np.random.default_rng(1).normal(500.0, 20.0, 60)
    rows = [f"{at:.2f},1.5,{at:.2f}" for at in reference]
    (tmp_path / "pairs.csv").write_text("\n".join(["value,u,reference", *rows]))
    command = [sys.executable, "-m", "monitor", "report", "pairs.csv", "--out", "report.html"]
    reader, writer = pty.openpty()

    subprocess.run(command, cwd=tmp_path, check=True, stderr=writer)

    os.close(writer)
    os.close(reader)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["pairs.csv", "report.html"]
    assert (tmp_path / "report.html").read_text().rstrip().endswith("</html>")
