"""``monitor reproduce``: every number beside an independent one, and what is missing in words."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest

from monitor.cli import main

QUICK = ("--sets", "20", "--pairs", "100")
SEGMENTS = {"sample 0:500": "0:500", "sample 510:830": "510:830", "sample": "all"}


def tables_of(page):
    """Return the tables of a page by their titles, each a list of rows (tuples of cells)."""
    found = {}
    for title, body in pairwise(page.split("\n\n")):
        if body.startswith("|"):
            lines = [
                tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
                for line in body.splitlines()
            ]
            found[" ".join(title.split()).removesuffix(":")] = [lines[0], *lines[2:]]
    return found


def made(folder, *words):
    """Return the tables of a run by their titles."""
    assert main(["reproduce", *words, "--out", str(folder)]) == 0
    return tables_of((folder / f"{words[0]}.md").read_text(encoding="utf-8"))


def titled(tables, begin):
    return next(rows for title, rows in tables.items() if title.startswith(begin))


def by_first(rows, width=1):
    """Return the rows below the heads by their first cells."""
    return {row[:width] if width > 1 else row[0]: row[width:] for row in rows[1:]}


def near(text, wanted, digits):
    """Whether a printed number is ``wanted`` to so many significant digits."""
    return float(text) == pytest.approx(wanted, rel=0.51 * 10.0 ** (1 - digits), abs=1e-12)


def written(path, heads, *columns):
    rows = [",".join(heads), *(",".join(map(repr, map(float, row))) for row in zip(*columns, strict=True))]  # fmt: skip  # noqa: E501
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def own(tmp_path):
    """Return a small folder of the files' names with what was drawn: error, u; and bands."""
    random = np.random.default_rng(7)
    folder = tmp_path / "data"
    folder.mkdir()
    u = np.exp(random.normal(size=300))
    error = 1.2 * u * random.normal(size=300)
    written(folder / "pernot_set1.csv", ("value", "sigma", "reference"), np.zeros(300), u, error)
    n = 900
    value, below, above = random.normal(size=n), *random.uniform(0.2, 2.0, size=(2, n))
    reference = value + random.normal(size=n)
    written(
        folder / "ucc_sample.csv", ("value", "lower", "upper", "reference"),
        value, value - below, value + above, reference,
    )  # fmt: skip
    return folder, {"u": u, "error": error, "bands": (value, below, above, reference)}


# -- Martin et al. ------------------------------------------------------------------------------


def test_martins_formulas_give_their_exact_values(tmp_path, shared_data):
    tables = made(tmp_path, "martin", "--data", str(shared_data))

    exact = titled(tables, "Ours beside exact values")
    assert len(exact) == 9
    assert {row[-1] for row in exact[1:]} == {"below 1e-12"}
    assert sum(int(row[2]) for row in exact[1:]) == 4 * 31 + 4 * 8


def test_martins_places_are_those_of_the_formulas(tmp_path):
    rows = by_first(titled(made(tmp_path, "martin"), "What the formulas give"))

    for name, (formula, ours, _) in rows.items():
        assert near(ours, float(formula), 4), name
    assert float(rows["least CRPS"][2].split()[0]) == pytest.approx(20 * np.sqrt(12), abs=0.02)


def test_martins_table_is_as_printed_with_its_ranks_and_correlations(tmp_path, read, expected):
    tables = made(tmp_path, "martin")
    printed = read("seed000_table1.csv")

    rows = titled(tables, "Table I")[1:]
    assert len(rows) == len(printed)
    for row, want in zip(rows, printed, strict=True):
        names = ("crps_kg", "rank_crps", "interval_kg", "rank_interval", "brier_per_kg", "rank_brier")  # fmt: skip  # noqa: E501
        assert row[0] == want["method"]
        assert [float(cell) for cell in row[1:]] == [float(want[name]) for name in names]
    together = by_first(titled(tables, "How the printed scores go together"))
    facts = expected["seed000"]
    for scores, name in (
        ("CRPS, interval", "crps_interval"),
        ("CRPS, quadratic", "crps_brier"),
        ("interval, quadratic", "interval_brier"),
    ):
        pearson, ranks, _ = together[scores]
        assert float(pearson) == pytest.approx(facts["table1_pearson"][name], abs=5e-4)
        assert float(ranks) == pytest.approx(facts["table1_spearman"][name], abs=5e-4)


