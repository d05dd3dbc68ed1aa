"""What a sensor states as quantiles or an ensemble is kept, and its CRPS is that of all of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from monitor.cli import main
from monitor.config import parse
from monitor.core.model import Distribution, Reading
from monitor.core.pairing.identities import reading_digest
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesKey
from monitor.daemon.assembly import Parts, assemble
from monitor.decode.mapping import Mapped
from monitor.decode.records import Arrival
from monitor.decode.spec import MapSpec, SeriesSpec
from monitor.files import read_pairs
from monitor.http.documents import pairs_csv
from monitor.report.recorded import read as read_recorded
from monitor.report.scored import Scored

START = 1_767_225_600.0
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
SETTINGS = """
journal: {{path: "{folder}/journal.sqlite"}}
pairing: {{mode: nearest}}
sources:
  - topic: "q/{{sensor}}/{{quantity}}"
    kind: reading
    decoder: json
    map: {{time: t, series: [{{unit: g, to_unit: kg,
           quantiles: {{"0.05": q.a, "0.25": q.b, "0.5": q.c, "0.75": q.d, "0.95": q.e}}}}]}}
  - topic: "e/{{sensor}}/{{quantity}}"
    kind: reading
    decoder: json
    map: {{time: t, series: [{{samples: members, unit: kg}}]}}
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading, unit: kg}}
  - {{topic: "monitor/{{subject}}/{{quantity}}/reference", kind: reference, unit: kg}}
