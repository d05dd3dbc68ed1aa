"""Alerts: from differences between snapshots to transitions, delivered to sinks.

Prometheus evaluates rules by itself; this room is for everyone else. After each publication
`ledger` compares the snapshot with the transitions sent so far and returns the new ones
(`transition`); `dispatch` makes them durable in the journal and hands them to one `outlet` per
sink: a bounded queue and a thread that delivers in order, retries with growing pauses and jitter,
and gives up after ``give_up_hours``. `sinks` is the registry: log, MQTT, webhook and
Alertmanager, a file each; `posting` is the HTTP of the last two.

Invariants:

* The comparison is with what was sent, not with the previous snapshot, so a restart repeats
  nothing and forgets nothing.
* A transition is in the journal before any sink has it, and keeps its id however often it is
  delivered: receivers may see an id twice (at least once), but none is lost while the journal
  keeps it (``sinks.history``).
* A sink can hold up neither the data nor another sink.
* Alertmanager forgets what is not said again: all that fires is repeated, as the page says it then,
  with the ends of the last quarter of an hour.
* All sinks except the log receive only `firing` and the transition that ends it.
* A late or revised reference may show that an alert should never have fired; its end then says so
  (``corrected``).
* A suspect reference is one alert of the reference, not one of each sensor that meets it.
* No URL, header or secret is part of any message.

Considered and rejected: comparing consecutive snapshots (a crash between two of them loses or
repeats a transition); one queue for all sinks (the slowest delays the others); delivering from the
data's thread with short time-outs (a sink that accepts and stalls still stops the data).

What breaks first: a sink that stays behind for more than ``sinks.history`` transitions loses the
oldest, which ``monitor_sink_dropped_total`` counts.
"""
