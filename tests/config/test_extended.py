"""Sections that extensions add to the settings."""

from __future__ import annotations

import json
import re

from monitor.config.document import read_document
from monitor.config.extended import every_model
from tests.config.test_settings import DEFAULT


def test_the_default_file_has_every_key_and_every_section():
    written = read_document(DEFAULT.read_text().encode()).values
    everything = every_model()().model_dump(mode="json")

    def shape(values):
        if isinstance(values, dict):
            return {key: shape(value) for key, value in values.items()}
        return [shape(value) for value in values] if isinstance(values, list) else None

    assert shape(written) == shape(everything)


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
