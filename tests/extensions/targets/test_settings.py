"""The keys of ``scoring`` that ask for a regulator's figures."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError, parse
from monitor.config.core_plan import rules_of


def test_groups_have_rules_and_limit_values_of_their_own():
    settings = parse(
        b"""
scoring: {targets: eu}
groups:
  - {name: usa, sensors: ["u*"], scoring: {targets: epa}}
overrides:
  - {sensor: "*", quantity: no2, scoring: {limit_value: 40, limit_u_ref: 2}}
""",
        "settings.yaml",
    )
    asked = [rules_of(settings, *name) for name in (("u1", "o3"), ("a", "no2"), ("a", "o3"))]

    assert [each.asked("targets") for each in asked] == ["epa", "eu", "eu"]
    assert [each.asked("limit_value") for each in asked] == [None, 40.0, None]
    assert [each.asked("limit_u_ref") for each in asked] == [None, 2.0, None]
    with pytest.raises(SettingsError, match="targets"):
        parse(b"scoring: {targets: who}", "settings.yaml")
