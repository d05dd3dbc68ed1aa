"""What is known of every series at one instant, immutable: all that readers ever see.

What and why
    A snapshot is columns, one entry a series: statistics, evidence, states, alerts, sentences,
    advice, times. Sinks, /metrics, the pages and the API are made of it and of nothing else, so
    they cannot disagree, and no reader can hold up the data. Details that would be too much for all
    series (the pairs of one, what shares a key, the windows of a ranking) are made on request.

The way of a snapshot
    ``build`` runs one round: it refreshes the series that changed (``series_stats``), has their
    faults reported (core/diagnosis), judges the references (core/fleet), and lays states, alerts
    and sentences beside them (``states``; the rules are in ``snapshot``, the words in
    ``state_sentences``). ``details`` looks into single series.

Invariants
    * A round is made of steps of some milliseconds, between which pairs may come. All numbers of a
      series are as of one moment between the first step and the last; a change after its moment is
      in the next snapshot. Its words may be of a later moment than its numbers.
    * A series that did not change keeps its numbers and its texts, the very same objects, so that
      readers see by identity or by a comparison of columns what is new.
    * A number that is undefined is NaN here and absent or null outside. A series that stopped is
      withdrawn: its state and times stay, its numbers are no longer shown.
    * An offset that a suspect reference explains is no alert of the sensor.

Tried and rejected
    * A snapshot in one piece: with 100 000 series the data waited for a second.
    * Statistics on request only: thresholds, the fleet's medians and the order of the page need
      them of all series.
    * A record for each series: readers compare columns, not a hundred thousand objects.

What breaks first
    A fleet that changes as a whole between two rounds: every window is computed anew, and states
    lag by as much. And many new alerts at once: 128 series are diagnosed in a round, and the others
    say until then that it is not clear yet in which way they are wrong.
"""
