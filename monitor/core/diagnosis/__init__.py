"""The reports on series that are not calm, kept while the pairs go on.

What and why
    The detector finds that a sensor is not as right as it says, ``core.verdict`` what is wrong with
    it. This room lays the windows of series side by side (``columns_of``), judges those that
    changed, new alerts first, and keeps the reports (``fault_reports``) and what was known at each
    alarm (``onsets``). A series is judged while its alert is pending or fires, and where the cheap
    fit of all its pairs is suspicious.

Invariants
    * A report is a function of durable pairs, the detector's state and the alarm: a restart or
      another order of messages gives the same words. An incident keeps its onset and how its sensor
      behaved while it was right. Both are made from the pairs up to the alarm and saved beside the
      evidence, because those pairs may be gone before the incident is over.
    * The alert's name is the verdict's fault once it is clear, until then the detector's leading
      family. A wrong name never makes or ends an alert.
    * Nothing is applied. The report advises, and a person adjusts the sensor.

Tried and rejected
    * The largest bet of the detector as the name: bets overlap, and outliers feed all of them.
    * Taking the onset from the present window: it moves with the window.

What breaks first
    Thousands of sensors that go wrong at once: they are judged a few at a time, and until then
    their reports say only that they are not right.
"""
