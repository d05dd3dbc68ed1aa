"""``monitor reproduce pernot`` beside the printed tables and plain formulas."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.extensions.papers.conftest import written
from tests.extensions.papers.test_command import QUICK
from tests.extensions.papers.test_generated_claims import by_first, made, titled


@pytest.fixture(scope="module")
def pernot(tmp_path_factory, shared_data):
    folder = tmp_path_factory.mktemp("pernot")
    return made(folder, "pernot", "--data", str(shared_data), *QUICK)


@pytest.mark.parametrize("number", range(1, 6))
def test_pernots_tables_have_what_is_printed_and_what_the_data_must_give(number, pernot, expected):
    want = expected[f"pernot_set{number}"]
    sizes = by_first(titled(pernot, "Table 1"))[f"set {number}, {want['name']}"]
    lines = by_first(titled(pernot, "Table 2"))

    assert sizes[:3] == (str(want["paper"]["n"]), str(want["n"]), str(want["paper"]["beta_gm"]))
    beta = want["exact"]["beta_gm_u_harrell_davis"]["value"]
    assert float(sizes[3]) == pytest.approx(beta, abs=5e-4)
    for key in ("zms", "rce"):
        line, paper, boot = (
            lines[f"set {number}, {key.upper()}"], want["paper"][key], want["bootstrap"][key]
        )  # fmt: skip
        printed, bias, interval, zeta, ours, own_bias, share, bca, own_zeta, abc, verdict = line
        assert float(printed) == paper["est"]
        assert float(bias) == pytest.approx(paper["bias"], rel=0.05)
        assert [float(end) for end in interval.split(" to ")] == paper["ci"]
        assert float(zeta) == paper["zeta"]
        assert float(ours) == pytest.approx(want["exact"][key]["value"], abs=5.1e-5)
        low, high = (float(end) for end in bca.split(" to "))
        for got, name, digit in (
            (low, "lo", 5e-5), (high, "hi", 5e-5), (float(own_zeta), "zeta", 5e-3),
            (float(own_bias), "bias", 1e-5),
        ):  # fmt: skip
            assert abs(got - boot[name]["mean"]) <= boot[name]["tol"] + digit, name
        assert float(share) == pytest.approx(float(own_bias) / (high - low), abs=1e-3)
        ends = [float(end) for end in abc.split(" to ")]
        assert ends == pytest.approx([boot["abc"]["lo"], boot["abc"]["hi"]], abs=5.1e-5)
        assert boot["verdict"].startswith(verdict)


def test_decimation_of_the_papers_sets_leaves_the_interval_of_rce_alone(pernot):
    """Fig. 2: RCE of sets 3 and 4 leaves its interval at once, ZMS of none."""
    leaves = {row[0]: row[-2] for row in titled(pernot, "ZMS and RCE of what is left")[1:]}

    assert all(leaves[f"set {n}, ZMS"] == "never" for n in range(1, 6))
    assert leaves["set 3, RCE"] != "never"
    assert leaves["set 4, RCE"] != "never"


def test_decimation_leaves_out_the_largest_u(tmp_path, own):
    folder, drawn = own
    tables = made(tmp_path / "out", "pernot", "--data", str(folder), *QUICK)

    rows = by_first(titled(tables, "ZMS and RCE of what is left"))
    order = np.argsort(drawn["u"])
    error, u = drawn["error"][order], drawn["u"][order]
    for column, share in enumerate((0.0, 0.01, 0.02, 0.05, 0.1)):
        left = slice(0, 300 - round(300 * share))
        zms = np.mean((error[left] / u[left]) ** 2)
        rce = 1.0 - np.sqrt(np.mean(error[left] ** 2) / np.mean(u[left] ** 2))
        assert float(rows["set 1, ZMS"][column]) == pytest.approx(zms, abs=5.1e-5)
        assert float(rows["set 1, RCE"][column]) == pytest.approx(rce, abs=5.1e-5)


def test_one_factor_and_ten_are_chosen_on_one_half_and_judged_on_the_other(tmp_path, own):
    folder, drawn = own
    tables = made(tmp_path / "out", "pernot", "--data", str(folder), *QUICK)

    rows = by_first(titled(tables, "Factors chosen on every other pair"), 2)
    error, u = drawn["error"], drawn["u"]
    factor = np.sqrt(np.mean((error[::2] / u[::2]) ** 2))
    judged = (error[1::2] / u[1::2]) ** 2
    order = np.argsort(u[::2])
    parts = np.array_split((error[::2] / u[::2])[order] ** 2, 10)
    tens = [np.sqrt(part.mean()) for part in parts]
    assert float(rows["set 1", "as stated"][1]) == pytest.approx(judged.mean(), abs=5.1e-4)
    assert float(rows["set 1", "one factor"][0]) == pytest.approx(factor, abs=5.1e-4)
    after = judged.mean() / factor**2
    assert float(rows["set 1", "one factor"][1]) == pytest.approx(after, abs=5.1e-4)
    low, high = (float(end) for end in rows["set 1", "ten bins"][0].split(" to "))
    assert (low, high) == pytest.approx((min(tens), max(tens)), abs=5.1e-4)


def test_shares_that_pass_have_their_binomial_interval(tmp_path):
    rows = titled(made(tmp_path, "pernot", *QUICK), "Share that passes")

    assert [row[0] for row in rows[1:]] == ["2", "3", "4", "5", "6", "8", "10", "15", "20"]
    for _, _, zms, _ in rows[1:]:
        share, low, high = (float(each) for each in re.findall(r"[\d.]+", zms))
        wanted = binomtest(round(20 * share), 20).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=5.1e-4)


def test_sets_six_to_nine_are_taken_where_they_lie_and_named_where_not(tmp_path, own, capsys):
    """Set 7 is here: only what the paper's text prints of it stands beside ours."""
    folder, _ = own
    random = np.random.default_rng(8)
    u = np.exp(random.normal(size=200))
    error = u * random.normal(size=200)
    columns = (np.zeros(200), u, error)
    written(folder / "pernot_set7.csv", ("value", "sigma", "reference"), *columns)

    tables = made(tmp_path / "out", "pernot", "--data", str(folder), *QUICK)

    said = "".join(capsys.readouterr().out.split())  # lines are wrapped, at hyphens too
    assert by_first(titled(tables, "Table 1"))["set 7, QM9_E"][:3] == ("-", "200", "0.524")
    lines = by_first(titled(tables, "Table 2"))
    assert lines["set 7, RCE"][:4] == ("-0.264", "-", "-", "-")
    assert float(lines["set 7, ZMS"][4]) == pytest.approx(np.mean((error / u) ** 2), abs=5.1e-5)
    for number, name in ((6, "Perovskite_GPR_Bayesian"), (9, "logP_150k_LS-GCN")):
        file = f"pernot_set{number}.csv is not in {folder}"
        assert "".join(f"{file}: left out is set {number} ({name})".split()) in said
    assert "leftoutisset7" not in said
