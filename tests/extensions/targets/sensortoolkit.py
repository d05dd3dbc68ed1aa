"""PM2.5 of three sensors beside a T640X, as the U.S. EPA's sensortoolkit ships and evaluates them.

Daily averages of the example of github.com/USEPA/sensortoolkit (Burdens Creek, N.C., August 2019;
the work of a federal agency, in the public domain), rounded to 1e-6 ug/m3: those of the sensors as
stored at 1474e1b and 6609928, those of the reference made here of its hourly values (2a73687), at
least 18 a day. The results are those it wrote at d8fd90f (210517), before any release, to the
digits that the rounding leaves.
"""

from __future__ import annotations

from typing import Final

import numpy as np

_REFERENCE: Final = """
8.070833 6.7125 8.216667 8.7375 8.304167 9.941667 8.395833 10.870833 10.8375 11.045833
9.652174 9.15 6.808333 7.158333 7.5875 6.333333 6.079167 9.170833 6.95 7.23913
7.933333 5.6625 6.179167 5.7625 6.345833 6.208333 5.958333 6.216667 8.0 7.804167
"""
_SENSORS: Final = {
    "SN01": """
6.049028 5.460417 5.163056 6.874236 6.471736 7.857431 5.792639 7.017708 6.367917 6.28
4.78 6.512778 5.253125 5.632292 4.988333 4.311111 4.092153 6.300694 3.421458 3.577083
3.700263 2.127765 2.116595 2.013668 2.536667 2.849028 2.337569 2.230417 2.809653 2.753194
""",
    "SN02": """
5.167917 5.318681 5.065 7.413681 6.193125 8.139861 5.955139 6.712639 6.451458 6.846875
4.9075 6.854861 4.848958 5.571667 5.317222 3.910972 3.608194 6.452361 3.606875 3.722083
3.872281 2.037917 2.020833 2.453125 3.036806 3.063333 1.947083 1.917917 2.455903 2.508819
""",
    "SN03": """
5.188403 5.085069 4.742222 7.292014 5.622778 7.641319 5.273264 6.030347 5.627917 5.881389
3.999514 5.919792 3.996319 5.070486 4.881458 3.617569 3.2075 5.899722 3.198264 3.161875
3.674123 1.761181 1.603542 1.975139 2.545139 2.837083 1.708264 1.163611 1.650556 1.755417
""",
}


def _numbers(text: str) -> np.ndarray:
    return np.array([float(each) for each in text.split()])


REFERENCE: Final = _numbers(_REFERENCE)
SENSORS: Final = {name: _numbers(text) for name, text in _SENSORS.items()}
DAYS: Final = (*range(2, 23), *range(24, 33))
"""Days of August; 32 is the first of September. On the 23rd the sensors were off."""

# R2, slope, intercept and RMSE of each sensor; SD, CV, RMSE and NRMSE of all three.
PRINTED: Final = {
    "SN01": (0.5980406, 0.8618489, -2.1139918, 3.3814102),
    "SN02": (0.6271111, 0.9176990, -2.5583450, 3.3869147),
    "SN03": (0.5427592, 0.8396829, -2.4638141, 3.9095636),
}
PRINTED_SD, PRINTED_CV, PRINTED_RMSE, PRINTED_NRMSE = 0.313, 7.091, 3.568, 46.497
REFERENCE_WITHOUT_SENSORS: Final = (7.271429, 4.945833)
"""Averages of the reference on the two further days that its NRMSE is divided by."""
