"""The papers' tables as printed, and the files of their sets.

Table I of Martin, Molteno, Parry (arXiv 1411.4354); Tables 1 and 2 of Pernot (arXiv 2402.10043v2).
"""

from __future__ import annotations

from typing import Final, NamedTuple

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


class Printed(NamedTuple):
    """A line of Table 2: estimate, bootstrap bias, 95 % BCa interval and zeta; None: not here."""

    estimate: float
    bias: float | None = None
    interval: tuple[float, float] | None = None
    zeta: float | None = None


class PaperSet(NamedTuple):
    """A set of Table 1: its number, name, size and beta_GM of u, and its lines of Table 2.

    None: not printed (beta_GM of set 6), or not here.
    """

    number: int
    name: str
    pairs: int | None
    beta_gm: float | None
    zms: Printed
    rce: Printed

    @property
    def file(self) -> str:
        """The name of the file with its pairs."""
        return f"pernot_set{self.number}.csv"


# All nine; of the last four the estimates alone.
SETS: Final = (
    PaperSet(
        1,
        "Diffusion_RF",
        2040,
        0.172,
        Printed(0.96, -0.001, (0.867, 1.1), -0.28),
        Printed(0.0186, 0.00061, (-0.0209, 0.0542), 0.47),
    ),
    PaperSet(
        2,
        "Perovskite_RF",
        3834,
        0.419,
        Printed(0.885, -1.8e-05, (0.803, 0.995), -1.05),
        Printed(-0.0387, 0.00052, (-0.107, 0.0193), -0.67),
    ),
    PaperSet(
        3,
        "Diffusion_LR",
        2040,
        0.485,
        Printed(1.12, -0.00015, (1.05, 1.2), 1.67),
        Printed(-0.00748, -8.2e-06, (-0.0524, 0.04), -0.16),
    ),
    PaperSet(
        4,
        "Perovskite_LR",
        3836,
        0.438,
        Printed(1.23, 0.00013, (1.16, 1.3), 3.48),
        Printed(0.0545, -0.0012, (0.000718, 0.126), 1.01),
    ),
    PaperSet(
        5,
        "Diffusion_GPR_Bayesian",
        2040,
        0.113,
        Printed(0.846, -0.00063, (0.777, 0.929), -1.85),
        Printed(0.0986, 0.00049, (0.0574, 0.135), 2.39),
    ),
    PaperSet(6, "Perovskite_GPR_Bayesian", None, None, Printed(0.984), Printed(0.0924)),
    PaperSet(7, "QM9_E", None, 0.524, Printed(0.972), Printed(-0.264)),
    PaperSet(8, "logP_10k_a_LS-GCN", None, 0.231, Printed(0.926), Printed(0.0459)),
    PaperSet(9, "logP_150k_LS-GCN", None, 0.223, Printed(0.971), Printed(-0.0131)),
)
# Fig. 3 as described in the text.
FIGURE_3: Final = "about 0.95 at every nu for ZMS; below 0.80 at nu = 2 for RCE"
