"""The detector: anytime-valid evidence that a sensor is not as right as it states.

A sensor that states its uncertainty states a null hypothesis: z = error / u_eff has mean 0 and
standard deviation 1. No training period is needed, and a sensor that is wrong from its first day is
found, which a change detector never does. The detector bets against that claim (``e_values``): 21
nonnegative numbers a pair in five families (offset, understated, overstated, outliers, gain), each
of mean at most 1 for an honest sensor, whatever the shape of its errors. Bets on a gain are offset
bets whose side and size go with the level of the pair (``levels``). Evidence is their weighted
Shiryaev-Roberts sum, M <- (M + 1) e (``accumulation``); S - t is a supermartingale for an honest
sensor, so the mean number of pairs to a false alarm at S >= A is at least A. That one number, the
patience, is the only setting.

A u that goes with the reading is smaller when a sensor reads low by chance: its z is taken with the
usual u, learnt from earlier pairs (``usual_u``).

Errors that depend on each other are whitened by what was learnt of their autocorrelation in the
last few hundred pairs (``whitening``); what that leaves is measured in blocks of pairs (``scales``)
and makes the bets smaller. How narrow the middle of honest errors is, is learnt there as well: a
bet on a too large u need not allow for heavier tails than the sensor has.

A candidate is confirmed (``accumulation``) by a replay of its last 512 pairs with the current
estimates of autocorrelation and of the usual u. While an alert fires its evidence stands still, and
a reverse test (``lifecycle``) bets that the fault is gone; a fault that comes back soon after an
all-clear must stay away for longer than it did. ``replay`` feeds the detector in event order and
replays where the past changed, from one of the ``evidence_checkpoints``, in pieces that no epoch
cuts (``detector_inputs``); ``kept_evidence`` is the checkpoint that a journal keeps for the next
start. ``thresholds`` are plain limits on statistics for those who want them, with no
guarantee.

Invariants:

* Evidence is a function of the pairs in event order and the epochs: batches, neighbours, restarts
  and late pairs leave the same bits. Sums are added in a fixed order for that.
* Nothing is learnt from the pair that is being judged: whitening, weights and the usual u rest on
  the past only.
* The null has a tolerance (|bias| <= 0.1 u, u to 10 %): with an exact null, harmless faults alarm.

Measured and rejected (docs/evidence/detection.md): limits on the CRPS or Brier score (even in z,
so offset and spread look alike, and an overstated u never shows), rolling tests (95 % false alarms
in 600 pairs), change detectors (they miss what was wrong from the start), Gaussian likelihood
ratios (false alarms every 387 instead of 50 000 pairs under t4 errors).

What breaks first: errors half of whose variance changes over hundreds of pairs, and volatility
that clusters but is not stated. An offset that sensor and reference share is invisible here; see
the fleet.
"""
