"""Prometheus' text format 0.0.4 and OpenMetrics 1.0: the one writer of a /metrics page.

They differ in the headers of counters, and in an end: series, all of them gauges, are one text.
Units are comments in the former.

The daemon's and the cluster's own figures are a few families of a few samples, written by
:func:`render`. The series of :mod:`monitor.http.metrics` are a million samples of which few change
between two pages; they share the header, the escaping and the labels, and keep their lines.
:mod:`monitor.http.process_metrics` uses prometheus_client only for the process and its collector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OPEN_CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
END: Final = b"# EOF\n"  # of OpenMetrics
_UNITS: Final = ("seconds", "bytes", "ratio")
Kind = Literal["counter", "gauge"]


class Family(NamedTuple):
    """A metric: its samples are a number for each tuple of values of ``labels``."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...]
    samples: Mapping[tuple[str, ...], float]


def counter(name: str, words: str, value: float) -> Family:
    """Return the counter ``monitor_{name}_total``, without labels."""
    return counters(name, words, (), {(): value})


def gauge(name: str, words: str, value: float) -> Family:
    """Return the gauge ``monitor_{name}``, without labels."""
    return gauges(name, words, (), {(): value})


def counters(
    name: str, words: str, labels: tuple[str, ...], samples: Mapping[tuple[str, ...], float]
) -> Family:
    """Return the counter ``monitor_{name}_total`` by ``labels``."""
    return Family(f"monitor_{name}_total", "counter", words, labels, samples)


def gauges(
    name: str, words: str, labels: tuple[str, ...], samples: Mapping[tuple[str, ...], float]
) -> Family:
    """Return the gauge ``monitor_{name}`` by ``labels``."""
    return Family(f"monitor_{name}", "gauge", words, labels, samples)


def by(counts: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """Return the samples of a family with one label."""
    return {(value,): count for value, count in counts.items()}


def escape(text: str) -> str:
    """Return a label's value escaped for the text format; lone surrogates become U+FFFD."""
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode()


def labelled(labels: Mapping[str, str]) -> str:
    """Return labels as written between braces."""
    return ",".join(f'{name}="{escape(value)}"' for name, value in labels.items())


def family_header(name: str, words: str, kind: Kind = "gauge") -> bytes:
    """Return the lines that begin a family."""
    unit = name.removesuffix("_total").rpartition("_")[2]
    of_unit = f"# UNIT {name} {unit}\n" if unit in _UNITS else ""
    return f"# HELP {name} {words}\n# TYPE {name} {kind}\n{of_unit}".encode()


def render(families: Iterable[Family], *, is_open: bool = False) -> bytes:
    """Return families as text; in OpenMetrics, ``is_open``, a counter's name lacks its suffix."""
    page: list[bytes] = []
    for each in families:
        name = each.name.removesuffix("_total") if is_open else each.name
        page.append(family_header(name, each.help, each.kind))
        for values, number in each.samples.items():
            labels = labelled(dict(zip(each.labels, values, strict=True)))
            braces = f"{{{labels}}}" if labels else ""
            page.append(f"{each.name}{braces} {float(number)!r}\n".encode())
    return b"".join(page)
