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
