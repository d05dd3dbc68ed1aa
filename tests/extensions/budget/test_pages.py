"""The page of budgets and its document."""

from __future__ import annotations

import json
from dataclasses import replace

from harness.http_service import get, page

from monitor.core.snapshot.details import Contest
from monitor.extensions.budget.pages import budget_of
from tests.extensions.budget.test_documents import contenders
from tests.http.conftest import service

__all__ = ["service"]


def test_page_and_document_tell_the_same(service):
    made = contenders(2)
    shown = replace(page("good"), contenders={Contest("t"): made})
    service.publish(shown)
    found = json.loads(get(service, "/api/v1/budget?quantity=t")[1])
    assert found == json.loads(json.dumps(budget_of(made)))
    text = get(service, "/budget?quantity=t")[1].decode()
    assert "<b>&" not in text
    assert "its uncertainty is understated" in text
    assert text.count("<svg") == 1
    assert get(service, "/api/v1/budget?quantty=t")[0] == 422
