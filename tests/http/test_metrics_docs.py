"""The page of metrics is that of the code."""

from __future__ import annotations

from monitor.http.metrics_docs import PAGE_FILE, metrics_page


def test_the_list_of_metrics_is_current():
    """Else: python -m monitor.http.metrics_docs."""
    assert PAGE_FILE.read_text(encoding="utf-8") == metrics_page()
