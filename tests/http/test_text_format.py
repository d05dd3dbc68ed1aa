"""The text format of metrics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from monitor.http.text_format import by, counters, render


@given(
    samples=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.floats(allow_nan=False) | st.integers(0, 2**53),
        max_size=4,
    )
)
def test_prometheus_reads_the_families_that_were_written(samples):
    page = render([counters("tried", "Tries.", ("what",), by(samples))])
    (family,) = text_string_to_metric_families(page.decode())

    assert (family.name, family.type) == ("monitor_tried", "counter")
    read = {sample.labels["what"]: sample.value for sample in family.samples}
    assert read == {name: float(number) for name, number in samples.items()}
