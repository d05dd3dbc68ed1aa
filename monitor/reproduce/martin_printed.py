"""Table I of Martin, Molteno, Parry (arXiv 1411.4354) as printed."""

from __future__ import annotations

from typing import Final

# Table I as printed: method, CRPS / kg, interval score / kg, quadratic score / (1/kg).
TABLE_1: Final = (
    ("I", 15.1, 91.4, -0.0109),
    ("L", 15.1, 95.8, -0.00801),
    ("A", 16.9, 132.0, -0.00675),
    ("B", 17.7, 174.0, -0.00576),
    ("D", 19.2, 121.0, -0.00336),
    ("M", 19.2, 154.0, 0.0206),
    ("G", 23.4, 138.0, -0.00663),
    ("N", 27.2, 487.0, 0.0322),
    ("F", 51.2, 398.0, -0.00251),
    ("H", 57.6, 604.0, 0.00466),
    ("K", 65.8, 895.0, 0.0579),
    ("J", 87.4, 461.0, -0.00195),
    ("E", 156.0, 1610.0, 0.00343),
    ("C", 174.0, 3190.0, 0.0334),
)
