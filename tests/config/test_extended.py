"""Sections that extensions add to the settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from monitor.config.document import read_document
from monitor.config.extended import every_model
from tests.config.test_settings import DEFAULT


def keys(values, place="") -> Iterator[str]:
    """Yield the place of every key and entry, that of a section with a dot at its end."""
    if isinstance(values, list):
        values = dict(enumerate(values))
    is_section = isinstance(values, dict)
    yield f"{place}." if is_section else place
    for name, value in values.items() if is_section else ():
        yield from keys(value, f"{place}.{name}".lstrip("."))


def test_the_default_file_has_every_key_and_every_section():
    written = {*keys(read_document(DEFAULT.read_text().encode()).values)}
    everything = {*keys(every_model()().model_dump(mode="json"))}

    assert sorted(everything - written) == [], "add them to configs/default.yaml by hand"
    assert sorted(written - everything) == []


def test_no_setting_that_names_a_file_is_left_where_it_is():
    """All keys of that kind are in FILES, or have a default."""
    schema = every_model().model_json_schema()
    names = set(
        re.findall(r'"([a-z_]*(?:_file|path|config|results|checkpoint))": {', json.dumps(schema))
    )

    assert names - {"unit_path", "websocket_path", "root_path"} == {
        *("password_file", "ca_file", "cert_file", "key_file", "path", "places_file", "url_file"),
        *("secret_file", "authorization_file", "web_config", "properties_file", "checkpoint"),
        "results",
    }