def test_method_e_ranks_last_of_the_simulated_estimators(tmp_path):
    rows = titled(made(tmp_path, "martin"), "Mean scores over the same 400 crossings")

    assert [rows[1][0], rows[-1][0]] == ["honest 5 kg", "E"]
    assert [row[2] for row in rows[1:]] == [str(n) for n in range(1, 9)]


# -- Pernot -------------------------------------------------------------------------------------


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
    for _, zms, _ in rows[1:]:
        share, low, high = (float(each) for each in re.findall(r"[\d.]+", zms))
        wanted = binomtest(round(20 * share), 20).proportion_ci(0.95, "exact")
        assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=5.1e-4)


# -- Navratil et al. ----------------------------------------------------------------------------


def test_areas_costs_and_points_of_the_authors_sample(tmp_path, shared_data, expected):
    tables = made(tmp_path, "navratil", "--data", str(shared_data))
    points = by_first(titled(tables, "The bands as stated"))
    areas = by_first(titled(tables, "Areas under the curves"))

    for name, segment in SEGMENTS.items():
        want = expected["ucc_sample"]["segments"][segment]
        assert points[name][0] == str(want["n"])
        assert near(points[name][1], want["missrate"], 4)
        assert near(points[name][2], want["bandwidth"], 4)
        assert near(areas[name][0], want["auucc_bw_miss_exact"], 4)
        assert near(areas[name][1], want["const_bw_miss_exact"], 4)
        assert float(areas[name][2]) == pytest.approx(want["gain_bw_miss_exact_pct"], abs=5.1e-3)
    wine = expected["wine_gbr"]["ucc_on_the_other_rows"]
    names = ("n", "missrate", "bandwidth", "excess_paper_eq8", "deficit")
    for cell, name in zip(points["wine"], names, strict=False):
        assert near(cell, wine[name], 4), name
    assert float(areas["wine"][2]) == pytest.approx(wine["gain_bw_miss_exact_pct"], abs=5.1e-3)


def test_the_notebooks_figures_stand_beside_ours(tmp_path, shared_data, expected):
    tables = made(tmp_path, "navratil", "--data", str(shared_data))
    rows = by_first(titled(tables, "The sample, beside"), 2)
    parts = expected["ucc_sample"]["segments"]

    for (name, what), want in {
        ("sample 0:500", "miss rate"): parts["0:500"]["missrate"],
        ("sample 0:500", "area excess, miss / sd"): parts["0:500"]["auucc_ex_miss_trapz"]
        / parts["0:500"]["std_reference"],
        ("sample 0:500", "area excess, deficit / sd²"): parts["0:500"]["auucc_ex_def_trapz"]
        / parts["0:500"]["std_reference"] ** 2,
        ("sample 510:830", "miss rate"): parts["510:830"]["missrate"],
        ("sample 510:830", "area bandwidth, miss / sd"): parts["510:830"]["auucc_bw_miss_trapz"]
        / parts["510:830"]["std_reference"],
        ("sample 510:830", "k* of bandwidth / sd + 10 miss"): parts["510:830"][
            "kstar_cost_bw_over_sd_plus_10_miss"
        ],
        ("sample 510:830", "its cost"): parts["510:830"]["cost_at_kstar"],
        ("sample 510:830", "its cost at k = 1"): expected["ucc_sample"]["notebook"][
            "510:830 original cost"
        ],
    }.items():
        printed, ours = rows[name, what]
        assert near(ours, want, 6), what
        assert float(ours) == pytest.approx(float(printed), rel=0.01)


def bands_of(own):
    value, below, above, reference = own[1]["bands"]
    error = value - reference
    return below, above, error, float(np.std(reference))


