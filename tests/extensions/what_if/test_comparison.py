"""What is printed of two replays."""

from __future__ import annotations

import math

from monitor.cli import main
from monitor.journal import Journal


def test_what_is_printed_names_alerts_figures_and_how_far_back_it_goes(config, capsys):
    assert main(["what-if", "--config", str(config), "--subtract", "5", "--sensor", "high"]) == 0
    shown = capsys.readouterr()

    assert "360 pairs from 2026-02-25 06:13 to 2026-02-25 08:12 UTC" in shown.out
    assert "then: values of high: less 5" in shown.out
    assert "alerts: 2 was, 2 then" in shown.out
    assert "  was: offset 2026-02-25 07:" in shown.out
    assert "2 of 3 series as before" in shown.out
    assert "720 pairs replayed in" in shown.err


def test_a_journal_without_readings_is_said_to_have_pairs_only(config, capsys):
    journal = Journal(config.parent / "journal.sqlite")
    journal.expire(observations_before=math.inf, pairs_before=-math.inf)
    journal.close()

    assert main(["what-if", "--config", str(config)]) == 0
    shown = capsys.readouterr().out
    assert "no reading is held any more, so all pairs stay as they were made" in shown
    assert shown.endswith("3 of 3 series as before\n")
