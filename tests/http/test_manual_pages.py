"""The documentation is served with the other pages."""

from __future__ import annotations

import re

from harness.http_service import get, page


def test_the_documentation_is_served_with_links_that_lead_on(service):
    service.publish(page())
    contents = get(service, "/docs")[1].decode()
    asked = re.findall(r'href="(/docs/[\w./-]+#[\w-]+)"', contents)

    assert len(asked) >= 20
    text = get(service, "/docs/pairing")[1].decode()
    assert '<h2 id="no-pairs">' in text
    for target in re.findall(r'(?:href|src)="(/docs/[^"#]+)', text + contents):
        status, _, headers = get(service, target)
        assert status == 200, target
        assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_language_models_are_served_the_same_pages_as_text(service):
    status, listed, headers = get(service, "/docs/llms.txt")

    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", listed.decode())
    assert {"pairing", "llms-full.txt"} <= set(targets)
    for target in targets:
        assert get(service, f"/docs/{target}")[0] == 200, target
