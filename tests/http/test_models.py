"""The documents of the interface have the members and the kinds of values of their types."""

from __future__ import annotations

import pytest
from harness.yard import fleet
from pydantic import TypeAdapter, ValidationError

from monitor.core.snapshot.additions import OwnFindings
from monitor.core.verdict import FAULTS
from monitor.extensions import all_extensions, hooks
from monitor.http import models
from monitor.http.documents import entry


def test_an_entry_has_every_member_of_its_type_and_no_other():
    snapshot = fleet(20)
    for row in range(20):
        document = entry(snapshot, row)

        assert set(document) == set(models.SeriesEntry.__annotations__)
        assert TypeAdapter(models.SeriesEntry).validate_python(document, strict=True) == document


def test_every_extension_that_adds_members_to_an_entry_says_which():
    described = all_extensions()
    for each in described:
        each.part("listener")
        each.part("plan")
    own = [of for of in OwnFindings.__subclasses__() if "document" in vars(of)]
    adding = {of.__module__.split(".")[2] for of in own if of.__module__.startswith("monitor.ext")}

    assert adding == {each.name for each in described if each.members}
    types = [models.SeriesEntry, *hooks(described, "members")]
    names = [name for each in types for name in each.__annotations__]
    assert len(names) == len({*names})


def test_the_description_of_a_verdict_has_every_fault_and_refuses_another_state():
    adapter = TypeAdapter(models.Verdict)

    assert adapter.json_schema()["properties"]["fault"]["enum"] == [*FAULTS, None]
    with pytest.raises(ValidationError, match="'right', 'fault' or 'undecided'"):
        adapter.validate_python({"state": "wrong"})
