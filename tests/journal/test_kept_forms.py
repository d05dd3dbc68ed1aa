"""A journal that an earlier version wrote is opened by this one, with all that was in it."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from harness.kept_journal import KEPT, NOW, live, opened

from monitor.core.model import in_event_order
from monitor.daemon.assembly import Parts
from monitor.journal import Journal
from monitor.journal.copying import verify
from monitor.journal.schema import SCHEMA_VERSION, TABLES

FORMS = sorted(KEPT.glob("form-*.journal.gz"))


def test_a_journal_of_the_present_form_is_kept():
    assert KEPT / f"form-{SCHEMA_VERSION}.journal.gz" in FORMS


@pytest.mark.parametrize("kept", FORMS, ids=lambda each: each.name.split(".")[0])
def test_a_kept_journal_is_opened_and_is_as_if_this_version_had_written_it(kept, tmp_path):
    path = tmp_path / "kept.sqlite"
    path.write_bytes(gzip.decompress(kept.read_bytes()))
    then, now = opened(path), opened(tmp_path / "now.sqlite")
    live(now)

    assert content(then.journal) == content(now.journal)
    assert then.intake.counts.totals() == now.intake.counts.totals()
    assert figures(then) == figures(now)
    live(then)  # all of it has been received before
    again, once = then.intake.counts, now.intake.counts
    assert again.committed == once.committed
    assert again.duplicate == once.committed + 2 * once.duplicate
    then.journal.close()
    now.journal.close()
    rows = verify(path)
    assert {table for table in TABLES if rows[table]} >= {
        *("series", "observations", "pairs", "events", "dead_letters", "revisions", "made"),
        *("evidence", "notes"),
    }


def content(journal: Journal) -> list[object]:
    """Return what a journal holds."""
    return [
        in_event_order(journal.pairs()).tobytes(),
        [each[:4] for each in journal.series()],
        journal.events(),
        [each[1:] for each in journal.dead_letters(100)],
        [repr(each) for _, batch in journal.observations() for each in batch],
    ]


def figures(parts: Parts) -> dict[str, bytes]:
    """Return every figure of every series, as bits."""
    snapshot = parts.network.evaluate(NOW)
    columns = {**snapshot.statistics, "evidence": snapshot.evidence}
    return {name: np.asarray(column).tobytes() for name, column in columns.items()}