"""


def crps_by_integral(at, levels, reference):
    """Return the integral of (F - 1{x >= reference})^2, F linear through all, on a fine grid."""
    low = at[0] - (at[1] - at[0]) / (levels[1] - levels[0]) * levels[0]
    high = at[-1] + (at[-1] - at[-2]) / (levels[-1] - levels[-2]) * (1.0 - levels[-1])
    x = np.linspace(min(low, reference) - 1.0, max(high, reference) + 1.0, 2_000_001)
    cdf = np.interp(x, [low, *at, high], [0.0, *levels, 1.0])
    return np.trapezoid(np.square(cdf - (x >= reference)), x)


def crps_by_distances(members, reference):
    members = np.asarray(members)
    own = np.abs(members[:, None] - members).mean()
    return np.abs(members - reference).mean() - 0.5 * own


class Told:
    """Messages of three sensors and what their CRPS must be, in kg."""

    def __init__(self) -> None:
        chance = np.random.default_rng(4)
        self.messages: list[tuple[str, bytes]] = []
        self.crps: dict[str, list[float]] = {"quantiles": [], "members": []}
        for at in range(12):
            time = datetime.fromtimestamp(START + 600.0 * at, UTC).isoformat()
            truth = float(np.round(chance.normal(5.0, 1.0), 3))
            at_levels = np.sort(np.round(truth + chance.gamma(1.5, 0.4, 5) - 0.5, 3))
            members = np.round(truth + chance.standard_t(4, 9), 3).tolist()
            grams = dict(zip("abcde", (1000.0 * at_levels).tolist(), strict=True))
            self._say("q/quantiles/mass", t=time, q=grams)
            self._say("e/members/mass", t=time, members=members)
            self._say("monitor/plain/mass/reading", time=time, value=truth + 0.1, u=0.3)
            for subject in ("quantiles", "members", "plain"):
                self._say(
                    f"monitor/{subject}/mass/reference",
                    time=time,
                    value=truth,
                    id=f"{subject}{at}",
                )
            self.crps["quantiles"].append(crps_by_integral(at_levels, LEVELS, truth))
            self.crps["members"].append(crps_by_distances(members, truth))
        self.last_quantiles, self.last_time = at_levels, time

    def _say(self, topic: str, **body: object) -> None:
        self.messages.append((topic, json.dumps(body).encode()))


class Message:
    def __init__(self, topic: str, payload: bytes) -> None:
        self.topic, self.payload = topic, payload


def opened(folder: Path) -> Parts:
    return assemble(parse(SETTINGS.format(folder=folder).encode(), "settings.yaml"), START + 1e4)


def take(parts: Parts, *messages: tuple[str, bytes]) -> None:
    prepared = parts.intake.prepare([Message(*each) for each in messages], START + 1e4)
    parts.intake.commit(prepared)


def live(parts: Parts) -> dict[str, float]:
    shown = parts.network.evaluate(START + 1e4)
    values = shown.statistics["score_crps_stated_mean"].tolist()
    return dict(zip((name.sensor for name in shown.names), values, strict=True))


@pytest.fixture(scope="module")
def told():
    return Told()


def test_it_is_that_of_all_quantiles_and_members_live_after_a_restart_and_a_revision(
    tmp_path, told
):
    parts = opened(tmp_path)
    take(parts, *told.messages)

    found = live(parts)
    assert found["quantiles"] == pytest.approx(np.mean(told.crps["quantiles"]), rel=1e-5)
    assert found["members"] == pytest.approx(np.mean(told.crps["members"]), rel=1e-12)
    assert np.isnan(found["plain"])
    parts.journal.close()

    parts = opened(tmp_path)
    again = live(parts)
    assert again.pop("plain") != 0.0
    assert again == {name: found[name] for name in again}
    body = {"time": told.last_time, "value": 7.25, "id": "quantiles11", "rev": 1}
    take(parts, ("monitor/quantiles/mass/reference", json.dumps(body).encode()))
    corrected = [*told.crps["quantiles"][:-1], crps_by_integral(told.last_quantiles, LEVELS, 7.25)]
    revised = live(parts)["quantiles"]
    assert revised == pytest.approx(np.mean(corrected), rel=1e-5)
    parts.journal.close()

    parts = opened(tmp_path)
    assert live(parts)["quantiles"] == revised
    parts.journal.close()


def test_an_export_of_the_journal_has_it_too(tmp_path, told, capsys):
    parts = opened(tmp_path)
    take(parts, *told.messages)
    parts.journal.close()
    settings, pairs = tmp_path / "monitor.yaml", tmp_path / "pairs.csv"
    settings.write_text(SETTINGS.format(folder=tmp_path) + "http: {port: 9}\n")

    assert main(["export", "--config", str(settings), "--out", str(pairs)]) == 0
    assert scored(capsys, pairs)["members"] == pytest.approx(np.mean(told.crps["members"]))


def test_the_pairs_of_a_series_as_csv_have_it_too(tmp_path, told, capsys):
    parts = opened(tmp_path)
    take(parts, *told.messages)
    detail = parts.network.detail(SeriesKey("members", "mass"), START + 1e4)
    parts.journal.close()
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(pairs_csv(detail, 100))

    assert scored(capsys, pairs)["members"] == pytest.approx(np.mean(told.crps["members"]))


def scored(capsys, path: Path) -> dict[str, float | None]:
    capsys.readouterr()
    assert main(["score", str(path), "--json"]) == 0
    series = json.loads(capsys.readouterr().out)["series"]
    return {each["sensor"]: each["statistics"]["crps_stated"] for each in series}


def test_a_file_of_pairs_may_have_quantiles_or_members(tmp_path, capsys):
    lines = ["sensor,value,reference,q0.05,q0.5,q.95,members"]
    rows = [(10.0, 11.5, (7.0, 10.0, 20.0)), (5.0, 4.0, (4.5, 5.0, 5.0))]
    lines += [f"q,{v},{r},{','.join(map(str, at))}," for v, r, at in rows]
    members = [2.0, 4.0, 9.0, 4.0]
    lines += [f"m,5,6,,,,{' '.join(map(str, members))}"]
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines))

    found = scored(capsys, path)

    want = [crps_by_integral(at, (0.05, 0.5, 0.95), r) for _, r, at in rows]
    assert found["q"] == pytest.approx(np.mean(want), rel=1e-5)
    assert found["m"] == pytest.approx(crps_by_distances(members, 6.0))


def test_members_give_the_same_bits_in_a_file_as_in_messages(tmp_path):
    chance = np.random.default_rng(6)
    rows = chance.normal(50.0, 3.0, (40, 9)).tolist()
    path = tmp_path / "pairs.csv"
    lines = [f"50,{' '.join(map(repr, members))}" for members in rows]
    path.write_text("\n".join(["reference,members", *lines]))
    mapping = mapped(quantity="x", samples="m")

    table = read_pairs(path)

    told = [read(mapping, m=members) for members in rows]
    assert table.value.tolist() == [each.value for each in told]
    assert table.u.tolist() == [each.u for each in told]


@pytest.mark.parametrize(("m", "narrow"), [(5, 1.0), (8, 1.0), (10, 1.0), (8, 0.5)])
def test_an_ensemble_is_right_if_the_truth_is_one_more_member(tmp_path, m, narrow):
    chance, lines = np.random.default_rng([6, m]), ["time,sensor,members,reference"]
    for at in range(400):
        for sensor in range(10):
            members = 50.0 + np.exp(0.2 * chance.normal()) * chance.normal(size=m + 1)
            *told, truth = (narrow * (members - 50.0) + 50.0).tolist()
            truth = 50.0 + (truth - 50.0) / narrow
            row = " ".join(map(repr, told))
            lines.append(f"{START + 3600.0 * at},s{sensor},{row},{truth!r}")
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(lines))

    recorded = read_recorded(path, SeriesRules(level=0.9))
    verdicts = Scored(recorded, 0.9).verdicts

    fired = {each.series for each in recorded.changes if each.after == "firing"}
    faults = [each.fault for each in verdicts if each.state == "fault"]
    if narrow == 1.0:
        assert len(fired) <= 1
        assert len(faults) <= 1
    else:
        assert len(fired) == 10
        assert faults.count("understated") >= 8


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("value,reference,q0.05,q0.95\n1,1,2,", ":2:q0.05: state all quantiles"),
        ("value,reference,q0.05,q0.95\n1,1,2,1", ":2:q0.05: the quantiles do not ascend"),
        ("value,reference,q0.05,q0.4\n1,1,2,3", "q0.05: needs two symmetric levels"),
        ("value,reference,q0.1,q0.5,q0.99\n1,1,2,3,4", "q0.1: needs two symmetric levels"),
        ("value,reference,q0.05,q.05,q0.9\n1,1,2,3,4", "a level appears twice"),
        ("value,reference,members\n1,1,2", ":2:members: must be two or more"),
        ("value,reference,members\n1,1,2 x", ":2:members: 'x' is not a number"),
        ("value,reference,members\n1,1,", "none of its 1 rows has all of the numbers"),
    ],
)
def test_a_wrong_distribution_in_a_file_is_named(tmp_path, capsys, text, says):
    path = tmp_path / "pairs.csv"
    path.write_text(text)

    assert main(["score", str(path)]) != 0
    assert says in capsys.readouterr().err


def mapped(**series: object) -> Mapped:
    return Mapped(MapSpec(series=(SeriesSpec(**series),), time="t"), "reading", ("sensor",))


def read(mapping: Mapped, **body: object):
    record = {"t": "2026-01-01T00:00:00Z", **body}
    (seen,) = mapping.observe(record, Arrival({"sensor": "s"}, START + 1.0))
    (found,) = seen.found
    return found


def test_what_states_no_distribution_is_what_it_was():
    """A plain reading has no byte more, and its pair the identity it had."""
    plain = read(mapped(quantity="x", value="v", u="u"), v=1.0, u=2.0)

    assert type(plain) is Reading
    assert reading_digest(plain) == reading_digest(
        Reading("s", "x", plain.time, 1.0, 2.0, assumed=False)
    )
    assert isinstance(read(mapped(quantity="x", samples="m"), m=[1.0, 2.0]), Distribution)
