"""Canonical XML, against what another implementation signed."""

from __future__ import annotations

from monitor.extensions.certificates.canonical_xml import canonical_document, read_prefixed


def test_the_two_forms_by_hand():
    document = read_prefixed(b"<b xmlns:x='u' z='1' a='2'><x:c/><d xmlns=''>&#13;</d></b>")

    inclusive = canonical_document(document, exclusive=False)
    exclusive = canonical_document(document, exclusive=True)
    assert inclusive == b'<b xmlns:x="u" a="2" z="1"><x:c></x:c><d>&#xD;</d></b>'
    assert exclusive == b'<b a="2" z="1"><x:c xmlns:x="u"></x:c><d>&#xD;</d></b>'
