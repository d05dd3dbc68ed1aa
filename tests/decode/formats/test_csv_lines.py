"""Lines of comma-separated values."""

from __future__ import annotations

from tests.decode.formats.test_formats import decode


def test_csv_lines_have_the_columns_of_the_settings():
    text = "2026-03-01T06:00Z;10;x;0.5\r\n2026-03-01T06:01Z; 20 ;y;\n1;2\n"

    first, second, bad = decode("csv", text.encode())

    assert (first.value, first.u, first.assumed) == (10, 0.5, False)
    assert (second.value, second.u, second.assumed) == (20, 2, True)
    assert (bad.reason, "2 cells" in bad.detail) == ("bad_payload", True)


def test_cells_that_something_else_separates_are_named_with_it():
    (bad,) = decode("csv", b"2026-03-01T06:00Z,10,x,0.5")

    assert bad.detail.endswith(
        "has 1 cell; map.columns names 4. They are apart by ',': set delimiter"
    )