def points_at(below, above, error, scale):
    """Return bandwidth, miss rate, excess and deficit at one scale, by their definitions."""
    low, high = scale * below - error, scale * above + error
    nearer = np.minimum(low, high)
    return (
        scale * np.mean(below + above) / 2.0, np.mean(nearer < -1e-12),
        np.mean(np.maximum(nearer, 0.0)), np.mean(np.maximum(-nearer, 0.0)),
    )  # fmt: skip


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_costs_with_the_users_weight_are_those_of_a_search(weight, tmp_path, own):
    tables = made(tmp_path / "out", "navratil", "--data", str(own[0]), "--cost", str(weight))
    rows = by_first(titled(tables, f"C(k) = {weight:g}"), 2)
    below, above, error, sd = bands_of(own)
    flat = np.full(error.size, np.mean(below + above) / 2.0)

    for axes, (x, y) in (("bandwidth, miss", (0, 1)), ("excess, deficit", (2, 3))):
        units = (sd, 1.0, sd, sd)

        def cost(lower, upper, scale, x=x, y=y, units=units):
            at = points_at(lower, upper, error, scale)
            return weight * at[x] / units[x] + (1.0 - weight) * at[y] / units[y]

        def search(lower, upper, cost=cost):
            scales = [0.0, *(np.abs(error) / np.where(error > 0, lower, upper))]
            return min(cost(lower, upper, scale) for scale in scales)

        stated, _, least, gain, gain_least = rows["sample", axes]
        assert near(stated, cost(below, above, 1.0), 4)
        assert near(least, search(below, above), 4)
        saved = 100.0 * (1.0 - cost(below, above, 1.0) / cost(flat, flat, 1.0))
        assert float(gain) == pytest.approx(saved, abs=5.1e-3)
        saved = 100.0 * (1.0 - search(below, above) / search(flat, flat))
        assert float(gain_least) == pytest.approx(saved, abs=5.1e-3)


def test_mae_of_scale_is_the_mean_distance_to_the_band(tmp_path, own):
    rows = by_first(titled(made(tmp_path / "out", "navratil", "--data", str(own[0])), "Mean of"))
    below, above, error, _ = bands_of(own)
    active = np.where(error > 0, below, above)
    flat = np.full(error.size, np.mean(below + above) / 2.0)

    def mae(half, scale):
        return np.mean(np.abs(np.abs(error) - scale * half))

    least, constant = (
        min(mae(half, scale) for scale in [0.0, *(np.abs(error) / half)]) for half in (active, flat)
    )
    stated, scale, ours, flat_ours, gain = rows["sample"]
    assert near(stated, mae(active, 1.0), 4)
    assert near(ours, least, 4)
    assert mae(active, float(scale)) == pytest.approx(least, rel=1e-4)
    assert near(flat_ours, constant, 4)
    assert float(gain) == pytest.approx(100.0 * (1.0 - least / constant), abs=5.1e-3)


def test_generated_bands_rank_as_their_names_say(tmp_path):
    rows = by_first(titled(made(tmp_path, "navratil"), "Areas under the curves"))

    partial = {name: float(row[3]) for name, row in rows.items()}
    assert partial["perfect"] > partial["honest"] > partial["weak"] > partial["shuffled"]
    assert partial["constant"] == 0.0 > partial["shuffled"]


