"""The reports on series whose alert is pending or fires, kept while the pairs go on.

What and why
    The detector says that a sensor is not as right as it says, and ``core.verdict`` what is wrong
    with it. This room lays the windows of series side by side (``columns_of``), has those judged
    that are not calm and changed, new alerts first, and keeps the reports (``fault_reports``) and
    what was said at each alarm (``onsets``).

Invariants
    * A report is a function of durable pairs, the detector's state and the alarm: a restart or
      another order of messages gives the same words. What an incident keeps, its onset and how its
      sensor was when it was right, is made from the pairs up to the alarm and saved beside the
      evidence, for those pairs may be gone before the incident is over.
    * The alert's name is the verdict's fault once it is clear, till then the detector's leading
      family. A wrong name never makes or ends an alert.
    * Nothing is applied. Advice is told, and a person adjusts the sensor.

Tried and rejected
    * The largest bet of the detector as the name: bets overlap, and outliers feed all of them.
    * Taking the onset from the window as it is now: it moves as the window does.

What breaks first
    Thousands of sensors that go wrong in one moment: they are judged some at a time, and till then
    it is only said that they are not right.
"""
