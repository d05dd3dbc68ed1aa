"""The router: each topic to its decoder."""

from __future__ import annotations

from fuzz import differential

from monitor.decode import DECODERS


def test_every_decoder_is_compared():
    sources = differential._SETTINGS[0].sources

    assert {source.decoder for source in sources} == set(DECODERS)
    assert {source.kind for source in sources} >= {"reading", "reference", "event", "collocation"}