# -- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("martin",), ("pernot", *QUICK), ("navratil",)], ids=lambda w: w[0])  # fmt: skip  # noqa: E501
def test_twice_the_same_bytes_and_every_figure_is_on_the_page(words, tmp_path, own, capsys):
    for name in ("one", "two"):
        assert (
            main(["reproduce", *words, "--data", str(own[0]), "--out", str(tmp_path / name)]) == 0
        )
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "two")
    )

    assert one == two
    page = one[f"{words[0]}.md"].decode()
    assert set(re.findall(r"\]\(([^)]+\.svg)\)", page)) == set(one) - {f"{words[0]}.md"}
    said = capsys.readouterr()
    assert "figures beside it" in said.err
    assert len(said.out) > 1000


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("martin",), ("seed000_fig1.csv", "seed000_fig2.csv")),
        (("pernot", *QUICK), tuple(f"pernot_set{n}.csv" for n in range(1, 6))),
        (("navratil",), ("ucc_sample.csv", "wine_gbr.csv")),
    ],
    ids=lambda each: each[0],
)
def test_a_missing_file_is_said_with_what_it_would_have_shown(words, files, tmp_path, capsys):
    assert main(["reproduce", *words, "--data", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for name in files:
        assert re.search(rf"{name} is not in \S+: left out is \w[^.]{{5,}}\.", said), name

    assert main(["reproduce", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With --data FOLDER" in said
    assert all(name in said for name in files)


def test_a_file_may_be_packed(tmp_path, own, capsys):
    plain = (own[0] / "pernot_set1.csv").read_bytes()
    (tmp_path / "pernot_set1.csv.gz").write_bytes(gzip.compress(plain))
    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
    packed = capsys.readouterr().out
    assert main(["reproduce", "pernot", "--data", str(own[0]), *QUICK]) == 0

    assert capsys.readouterr().out.split("pernot_set2.csv")[0] == packed.split("pernot_set2.csv")[0]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("martin", "--data", "{}/nowhere"), 2, "is not there; name the folder"),
        (("martin", "--data", "{}/a-file"), 2, "is not a folder; name the folder"),
        (("martin", "--out", "{}/a-file"), 73, "cannot be written"),
        (("martin", "--data", "{}/bad"), 65, "no column 'x0'"),
        (("pernot", "--data", "{}/bad"), 65, "pernot_set1.csv"),
        (("navratil", "--data", "{}/bad"), 65, "ucc_sample.csv"),
        (("navratil", "--cost", "1.5"), 2, "must be 0 to 1"),
        (("navratil", "--cost", "nan"), 2, "must be 0 to 1"),
        (("pernot", "--sets", "0"), 2, "at least 1 set"),
        (("pernot", "--pairs", "5"), 2, "at least 20 pairs"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(words, code, said, tmp_path, capsys):
    (tmp_path / "a-file").write_text("no folder", encoding="utf-8")
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "seed000_fig1.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    (bad / "pernot_set1.csv").write_text("value,sigma\n1,2\n", encoding="utf-8")
    (bad / "ucc_sample.csv").write_text("value,lower,upper,reference\n1,x,3,2\n", encoding="utf-8")

    assert main(["reproduce", *(word.format(tmp_path) for word in words)]) == code

    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_data_of_no_use_are_left_out_in_words(tmp_path, capsys):
    """A set of three pairs has no interval; one without a band has no curve."""
    written(tmp_path / "pernot_set1.csv", ("value", "sigma", "reference"), [0, 0, 0], [1, 1, 2], [1, -1, 0])  # fmt: skip  # noqa: E501
    written(
        tmp_path / "wine_gbr.csv", ("value", "lower", "upper", "reference"),
        [1, 2], [2, 3], [3, 4], [1, 1],
    )  # fmt: skip
    written(
        tmp_path / "ucc_sample.csv", ("value", "lower", "upper", "reference"),
        [1, 2], [0, 1], [3, 4], [1, 1],
    )  # fmt: skip

    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
    assert main(["reproduce", "navratil", "--data", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "Left out is set 1: pernot_set1.csv has 3 pairs, below 50." in said
    assert "Left out is wine: no value lies within its own interval." in said
    assert "nan" not in said


def test_a_constant_u_and_equal_errors_end_in_no_exception(tmp_path):
    heads = ("value", "sigma", "reference")
    written(tmp_path / "pernot_set1.csv", heads, np.zeros(60), np.ones(60), np.ones(60))
    written(tmp_path / "pernot_set2.csv", heads, np.zeros(60), np.ones(60), np.linspace(-2, 2, 60))

    assert main(["reproduce", "pernot", "--data", str(tmp_path), *QUICK]) == 0
