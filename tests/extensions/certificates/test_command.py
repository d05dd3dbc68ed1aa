"""``monitor certificate``: its actions and options that exclude each other."""

from __future__ import annotations

import pytest

from monitor.cli import main


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "ACTION"),
        (("sign",), "invalid choice: 'sign'"),
        (("show", "a.xml", "--valid-for", "1y", "--valid-until", "2027-01-01"), "not allowed with"),
        (("show", "a.xml", "--json", "--settings"), "not allowed with"),
        (("verify", "a.xml", "--journal", "a", "--config", "b"), "not allowed with"),
    ],
)
def test_actions_and_options_that_cannot_be_meant_are_refused(words, says, capsys):
    try:
        code = main(["certificate", *words])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert says in capsys.readouterr().err
