"""Writes prometheusrule.yaml: the alerts of ../../prometheus/alerts.yml as the operator wants them.

Run it after a change of the alerts: ``python deploy/kubernetes/operator/rules.py``.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Final

HERE: Final = Path(__file__).parent
ALERTS: Final = HERE.parents[1] / "prometheus" / "alerts.yml"
RULES: Final = HERE / "prometheusrule.yaml"
HEADER: Final = """\
# Made by rules.py from deploy/prometheus/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: monitor
spec:
"""


def prometheus_rule() -> str:
    """Return the whole file."""
    return HEADER + indent(ALERTS.read_text(encoding="utf-8"), "  ")


if __name__ == "__main__":
    RULES.write_text(prometheus_rule(), encoding="utf-8")
