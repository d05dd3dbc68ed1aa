"""The trades' streams give the pairs of a brute-force oracle, in whatever order they come."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from harness.cases import further
from harness.trades_oracle import ORACLES, Pair, in_event_time
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from monitor.config import Settings, load
from monitor.core.model import PAIR, Records, in_event_order
from monitor.daemon.assembly import Parts, assemble
from monitor.simulate.playback import RawMessage
from monitor.simulate.trades import TRADES, Recording

CONFIGS = Path(__file__).parents[2] / "configs"
NOW = 1_775_000_000.0
STATED = ("value", "u", "lower", "upper", "p", "reference", "u_ref", "u_pair")
REFERENCE, U_PAIR = STATED.index("reference"), STATED.index("u_pair")


@pytest.fixture(scope="module", params=list(TRADES))
def trade(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def recording(trade) -> Recording:
    return TRADES[trade](np.random.default_rng(1))


def settings_of(trade: str, folder: Path) -> Settings:
    found = load(CONFIGS / f"{trade}.yaml")
    journal = found.journal.model_copy(update={"path": str(folder / "journal.sqlite")})
    return found.model_copy(update={"journal": journal})


def take(parts: Parts, messages: Sequence[RawMessage], size: int = 400) -> None:
    for first in range(0, len(messages), size):
        batch = parts.intake.prepare(messages[first : first + size], NOW)
        parts.intake.commit(batch)
        parts.network.evaluate(NOW)


def named(parts: Parts) -> list[tuple[str, str]]:
    return [(name.sensor, name.quantity) for name in parts.network.names()]


def standing(parts: Parts) -> Records:
    """The standing pairs, their series numbered by name: rows depend on who came first."""
    rows = in_event_order(parts.journal.pairs())
    names = named(parts)
    ranks = {name: rank for rank, name in enumerate(sorted(names))}
    rows["series"] = [ranks[names[row]] for row in rows["series"]]
    return np.sort(rows, order=["series", "time", "id"])


def published(parts: Parts) -> dict[tuple[str, str], list]:
    """All numbers of each series, and the evidence, as bytes."""
    snapshot = parts.network.evaluate(NOW)
    return {
        name: [
            *(snapshot.statistics[key][row].tobytes() for key in sorted(snapshot.statistics)),
            snapshot.evidence[row].tobytes(),
            snapshot.states[row],
            snapshot.sentences[row],
        ]
        for row, name in enumerate(named(parts))
    }


def lived(trade: str, folder: Path, messages: Sequence[RawMessage], size: int = 400):
    parts = assemble(settings_of(trade, folder), NOW)
    take(parts, messages, size)
    found = standing(parts), published(parts)
    parts.journal.close()
    return found


@pytest.fixture(scope="module")
def in_order(trade, recording, tmp_path_factory):
    return lived(trade, tmp_path_factory.mktemp(trade), recording.messages)


def assert_same(found, wanted) -> None:
    assert found[0].dtype == PAIR
    assert found[0].tobytes() == wanted[0].tobytes()
    assert found[1] == wanted[1]


def births_first(messages: Sequence[RawMessage]) -> tuple[list[RawMessage], list[RawMessage]]:
    """Aliases can be read only after their birth, in any order of the rest."""
    births = [each for each in messages if "BIRTH" in each.topic]
    return births, [each for each in messages if "BIRTH" not in each.topic]


def stated(pairs: Iterable[Pair]) -> dict[tuple[str, str, float], np.ndarray]:
    """What pairs state, by series and time; several references of one reading in one order."""
    found: dict[tuple[str, str, float], list[tuple[float, ...]]] = {}
    for *name, said in pairs:
        found.setdefault(tuple(name), []).append(said)
    for each in found.values():
        each.sort(key=lambda said: (round(said[REFERENCE], 6), said[U_PAIR]))
    return {name: np.array(each) for name, each in found.items()}


def assert_the_oracle_agrees(rows: Records, names: Sequence[tuple[str, str]], wanted: set[Pair]):
    got = stated(
        (*names[row["series"]], row["time"].item(), tuple(row[key].item() for key in STATED))
        for row in rows
    )
    want = stated(wanted)
    assert got.keys() == want.keys()
    for name, pairs in got.items():
        np.testing.assert_allclose(pairs, want[name], rtol=1e-9, atol=1e-9, err_msg=str(name))


def test_pairs_are_those_of_the_oracle(trade, recording, in_order):
    rows, numbers = in_order

    assert rows.size > 80
    assert_the_oracle_agrees(rows, sorted(numbers), ORACLES[trade](recording.messages))


def test_the_sensors_that_are_faulty_are_found_and_no_others(trade, recording, tmp_path):
    parts = assemble(settings_of(trade, tmp_path), NOW)
    take(parts, recording.messages)
    fired = {each.series for each in parts.network.drain_transitions() if each.after == "firing"}
    found = {named(parts)[row][0] for row in fired}
    parts.journal.close()

    assert found == recording.faults.keys()


@pytest.mark.parametrize("seed", [0, 1, *further(2, 3)])
def test_any_order_of_arrival_gives_the_same_bits(trade, recording, in_order, tmp_path, seed):
    births, rest = births_first(recording.messages)
    random.Random(seed).shuffle(rest)

    assert_same(lived(trade, tmp_path, births + rest, size=150 + 100 * seed), in_order)


def test_everything_twice_gives_the_same_bits(trade, recording, in_order, tmp_path):
    births, rest = births_first(recording.messages)
    doubled = births + rest + rest[::-1]

    assert_same(lived(trade, tmp_path, doubled), in_order)


def test_revisions_after_the_fact_or_before_it_give_the_same_bits(
    trade, recording, in_order, tmp_path
):
    def is_revision(message: RawMessage) -> bool:
        if not message.payload.startswith(b"{"):
            return False
        body = json.loads(message.payload)
        return body.get("rev", 1) > 1 or body.get("status") in ("final", "void")

    births, rest = births_first(recording.messages)
    first = [each for each in rest if not is_revision(each)]
    revisions = [each for each in rest if is_revision(each)]
    assert trade == "weighing" or len(revisions) > 20
    late, early = tmp_path / "late", tmp_path / "early"
    for folder, messages in ((late, first + revisions), (early, revisions[::-1] + first)):
        assert_same(lived(trade, folder, births + messages), in_order)


def test_restarts_anywhere_change_no_bit(trade, recording, in_order, tmp_path):
    births, rest = births_first(recording.messages)
    chance = random.Random(7)
    chance.shuffle(rest)
    messages = births + rest
    cuts = sorted(chance.sample(range(1, len(messages)), 5))
    for first, last in zip([0, *cuts], [*cuts, len(messages)], strict=True):
        parts = assemble(settings_of(trade, tmp_path), NOW)
        take(parts, messages[first:last])
        found = standing(parts), published(parts)
        parts.journal.close()

    assert_same(found, in_order)


@given(
    first=st.integers(0, 10_000),
    length=st.integers(100, 400),
    share=st.floats(0.5, 1.0),
    seed=st.integers(0, 2**32),
    size=st.integers(1, 100),
)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_part_in_any_order_gives_the_pairs_of_the_oracle(
    trade, recording, tmp_path_factory, first, length, share, seed, size
):
    births, rest = births_first(in_event_time(recording.messages))
    first %= len(rest) - length
    chance = random.Random(seed)
    part = chance.sample(rest[first : first + length], k=int(share * length))
    wanted = ORACLES[trade]([*births, *part])
    assume(wanted)
    parts = assemble(settings_of(trade, tmp_path_factory.mktemp("part")), NOW)
    take(parts, [*births, *part, *chance.choices(part, k=20)], size)
    rows = in_event_order(parts.journal.pairs())
    parts.journal.close()

    assert_the_oracle_agrees(rows, named(parts), wanted)
