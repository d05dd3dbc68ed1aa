"""Writes into the files of alerts what follows from the table of faults (core/verdict/faults.py).

Between the marks in alerts.yml stands one rule a fault, written anew; SensorThreshold leaves out
the names that are alerts already, and Alertmanager keeps quiet the warnings of a sensor that
somebody is called for. Run it after a change of the table, then kubernetes/operator/rules.py:
``python deploy/prometheus/fault_rules.py``. Everything else in the files is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill, indent
from typing import Final

from monitor.core.verdict import FAULTS, Fault, alert_meanings

HERE: Final = Path(__file__).parent
ALERTS: Final = HERE / "alerts.yml"
ALERTMANAGER: Final = HERE.parent / "alertmanager" / "alertmanager.yml"
BEGIN: Final = "      # One rule a fault, written by fault_rules.py.\n"
END: Final = "      # End of what fault_rules.py writes.\n"

_RULE: Final = """\
- alert: {rule}
  expr: >-
    (monitor_alert_active{{alert="{label}"}} == 1)
    * on (job, instance, sensor, quantity) group_left (unit, group) monitor_series_info
  keep_firing_for: 5m
  labels: {{severity: {severity}}}
  annotations:
    summary: "{{{{ $labels.sensor }}}} ({{{{ $labels.quantity }}}}) {summary}{size}{since}"
    description: >-
{description}
    page_url: {page}
    runbook_url: '{base}/docs/runbook#{runbook}'
"""
# Where people reach the daemon: what http.public_url says, else where Prometheus scrapes it.
BASE: Final = (
    '{{ with printf "monitor_pages_info{job=%q,instance=%q}" $labels.job $labels.instance '
    "| query }}"
    '{{ . | first | label "url" }}{{ else }}http://{{ $labels.instance }}{{ end }}'
)
_ESCAPED: Final = '{{{{ $labels.{label} | urlquery | reReplaceAll "[+]" "%20" }}}}'
PAGE: Final = (
    f"'{BASE}/series/"
    + "/".join(_ESCAPED.format(label=label) for label in ("sensor", "quantity"))
    + "'"
)
# How large a fault is, of which the description shows a metric.
_SIZES: Final = {
    "drift_per_day": ": {error_now:%+.3g} {unit}, {drift_per_day:%+.3g} {unit} a day",
    "error_now": ": {error_now:%+.3g} {unit}",
    "calibration_zms": ": mean of z squared {calibration_zms:%.2f}",
}
_VALUE: Final = re.compile(r"\{(\w+):(%[^}]+)\}")
_ON_ITS_OWN: Final = re.compile(r" (\{\w+:%[^}]+\}\S*) ")  # a query makes a long line
_OF_SERIES: Final = "job=%q,instance=%q,sensor=%q,quantity=%q"
_LABELS: Final = "$labels.job $labels.instance $labels.sensor $labels.quantity"


def rule(label: str, fault: Fault) -> str:
    """Return the rule that passes a fault's alert on to Prometheus."""
    lines = _ON_ITS_OWN.sub(r"\n\1\n", fault.description).splitlines()
    description = "\n".join(fill(line, 90) for line in lines)
    description = _VALUE.sub(_queried, description).replace("{unit}", "{{ $labels.unit }}")
    return _RULE.format(
        label=label,
        rule=fault.rule,
        severity=fault.severity,
        summary=fault.summary,
        size=_size(fault).replace('"', '\\"'),
        since=_since().replace('"', '\\"'),
        base=BASE,
        page=PAGE,
        description=indent(description, "      "),
        runbook=fault.runbook,
    )


def _size(fault: Fault) -> str:
    """Return what a summary says of a fault's size: with its sign and unit, where there are."""
    for metric, text in _SIZES.items():
        if f"{{{metric}:" in fault.description:
            return _VALUE.sub(_queried, text).replace("{unit}", "{{ $labels.unit }}")
    return ""


def _since() -> str:
    """Return what a summary says of a fault's beginning; nothing where the metric is absent."""
    query = f'printf "monitor_fault_since_timestamp_seconds{{{_OF_SERIES}}}" {_LABELS} | query'
    shown = ", not right since {{ . | first | value | humanizeTimestamp }}"
    return f"{{{{ with {query} }}}}{shown}{{{{ end }}}}"


def _queried(value: re.Match[str]) -> str:
    """Return the template that asks for a metric of the alert's series; "?" if it is absent."""
    metric, form = value.groups()
    query = f'printf "monitor_{metric}{{{_OF_SERIES}}}" {_LABELS} | query'
    shown = f'. | first | value | printf "{form}"'
    return f"{{{{ with {query} }}}}{{{{ {shown} }}}}{{{{ else }}}}?{{{{ end }}}}"


def alerts(text: str) -> str:
    """Return alerts.yml with the rules of all faults."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rules = "".join(rule(label, fault) for label, fault in FAULTS.items())
    text = before + BEGIN + indent(rules, "      ") + END + after
    return re.sub(r'(?<=alert!~")[^"]+', "|".join(alert_meanings()), text)


def inhibitions(text: str) -> str:
    """Return alertmanager.yml, which keeps the warning of each fault quiet beside SensorPage."""
    rules = "|".join(fault.rule for fault in FAULTS.values())
    start = text.index("[alertname = SensorPage]")
    return text[:start] + re.sub(r'(?<=alertname =~ ")[^"]+', rules, text[start:], count=1)


if __name__ == "__main__":
    ALERTS.write_text(alerts(ALERTS.read_text(encoding="utf-8")), encoding="utf-8")
    ALERTMANAGER.write_text(inhibitions(ALERTMANAGER.read_text(encoding="utf-8")), encoding="utf-8")
