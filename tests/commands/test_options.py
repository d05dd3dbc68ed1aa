"""Times that a person writes for an option."""

from __future__ import annotations

import pytest

from monitor.commands.options import instant_of
from monitor.errors import UsageError


def test_a_time_needs_a_zone_and_counts_from_1970():
    assert instant_of("2026-03-01T06:00+13:00", "--at") == 1_772_298_000.0
    assert instant_of("1970-01-02T00:00:00.5Z", "--at") == 86_400.5
    with pytest.raises(UsageError, match=r"--at 2026-03-01T06:00: has no zone; add Z"):
        instant_of("2026-03-01T06:00", "--at")
    with pytest.raises(UsageError, match=r"--at now: write ISO 8601"):
        instant_of("now", "--at")
