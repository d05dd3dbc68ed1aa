"""Numbers about a sensor from a window of its pairs: scores of pairs, statistics of windows.

What and why
    A score is one number a pair, lower is better; a statistic is one number a window. Scores are
    proper: over many pairs a sensor does best by stating what it believes. So they judge what was
    stated (value, u, interval) and nothing else. Statistics of calibration ask whether errors are
    as large as stated; they use u_eff, which includes the uncertainty of the reference and of the
    pairing, because a poor reference makes an honest sensor look wrong. Beside each score stands
    the value that the sensor's own claim predicts, so that "high" needs no threshold a sensor.
    docs/evidence/papers.md maps every row of the three papers to a function and a test here.

Where things are
    ``proper_scores`` and ``ensembles`` score pairs; ``calibration``, ``bins``, ``intervals``,
    ``crps_parts``, ``characteristics``, ``curves`` and ``conventions`` are statistics of windows;
    ``entries`` makes statistics of scores and says what an entry of ``statistics.STATISTICS``
    holds. Everything that lists statistics takes the list from there.

Invariants
    * A function takes ``Columns``, the pairs of many series end to end, and gives a series the same
      bits alone as among ten thousand: sums go over the series by ``np.add.reduceat``.
    * A common shift of values, references and intervals changes nothing; another unit changes a
      statistic as its entry says. Errors are differences first, and squares come after.
    * An undefined number is NaN, never a guess: no coverage without an interval, no spread of one
      pair, no interval below twenty pairs.
    * Steps that several statistics need are done once a portion (``Columns.once``).

Tried and rejected
    * Running sums that add each new pair and subtract the one that leaves: one value of 1e20 spoils
      them for ever, and the naive variance of values near 1e9 loses every digit. A thousand pairs
      are summed in a microsecond.
    * The bootstrap (BCa) for live intervals of ZMS: it needs thousands of replicates and a seed,
      and verdicts near the limit depend on the seed. The saddlepoint interval is nearer to BCa's
      limit than ABC, and deterministic. BCa stays for ``monitor score --bca``.
    * Alarms from statistics: at twenty pairs a calibrated sensor with heavy tails fails the test of
      ZMS one time in five. Alerts come from evidence (core/detector); thresholds on statistics are
      for those who ask for them.

What breaks first
    The published interval of ZMS takes pairs as independent. With a lag-1 correlation of 0.8 it
    holds the truth 6 times in 10 (docs/evidence/statistics.md): read ``calibration_z_lag1`` beside
    it. And every statistic covers a whole window: a fault that began in its middle is averaged
    away.
"""
