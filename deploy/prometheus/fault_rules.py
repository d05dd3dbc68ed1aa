"""Writes into the files of alerts what follows from the table of faults (core/verdict/faults.py).

Between the marks in alerts.yml stands one rule a fault, written anew. SensorThreshold leaves out
the names that are alerts already, and Alertmanager keeps quiet what only a score says of a fault
that has a name. Run it after a change of the table, then kubernetes/operator/rules.py:
``python deploy/prometheus/fault_rules.py``. Everything else in the files is written by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill, indent
from typing import Final

from monitor.core.verdict import FAULTS, Fault, alert_meanings, many_of

HERE: Final = Path(__file__).parent
ALERTS: Final = HERE / "alerts.yml"
ALERTMANAGER: Final = HERE.parent / "alertmanager" / "alertmanager.yml"
BEGIN: Final = "      # One rule a fault, written by fault_rules.py.\n"
END: Final = "      # End of what fault_rules.py writes.\n"

# A daemon that posts to Alertmanager itself does so in the words of its pages.
_UNLESS: Final = (
    'unless on (job, instance) last_over_time(monitor_sink_queue_length{{sink="alertmanager"}}[5m])'
)
# What was last seen bridges a restart of the daemon. With keep_firing_for an alert would go on
# beside that of the name which the fault has got meanwhile.
_ACTIVE: Final = 'last_over_time(monitor_alert_active{{alert="{label}"}}[5m]) == 1'
_INFO: Final = """\
    * on (job, instance, sensor, quantity) group_left (unit, group, site, severity)
    (monitor_series_info
    or on (job, instance, sensor, quantity) last_over_time(monitor_series_info[5m]))"""
_RULE: Final = f"""\
- alert: {{rule}}
  expr: >-
    ({_ACTIVE}
    {_UNLESS})
{_INFO}
  labels: {{{{severity: '{{{{{{{{ or $labels.severity "{{severity}}" }}}}}}}}', fault: {{label}}}}}}
  annotations:
    many: {{many}}
    summary: '{{summary}}'
    description: >-
{{description}}
    page_url: {{page}}
    runbook_url: '{{base}}/docs/alerts#{{runbook}}'
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
# The series of an alert, and its fault, as every query of its text asks for them.
_SERIES: Final = "job=%q,instance=%q,sensor=%q,quantity=%q"
_LABELS: Final = "$labels.job $labels.instance $labels.sensor $labels.quantity"
_OF: Final = (
    f'{{{{ $of := printf "{{{_SERIES}}}[5m])" {_LABELS} }}}}'
    f'{{{{ $fault := printf "{{{_SERIES},fault=%q}}[5m])" {_LABELS} $labels.alert }}}}'
)
_WHO: Final = "{{ $labels.sensor }} ({{ $labels.quantity }}) "
_SINCE: Final = (
    '{{ with print "last_over_time(monitor_fault_since_timestamp_seconds" $of | query }}'
    ", not right since {{ . | first | value | humanizeTimestamp }}{{ end }}"
)
# The evidence says that something is wrong, the newest pairs do not say what: the alert is new, or
# the fault is over and the alert has not ended yet.
_UNCLEAR: Final = "is not as right as it says; its last pairs do not show in which way"
_UNIT: Final = "{{ with $labels.unit }} {{ . }}{{ end }}"
_VALUE: Final = re.compile(r"\{(1/|100\*)?(\w+):([^}]+)\}")
_METRICS: Final = {
    "estimate": ("monitor_fault_estimate", "$fault"),
    "lower": ("monitor_fault_estimate_lower", "$fault"),
    "upper": ("monitor_fault_estimate_upper", "$fault"),
    "error_now": ("monitor_error_now", "$of"),
}


def rule(label: str, fault: Fault) -> str:
    """Return the rule that passes a fault's alert on to Prometheus."""
    return _RULE.format(
        label=label,
        rule=fault.rule,
        severity=fault.severity,
        summary=f"{_OF}{_WHO}{_first_known(*fault.summaries)}{_SINCE}",
        base=BASE,
        page=PAGE,
        many=many_of(label, None, ""),
        description=indent(fill(fault.description, 90), "      "),
        runbook=fault.runbook,
    )


def _first_known(text: str, *others: str) -> str:
    """Return the template of the first text of which all numbers are known."""
    names = dict.fromkeys(name for _, name, _ in _VALUE.findall(text))
    shown = _VALUE.sub(_number, text).replace(" {unit}", _UNIT)
    if not names:
        return shown
    known = " ".join(_asked(" and on () " if at else "", name) for at, name in enumerate(names))
    rest = _first_known(*(others or (_UNCLEAR,)))
    return f"{{{{ if print {known} | query }}}}{shown}{{{{ else }}}}{rest}{{{{ end }}}}"


def _number(value: re.Match[str]) -> str:
    """Return the template that shows a number of the alert's series in the form that is asked."""
    scale, name, form = value.groups(default="")
    shown = f'printf "{form}"' if form.startswith("%") else form
    if form.endswith("3g"):  # which would show 1000 and more with an exponent
        whole = form.replace(".3g", ".0f")
        shown = f'printf (or (and (lt -999.5 .Value) (lt .Value 999.5) "{form}") "{whole}")'
    asked = _asked(scale, name)
    return f"{{{{ range print {asked} | query }}}}{{{{ .Value | {shown} }}}}{{{{ end }}}}"


def _asked(before: str, name: str) -> str:
    """Return the part of a query that asks for a number, after what stands before it."""
    metric, labels = _METRICS[name]
    return f'"{before}last_over_time({metric}" {labels}'


def alerts(text: str) -> str:
    """Return alerts.yml with the rules of all faults."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rules = [rule(*each) for each in FAULTS.items()]
    text = before + BEGIN + indent("".join(rules), "      ") + END + after
    return re.sub(r'(?<=alert!~")[^"]+', "|".join(alert_meanings()), text)


def inhibitions(text: str) -> str:
    """Return alertmanager.yml, in which an alert of a fault keeps the scores' alerts quiet."""
    names = "|".join(fault.rule for fault in FAULTS.values())
    start = text.index("said by a score as well")
    return text[:start] + re.sub(r'(?<=alertname =~ ")[^"]+', names, text[start:], count=1)


if __name__ == "__main__":
    ALERTS.write_text(alerts(ALERTS.read_text(encoding="utf-8")), encoding="utf-8")
    ALERTMANAGER.write_text(inhibitions(ALERTMANAGER.read_text(encoding="utf-8")), encoding="utf-8")
