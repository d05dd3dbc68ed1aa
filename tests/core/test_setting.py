"""Types of settings: paths from their file's folder, patterns, names of variables."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from monitor.core.setting import File, FilePath, Glob, Variable


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("state/a.sqlite", "/etc/m/state/a.sqlite"),
        ("/var/a.sqlite", "/var/a.sqlite"),
        ("s3://bucket/a", "s3://bucket/a"),
    ],
)
def test_a_path_starts_from_the_last_folder_named_and_remembers_how_it_was_written(written, path):
    moved = FilePath(written).in_folder("/elsewhere").in_folder("/etc/m")

    assert (moved, moved.written) == (path, written)


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        (Glob, ("cart-*", "[ab]?", "x" * 128), ("", "a/b", "a+", "a#", "a\n", "x" * 129)),
        (Variable, ("A_1", "_"), ("", "1A", "A-B", "$A")),
        (File, ("a$", "a$1", "ü b"), ("", "a\n", "$HOME/a", "${HOME}/a", "x" * 4097)),
    ],
)
def test_texts_are_taken_as_they_are_or_refused(type_, good, bad):
    adapter = TypeAdapter(type_)

    assert [adapter.validate_python(text) for text in good] == [*good]
    for text in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(text)
