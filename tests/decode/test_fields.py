"""Fields of a record besides its numbers."""

from __future__ import annotations

import pytest

from monitor.decode.spec import MapError
from monitor.decode.time import reader
from tests.decode.test_mapping import T, observe


@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ("%H:%M", "has no full date"),
        ("%d.%m. %H:%M", "has no full date"),
        ("%d.%m.%Y %H:%M %p", "loses AM or PM"),
        ("%d.%m.%Y %I:%M", "loses AM or PM"),
        ("%Y-%m-%d %H:%M %Z", "names a zone in vain"),
    ],
)
def test_a_layout_that_loses_a_part_of_the_time_is_refused(layout, told):
    with pytest.raises(MapError, match=told):
        reader(layout=layout)


def test_a_key_has_one_spelling():
    spec = {"key": "eid", "key_remove": " -", "key_case": "upper"}

    (found,) = observe({"t": T, "v": 1, "u": 1, "eid": "982 000-ab"}, **spec)
    (number,) = observe({"t": T, "v": 1, "u": 1, "eid": 982000412345678}, **spec)
    (none,) = observe({"t": T, "v": 1, "u": 1}, **spec)

    assert (found.key, number.key) == ("982000AB", "982000412345678")
    assert (none.reason, "$.eid" in none.detail) == ("missing_field", True)


@pytest.mark.parametrize(
    ("more", "name"), [({"station": {"id": "S3"}}, "S3"), ({"station": {"id": 3}}, "3"), ({}, "")]
)
def test_a_reference_may_name_what_measured_it_by_path(more, name):
    (found,) = observe(
        {"t": T, "v": 1.0, **more},
        kind="reference",
        subject="{sensor}",
        reference_id="station.id",
        series=[{"value": "v", "quantity": "o3"}],
    )

    assert found.reference_id == name
