"""Fixtures for the tests of explain."""

from __future__ import annotations

import json

import pytest
from harness.explained import FORMATS, NOW, Told

from monitor.cli import main


@pytest.fixture
def tell(capsys):
    def run(config, message, *earlier, options=()):
        withs = [part for each in earlier for part in ("--with", *each)]
        code = main(["explain", "--config", config, "--now", NOW, *options, *withs, *message])
        out, err = capsys.readouterr()
        return Told(code=code, out=out, err=err)

    return run


@pytest.fixture
def document(tell):
    def run(config, message, *earlier):
        told = tell(config, message, *earlier, options=["--json"])
        return json.loads(told.out)

    return run


@pytest.fixture(scope="session")
def formats(tmp_path_factory):
    file = tmp_path_factory.mktemp("explain") / "formats.yaml"
    kinds = '- {topic: "r/{subject}/{quantity}", kind: reference}\n'
    file.write_text(FORMATS.replace("maintenance:", kinds + "maintenance:"))
    return str(file)
