"""What is generated from the settings: the page, the schema, the default file."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from monitor.config.document import read_document
from monitor.config.settings_docs import (
    PAGE_FILE,
    SCHEMA_FILE,
    commented,
    schema_json,
    settings_page,
)
from tests.config.test_settings import DEFAULT, PROJECT, examples_taken_in, mistakes_of, settings_of


def test_the_generated_files_are_up_to_date():
    """``python -m monitor.config.settings_docs`` writes them anew."""
    assert (PROJECT / SCHEMA_FILE).read_text() == schema_json()
    assert (PROJECT / PAGE_FILE).read_text() == settings_page()
    assert DEFAULT.read_text() == commented(DEFAULT.read_text())


def test_the_schema_takes_the_default_file_and_its_examples():
    schema = json.loads(schema_json())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)

    for text in (DEFAULT.read_text(), examples_taken_in(DEFAULT.read_text())):
        validator.validate(read_document(text.encode()).values)


@pytest.mark.parametrize(
    "text",
    [
        "mqtt: {port: 0}",
        "mqtt: {prot: 1}",
        "groups: [{name: a, sensors: [a], windows: {pairs: null}}]",
        "groups: [{name: a}]",
        "http: {allow_remote: on}",
        "sources: []",
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(text):
    schema = json.loads(schema_json())

    assert mistakes_of(text)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(read_document(text.encode()).values, schema)


def test_the_example_of_the_reference_page_is_valid():
    (example,) = re.findall(r"```yaml\n(.*?)```", settings_page(), re.DOTALL)

    assert settings_of(example).mqtt.host == "broker.example"
    assert len(example.splitlines()) == 6
