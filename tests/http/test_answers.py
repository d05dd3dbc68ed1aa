"""Answers: what did not change is not sent again."""

from __future__ import annotations

from harness.http_service import get, page


def test_a_page_that_did_not_change_is_not_sent_again(service):
    service.publish(page())
    first = get(service, "/")
    again = get(service, "/", **{"If-None-Match": first[2]["ETag"]})

    assert first[0] == 200
    assert (again[0], again[1]) == (304, b"")
