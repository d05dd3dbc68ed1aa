"""Sections refuse what contradicts itself."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from monitor.config.sections import Http, Pairing, rule_of


@pytest.mark.parametrize(
    ("more", "is_taken"),
    [
        ({}, False),
        ({"allow_remote": True}, True),
        ({"web_config": "web.yml"}, True),
        ({"host": "::1"}, True),
        ({"host": "127.9.9.9"}, True),
    ],
)
def test_other_machines_read_the_pages_only_if_that_is_allowed(more, is_taken):
    settings = {"host": "0.0.0.0", **more}
    if is_taken:
        assert Http.model_validate(settings).host == settings["host"]
    else:
        with pytest.raises(ValidationError, match="without a password"):
            Http.model_validate(settings)


def test_a_pairing_names_its_rule_and_no_key_twice():
    assert rule_of(Pairing(mode="key")) == "all"
    with pytest.raises(ValidationError, match="names the same thing twice"):
        Pairing(match_on=("key", "key"))
