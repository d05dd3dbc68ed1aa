"""Settings of a source's certificate that contradict themselves."""

from __future__ import annotations

import pytest

from monitor.config import SettingsError
from tests.extensions.certificates.test_certified import settings_of

KINDS = {
    "kind": ({"kind": "reading"}, "sources[1].certificate: is for references"),
    "unit": ({"source": "qos: 1"}, "sources[1].unit: is missing; a source with a certificate"),
    "format": ({"source": "unit: kg\n    decoder: senml"}, "needs the decoder native or a map"),
    "twice": ({"more": "valid_for: 1y, valid_until: 2027-01-01"}, "conflicts with valid_until"),
    "period": ({"more": "valid_for: 12 months"}, "valid_for: is not a length of time"),
    "day": ({"more": "valid_until: 1.3.2027"}, "valid_until: is not a date; write one such as"),
}


@pytest.mark.parametrize("which", KINDS)
def test_settings_that_contradict_themselves_are_told(file, which):
    how, sentence = KINDS[which]
    with pytest.raises(SettingsError) as refused:
        settings_of(file, **how)

    assert sentence in str(refused.value)
