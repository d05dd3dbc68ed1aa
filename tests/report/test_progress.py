"""Progress is shown to people alone, and only once it takes long."""

from __future__ import annotations

import io

from harness.programs import until

from monitor.report import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_step_is_named_once_it_takes_long_and_never_in_a_file(monkeypatch):
    for screen, seconds, shown in (
        (io.StringIO(), 0.0, ""),
        (Terminal(), 1000.0, ""),
        (Terminal(), 0.0, "scoring ...\n"),
    ):
        monkeypatch.setattr(progress, "_SECONDS", seconds)
        monkeypatch.setattr("sys.stderr", screen)
        with progress.step("scoring"):
            if shown:
                until("the step is named", screen.getvalue)
        assert screen.getvalue() == shown
