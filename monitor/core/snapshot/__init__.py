"""All that is known of every series at one instant, immutable: readers see nothing else.

What and why
    A snapshot is columns, one entry a series: statistics, evidence, states, alerts, sentences,
    advice, times. Sinks, /metrics, the pages and the API use only the snapshot, so they cannot
    disagree, and no reader can hold up the data. Details that would be too much for all series (the
    pairs of one, the pairs that share a key, the windows of a ranking) are made on request.

The way of a snapshot
    ``build`` runs one round: it refreshes the series that changed (``series_stats``), has their
    faults reported (core/diagnosis), judges the references (core/fleet), and lays states, alerts
    and sentences beside them (``states``; the rules are in ``snapshot``, the words in
    ``state_sentences``). ``details`` looks into single series.

Invariants
    * A round consists of steps of some milliseconds, between which pairs may come. All numbers of a
      series belong to one moment between the first step and the last; a later change is in the next
      snapshot. Its words may belong to a later moment than its numbers.
    * Statistics are of the pairs that the sentence is from: none from before a repair or before
      the fault began.
    * A series that did not change keeps its numbers and its texts, the very same objects, so that
      readers see what is new by identity or by comparing columns.
    * A number that is undefined is NaN here and absent or null outside. A series that stopped is
      withdrawn: its state and times stay, its numbers are no longer shown.
    * An offset that a suspect reference explains is not an alert of the sensor.

Tried and rejected
    * A snapshot in one piece: with 100 000 series the data waited for a second.
    * Statistics on request only: thresholds, the fleet's medians and the order of the page need
      them for all series.
    * A record for each series: readers compare columns, not a hundred thousand objects.

What breaks first
    A fleet that changes as a whole between two rounds: every window is computed anew, and states
    lag by that time. And many new alerts at once: a round diagnoses 128 series, and until their
    turn the others say that it is not clear yet in which way they are wrong.
"""
