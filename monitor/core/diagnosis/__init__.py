"""What is wrong with a sensor whose alert is pending or fires: which fault, how large, since when.

What and why
    The detector says that a sensor is not as right as it says, and how sure that is. A person needs
    to know what to do. From the last pairs of the series this room finds the change point, names
    the fault, estimates its size with an interval, and says both in a sentence together with what
    would mend it. It decides nothing: a wrong name never makes or ends an alert.

The way of a diagnosis
    ``segments`` finds since when the pairs depart most from what was claimed (maximum likelihood
    with Schwarz's criterion). ``diagnose`` names the fault; faults that imitate others are looked
    for first. ``estimates`` has the sizes, ``sentences`` the words, ``remedies`` the advice, and
    ``faults.FAULTS`` puts them together, one entry a fault. ``fault_reports`` keeps the report on
    each series that is not calm. ``columns_of`` lays the windows of series side by side.

Invariants
    * A report is a function of the window, the detector's state and the alarm: a restart or another
      order of messages gives the same words.
    * A size comes with its 95 % interval, in which autocorrelated pairs count for fewer, and has no
      more digits than the interval warrants.
    * The offset of a fired alert comes from the pairs after the alarm once they suffice: the pairs
      that raised the alarm were chosen for being extreme.
    * What may be nothing is said without a size until it fires, and as fading once the interval no
      longer excludes it.
    * Nothing is applied. Advice is told, and a person adjusts the sensor.

Tried and rejected
    * Reading the fault off the scores (a high CRPS is an offset, a high Brier score a poor
      uncertainty): a merely cautious sensor raises its CRPS more than an offset of half a u does.
    * The largest bet of the detector as the name: bets overlap, and outliers feed all of them.
    * Replaying the evidence on the mended pairs to see whether a remedy clears the alert: the pairs
      that chose the remedy flatter it. Moments of what is left are compared instead.

What breaks first
    The name, which is provisional for twenty pairs after the alarm; docs/detection.md has how often
    it is right by then and later. A sensor whose error depends on its own value and not on the
    reference (a regression, a posterior) looks like one with a gain. Then moving faults: the size
    is a level, so a drift is told as the offset that it has had of late.
"""
