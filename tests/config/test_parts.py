"""Groups and overrides have the keys of the sections, with the same limits."""

from __future__ import annotations

from monitor.config import Settings
from monitor.config.parts import Overridable
from tests.config.test_settings import keys_of


def test_a_part_of_a_group_has_only_keys_of_its_section_with_the_same_limits():
    whole = Settings.model_json_schema()["$defs"]
    for name in keys_of(Overridable):
        section, part = whole[name.capitalize()], whole[f"{name.capitalize()}Part"]
        for key, field in part["properties"].items():
            said = {"description", "default", "title"}
            original = section["properties"][key]
            assert {k: v for k, v in field.items() if k not in said} == {
                k: v for k, v in original.items() if k not in said
            }
