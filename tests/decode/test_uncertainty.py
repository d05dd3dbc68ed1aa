"""Uncertainty as payloads state it."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys

import pytest
from harness.programs import WAIT_SECONDS, written

from monitor.decode.checks import Rejected
from monitor.decode.uncertainty import formula


def test_a_unit_that_turns_the_axis_turns_the_quantiles():
    """Wavenumber and the like aside, a conversion with a negative factor must not cross them."""
    from monitor.decode.uncertainty import Claim

    turned = Claim((1.0, 2.0, 5.0), (0.1, 0.5, 0.8)).converted(-2.0, 1.0)

    assert turned.places == (-9.0, -3.0, -1.0)
    assert turned.levels == pytest.approx((0.2, 0.5, 0.9))


HOSTILE = {
    "9**9**9": "is too large, or divides by zero",
    "3999999**3999999": "is too large, or divides by zero",
    "1/0": "is too large, or divides by zero",
    "'a'*10**9": "'a' is not a number",
    "f'{1:>999999999}'": "JoinedStr is not available",
    "[x for x in [y for y in range(10**9)]]": "ListComp is not available",
    "value.__class__.__mro__": "Attribute is not available",
    "1<<10**9": "'1<<10**9'",
    "max(value, key=abs)": "keyword is not available",
    "abs": "not a number",
    "value; value": "invalid syntax",
    "import os": "invalid syntax",
    "True": "'True' is not a number",
    "0+" * 99 + "0+0": "must have at most 200 characters",
    "(" * 100 + "value" + ")" * 100: "must have at most 200 characters",
}
SETTINGS = """
journal: {{path: "{folder}/journal.sqlite"}}
sources:
"""
SOURCE = """
  - topic: "t{number}/{{sensor}}"
    kind: reading
    decoder: json
    map: {{time: t, series: [{{quantity: x, value: v, assumed: {formula}}}]}}
"""


def test_hostile_formulas_and_layouts_are_refused_by_check_config_and_cost_nothing(tmp_path):
    """Within what they would take by themselves: 1 GB of memory, a minute of the processor."""
    sources = [
        SOURCE.format(number=number, formula=f'"{text}"') for number, text in enumerate(HOSTILE)
    ]
    layout = "%d.%m.%Y" + "%c" * 2000
    sources.append(
        SOURCE.format(number=99, formula='"1"').replace(
            "{time:", f'{{time_layout: "{layout}", time:'
        )
    )
    settings = written(
        tmp_path, "settings.yaml", SETTINGS.format(folder=tmp_path) + "".join(sources)
    )

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))

    command = [sys.executable, "-m", "monitor", "check-config", str(settings)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=WAIT_SECONDS,
        preexec_fn=limit, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip

    assert done.returncode == 2, done.stderr
    for number, reason in enumerate(HOSTILE.values()):
        assert re.search(rf"sources\[{number}\]\D.*{re.escape(reason)}", done.stdout), reason
    assert "time_layout: must have at most 64 characters" in done.stdout


@pytest.mark.parametrize(
    ("text", "value", "u"),
    [
        (" 0.1 + 0.02 * abs(value) ", -9.0, 0.28),
        ("max(0.5, value // 2 + value % 2, -value)", 5.0, 3.0),
        ("0.02 * value + 1 if not value < 0 and value != 3 else 3", 3.0, 3.0),
        ("1 / (value - 1)", 3.0, 0.5),
        ("value ** 2 ** 0.5", 4.0, 4.0**2.0**0.5),
        ("sqrt(value)", 4.0, 2.0),
    ],
)
def test_a_formula_of_numbers_is_what_it_says(text, value, u):
    assert formula(text, ())(value) == u


def test_a_formula_that_some_value_has_no_u_of_refuses_that_value_alone():
    u_of = formula("10 ** value", ())

    assert u_of(2.0) == 100.0
    with pytest.raises(Rejected, match=r"'10 \*\* value' of 1e\+06 fails"):
        u_of(1e6)
