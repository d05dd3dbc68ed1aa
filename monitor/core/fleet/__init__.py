"""The fleet: what many sensors show together, and which of them are present.

With ten thousand sensors some alert by chance every day. A sensor's own evidence S is therefore
only a warning; a person is called for the sensors on a list (``call_out``) whose mean share of
honest ones is at most q, at any time fixed beforehand and however the sensors depend on each other.
The list compares discounted evidence D / H, whose mean is at most 1 for an honest sensor however
long it has run (e-BH; BH on 5 / D is sharper where sensors are nearly independent). No list can
have both a worst-case rate and a finite time between false alarms (arXiv 2501.04130); the discount
makes this one possible.

A wrong reference makes honest sensors alert. Where several share one (``reference_stations``) they
judge it (``suspect_references``): their pairs become one stream, with the reference's own stated
error subtracted within a round, and the same detector reads it. Few sensors cannot accuse a
reference: at least five must meet it, the tenth that leans most is left out, and the rest must
still reach the verdict. The error that the sensors of a round share (``common_errors``) reveals a
reference that is noisy, stands still or has a gain, and clears the sensors that agree with each
other. A lag that they share is that of its clock (``late_clocks``), without which each sensor is
then judged. An alert outlives its cause by some pairs: alerts left over from a reference that is
right again are still blamed on it (``former_suspicions``). Where most sensors of a group overstate
the u of their means of readings, a setting is asked about, not each sensor (``averaged_errors``).

``due_dates`` says when each series leaves its tolerance and where a reference would tell most, from
the movements that ``offset_walks`` learns from all sensors of a quantity; only where settings ask.

``presence`` records when each series was heard, which silent series leave memory, and the share of
a sensor's messages that were refused.

Invariants: verdicts are functions of windows and held references, so a restart changes none; a row
belongs to one series for ever, so an evicted series comes back as itself.

Rejected: tests on a window of each sensor with BH (measured: 93 % of the list false under t4
errors) and pooling without leaving the extreme sensors out (one bad sensor could accuse the
reference).

What breaks first: a fleet that shares a cause, such as weather. The list stays valid under any
dependence, but a common error of all sensors looks like a wrong reference, and may be one.
"""
