"""``monitor cluster``: its actions."""

from __future__ import annotations

import pytest

from monitor.cli import main


@pytest.mark.parametrize(("words", "says"), [((), "ACTION"), (("stop",), "choice: 'stop'")])
def test_an_action_is_needed_and_no_other_is_taken(words, says, capsys):
    try:
        code = main(["cluster", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert says in capsys.readouterr().err
