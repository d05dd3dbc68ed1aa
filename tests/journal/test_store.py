"""One contract for every store: the journal, the store in memory, and that of a cluster's block."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from harness.batches import (
    COLLOCATION,
    EVENTS,
    LETTER,
    READINGS,
    REFERENCE,
    batch,
    beside,
    by_series,
    contents,
    numbered,
    pairs,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import Collocation, Event, Reference, in_event_order
from monitor.core.pairing.identities import digest, reference_identity
from monitor.core.registry import KnownSeries
from monitor.core.windows.windows import EVENTS_MAX
from monitor.extensions.cluster.block_store import BlockStore
from monitor.journal import Batch, Journal, JournalAlerts, Notification, Store
from monitor.journal.in_memory import InMemoryStore

NAME = digest(*reference_identity(REFERENCE))


class SqliteKind:
    """Makes journals in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, itertools.count()
        self._open: list[Journal] = []

    def fresh(self, kept: int = 10_000) -> Journal:
        return self._opened(self._folder / f"{next(self._numbers)}.sqlite", kept)

    def again(self, store: Journal) -> Journal:
        store.close()
        return self._opened(store.path)

    def from_copy(self, copy: bytes) -> Journal:
        path = self._folder / f"{next(self._numbers)}.sqlite"
        path.write_bytes(copy)
        return self._opened(path)

    def _opened(self, path: Path, kept: int = 10_000) -> Journal:
        self._open.append(Journal(path, dead_letters_kept=kept))
        return self._open[-1]

    def close(self) -> None:
        while self._open:
            self._open.pop().close()


class InMemoryKind:
    """Makes stores in memory, which outlive the process as a copy."""

    def __init__(self, folder: Path) -> None:
        del folder

    def fresh(self, kept: int = 10_000) -> InMemoryStore:
        return InMemoryStore(dead_letters_kept=kept)

    def again(self, store: InMemoryStore) -> InMemoryStore:
        return self.from_copy(store.copy())

    def from_copy(self, copy: bytes) -> InMemoryStore:
        return InMemoryStore.open(copy)

    def close(self) -> None:
        pass


class BlockKind(InMemoryKind):
    """Makes the stores of blocks."""

    def fresh(self, kept: int = 0) -> BlockStore:
        del kept
        return BlockStore()

    def from_copy(self, copy: bytes) -> BlockStore:
        return BlockStore.open(copy)


Kind = SqliteKind | InMemoryKind | BlockKind
KINDS: dict[str, Callable[[Path], Kind]] = {
    "journal": SqliteKind,
    "in memory": InMemoryKind,
    "block": BlockKind,
}


@pytest.fixture(params=KINDS)
def kind(request, tmp_path: Path) -> Iterator[Kind]:
    made = KINDS[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture
def store(kind: Kind) -> Store:
    return kind.fresh()


def now_and_later(kind: Kind, store: Store) -> Iterator[Store]:
    """Yield a store as it is, and once it was closed and opened again."""
    yield store
    yield kind.again(store)


def all_but_letters(store: Store) -> dict[str, object]:
    """Return what a store holds, and what it knows of the reference of these tests."""
    return {
        **contents(store),
        "letters": [],
        "evidence": [],
        "notes": [store.note(name) for name in ("births", "more", "?")],
        "histories": [store.pairs_of(series).tobytes() for series in range(4)],
        "made": store.made_by(NAME).tobytes(),
        "named": list(store.named("lab-7")),
        "revision": store.revisions([NAME]),
    }


# -- what comes back ----------------------------------------------------------------------------


def test_everything_comes_back_as_it_was_appended_also_later_and_from_a_copy(kind, store):
    made = pairs((0, 2**64 - 1, 1.0, 0.1, 2**63 + 5, False), (1, 7, 2.0, 1e15, NAME, False))
    whole = batch(
        12.5,
        made,
        observations=[*READINGS, REFERENCE],
        series=[KnownSeries(0, "a", "x", "kg", 0.0), KnownSeries(1, "b", "y", "", -3.5)],
        totals={"received": 5, "committed": 4},
        events=EVENTS,
        collocations=[COLLOCATION],
        notes={"births": b"\x00\x01", "more": b""},
        covariates=beside((0, 2**64 - 1, 1.0, 2**64 - 5, 81.5)),
    )
    store.append(whole)
    before, copy = all_but_letters(store), store.copy()

    assert all_but_letters(kind.from_copy(copy)) == before
    store = kind.again(store)
    assert all_but_letters(store) == before
    assert store.series() == whole.series
    ((received, observations),) = store.observations()
    assert (received, msgspec.msgpack.encode(observations)) == (
        12.5,
        msgspec.msgpack.encode(whole.observations),
    )
    assert by_series(store.pairs()).tobytes() == made.tobytes()
    assert store.covariates().tobytes() == whole.covariates.tobytes()
    assert store.events() == [EVENTS[1], EVENTS[0]]
    assert store.collocations() == [COLLOCATION]
    assert store.totals() == {"received": 5, "committed": 4}
    assert (store.note("births"), store.note("more"), store.note("?")) == (b"\0\1", b"", b"")
    assert list(store.named("lab-7")) == [("a", "x")]
    assert store.revisions([NAME]) == {NAME: 6}
    assert store.made_by(NAME)["id"].tolist() == [7]


def test_a_copy_is_not_changed_by_what_comes_after_it(kind, store):
    store.append(batch(1.0, numbered(4), observations=READINGS, notes={"more": b"1"}))
    copy, before = store.copy(), all_but_letters(store)
    store.append(batch(2.0, numbered(4, 4), observations=READINGS, notes={"more": b"2"}))

    assert all_but_letters(kind.from_copy(copy)) == before


def test_a_new_store_is_empty(store):
    assert not any(contents(store).values())
    assert store.pairs_of(0).size == store.made_by(NAME).size == store.pairs().size == 0
    assert (store.note("births"), list(store.named("lab-7")), store.revisions([NAME])) == (
        b"",
        [],
        {},
    )


def test_batches_come_back_in_the_order_they_were_appended(kind, store):
    for at in range(20):
        store.append(batch(20.0 - at, numbered(3, at), observations=[READINGS[at % 3]]))
    for found in now_and_later(kind, store):
        assert [received for received, _ in found.observations()] == [20.0 - at for at in range(20)]
        taken = [each.sequence for _, (each,) in found.observations()]
        assert taken == [str(at % 3) for at in range(20)]
        wanted = by_series(np.concatenate([numbered(3, at) for at in range(20)]))
        assert by_series(found.pairs()).tobytes() == wanted.tobytes()


def test_of_changes_of_one_pair_the_last_one_stands(kind, store):
    store.append(batch(made=pairs((0, 1, 1.0, 1.0), (0, 2, 2.0, 1.0), (1, 1, 1.0, 1.0))))
    store.append(batch(made=pairs((0, 1, 1.0, 5.0), (0, 2, 2.0, 1.0, 0, True))))
    for found in now_and_later(kind, store):
        assert found.pairs_of(0)[["id", "value"]].tolist() == [(1, 5.0)]
        assert found.pairs_of(1)[["id", "value"]].tolist() == [(1, 1.0)]


def test_numbers_beside_pairs_come_back_by_series_and_go_with_their_pairs(kind, store):
    for at in range(600):  # a journal merges small batches from 512 on
        store.append(batch(covariates=beside((at % 3, at, float(at), 7, at / 8.0))))
    if isinstance(store, Journal):
        store.compact()
    for found in now_and_later(kind, store):
        of_one = found.covariates_of(1)
        assert of_one["number"].tolist() == [at / 8.0 for at in range(1, 600, 3)]
        assert found.covariates_of(9).size == 0
        assert sorted(found.covariates()["id"].tolist()) == list(range(600))
    store = found
    store.append(batch(covariates=beside((0, 900, 900.0, 7, 1.0))))
    store.expire(observations_before=-np.inf, pairs_before=700.0)
    assert store.covariates()["id"].tolist() == [900]


def test_observations_that_are_appended_again_are_there_again(store):
    """What counts as a duplicate is decided before."""
    for _ in range(2):
        store.append(batch(1.0, observations=READINGS))

    assert [len(each) for _, each in store.observations()] == [3, 3]


def test_totals_are_those_of_the_last_batch_that_named_them(kind, store):
    store.append(batch(totals={"received": 1, "committed": 1}))
    store.append(batch(totals={"received": 2**62, "rejected.future": 3}))
    wanted = {"received": 2**62, "committed": 1, "rejected.future": 3}

    for found in now_and_later(kind, store):
        assert found.totals() == wanted


def test_a_note_takes_the_place_of_the_former_one(kind, store):
    for body in (b"first", b"", b"last"):
        store.append(batch(notes={"births": body}))
        assert store.note("births") == body

    assert kind.again(store).note("births") == b"last"


def test_an_empty_note_takes_no_room(store):
    store.append(batch(notes={"births": b"1"}))
    before = len(store.copy())
    store.append(batch(notes={f"births/{at:0100}": b"" for at in range(1000)}))
    assert len(store.copy()) == before

    store.append(batch(notes={"births": b""}))
    assert store.note("births") == b""


def test_an_event_or_collocation_that_comes_again_stands_once(store):
    for _ in range(2):
        store.append(batch(events=EVENTS, collocations=[COLLOCATION]))
        store.append(batch(events=EVENTS[:1]))

    assert store.events() == [EVENTS[1], EVENTS[0]]
    assert store.collocations() == [COLLOCATION]


def test_a_series_takes_the_place_of_one_of_its_row_and_of_one_of_its_name(kind, store):
    store.append(batch(series=[KnownSeries(at, f"s{at}", "x", "kg", at) for at in range(3)]))
    store.append(batch(series=[KnownSeries(1, "s1", "x", "kg", 9.0)]))
    store.append(batch(series=[KnownSeries(2, "s0", "x", "g", 5.0)]))
    wanted = [KnownSeries(1, "s1", "x", "kg", 9.0), KnownSeries(2, "s0", "x", "g", 5.0)]

    assert store.series() == wanted
    store.append(batch(series=[KnownSeries(0, "s2", "x", "kg", 2.0)]))
    assert kind.again(store).series() == [KnownSeries(0, "s2", "x", "kg", 2.0), *wanted]


@pytest.mark.parametrize("kept", [0, 1, 5])
@pytest.mark.parametrize("kind", ["journal", "in memory"], indirect=True)
def test_only_the_newest_dead_letters_are_kept_however_they_come(kept, kind):
    store = kind.fresh(kept)
    letters = [LETTER._replace(received=float(at), payload=b"%d" % at) for at in range(40)]
    sent = []
    for size in (1, 0, 12, 3, 1, 20, 3):
        store.append(batch(dead_letters=letters[len(sent) : len(sent) + size]))
        sent = letters[: len(sent) + size]
        assert store.dead_letters(1000) == sent[::-1][:kept]

    assert store.dead_letters(2) == sent[::-1][: min(kept, 2)]


def test_a_block_keeps_no_dead_letters_its_results_have_them():
    store = BlockStore()
    store.append(batch(dead_letters=[LETTER]))

    assert store.dead_letters() == []


# -- whole or not at all ------------------------------------------------------------------------


def test_a_batch_that_cannot_be_stored_leaves_nothing_and_the_next_one_can(kind, store):
    store.append(batch(1.0, numbered(4), observations=READINGS, totals={"received": 3}))
    before = all_but_letters(store)
    parts = {
        "series": [KnownSeries(0, "a", "x", "kg", 0.0)],
        "totals": {"received": 4},
        "events": EVENTS,
        "collocations": [COLLOCATION],
        "notes": {"births": b"\x01"},
    }
    with pytest.raises(TypeError):
        store.append(
            batch(2.0, numbered(9), observations=[*READINGS, REFERENCE, object()], **parts)
        )

    assert all_but_letters(store) == before
    store.append(batch(2.0, numbered(9, 4), observations=[*READINGS, REFERENCE], **parts))
    for found in now_and_later(kind, store):
        assert by_series(found.pairs()).tobytes() == by_series(numbered(13)).tobytes()
        assert [len(each) for _, each in found.observations()] == [3, 4]
        assert (found.totals(), found.note("births")) == ({"received": 4}, b"\x01")
        assert (len(found.series()), len(found.events())) == (1, 2)


# -- revisions and voids ------------------------------------------------------------------------


def sample(subject: str, revision: int, *, void: bool = False, identity: str = "S-1") -> Reference:
    return Reference(subject, "x" if subject else "", 1.0, 4.0, 0.1, "", identity, revision, void)


def test_a_reference_without_identity_and_revision_is_not_known(store):
    plain = sample("a", 0, identity="")
    store.append(batch(1.0, observations=[plain]))

    assert store.revisions([digest(*reference_identity(plain))]) == {}
    assert list(store.named("")) == []


def test_a_revision_without_an_identity_is_known_by_key_and_time(kind, store):
    revised = sample("a", 3, identity="")
    store.append(batch(1.0, observations=[revised]))

    for found in now_and_later(kind, store):
        name = digest(*reference_identity(revised))
        assert found.revisions([name]) == {name: 3}
        assert list(found.named("")) == []


def test_the_pairs_of_a_reference_with_an_identity_are_found(kind, store):
    store.append(batch(made=pairs((0, 1, 1.0, 1.0, NAME)), observations=[REFERENCE]))
    store.append(batch(made=pairs((0, 2, 2.0, 1.0, 5), (1, 3, 0.5, 1.0, NAME))))
    store.append(batch(made=pairs((0, 1, 1.0, 9.0, NAME, True))))

    for found in now_and_later(kind, store):
        assert found.made_by(NAME)["id"].tolist() == [3]


def test_a_pair_that_another_reference_took_over_is_no_longer_found(store):
    other = msgspec.structs.replace(REFERENCE, identity="lab-8")
    name = digest(*reference_identity(other))
    store.append(batch(made=pairs((0, 1, 1.0, 1.0, NAME)), observations=[REFERENCE, other]))
    store.append(batch(made=pairs((0, 1, 1.0, 1.0, NAME, True), (0, 1, 1.0, 2.0, name))))

    assert store.made_by(NAME).size == 0
    assert store.made_by(name)["value"].tolist() == [2.0]


VOIDS = [sample("a", 1), sample("b", 5), sample("", 3, void=True), sample("a", 2, identity="S-2")]


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(4))))
def test_a_void_without_a_subject_counts_for_all_of_its_identity_in_any_order(arrival, kind, store):
    for at in arrival:
        store.append(batch(1.0, observations=[VOIDS[at]]))
    for found in now_and_later(kind, store):
        names = [digest(*reference_identity(each)) for each in VOIDS]
        revisions = [found.revisions(names)[name] for name in names]
        assert revisions == [3, 5, 3, 2]
        assert list(found.named("S-1")) == [("a", "x"), ("b", "x")]
        assert list(found.named("S-2")) == [("a", "x")]


def test_a_void_without_a_subject_is_known_to_be_there_after_a_start_too(kind, store):
    """Without one nobody looks for voids by the name of a reference; memory may always look."""
    alone, _, by_name, _ = VOIDS
    store.append(batch(1.0, observations=[alone]))
    for found in now_and_later(kind, store):
        assert not (isinstance(found, Journal) and found.has_voids_by_name())
    found.append(batch(2.0, observations=[by_name]))
    for each in now_and_later(kind, found):
        assert each.has_voids_by_name()


references = st.builds(
    sample,
    st.sampled_from(["", "a", "b"]),
    st.integers(0, 4),
    void=st.just(value=True),
    identity=st.sampled_from(["S-1", "S-2"]),
)


@given(seen=st.lists(references, max_size=12), cuts=st.sets(st.integers(0, 12)))
@settings(deadline=None, max_examples=60)
def test_the_revision_of_a_reference_is_the_highest_of_it_and_of_voids_of_its_identity(seen, cuts):
    with tempfile.TemporaryDirectory() as folder:
        for make in KINDS.values():
            kind = make(Path(folder))
            store = kind.fresh()
            for part in np.split(np.arange(len(seen)), sorted(cuts)):
                store.append(batch(1.0, observations=[seen[at] for at in part]))
            for each in seen:
                same = [other for other in seen if other.identity == each.identity]
                highest = max(
                    other.revision for other in same if other.subject in ("", each.subject)
                )
                name = digest(*reference_identity(each))
                assert store.revisions([name]) == {name: highest}
                subjects = sorted({other.subject for other in same} - {""})
                assert list(store.named(each.identity)) == [(name, "x") for name in subjects]
            kind.close()


# -- forgetting ---------------------------------------------------------------------------------


def test_what_is_too_old_is_forgotten_and_the_rest_stays(kind, store):
    for at in range(6):
        made = pairs((0, at, float(at), 1.0), (0, 100 + at, at - 0.5, 1.0))
        store.append(batch(10.0 + at, made, observations=READINGS[:1], events=EVENTS))
    before = store.pairs_of(0)
    store.expire(observations_before=12.0, pairs_before=3.0)

    assert [received for received, _ in store.observations()] == [12.0, 13.0, 14.0, 15.0]
    young = before[before["time"] >= 3.0]
    found = store.pairs_of(0)
    assert found[found["time"] >= 3.0].tobytes() == young.tobytes()
    assert found.size < before.size
    assert len(store.events()) == 2
    store = kind.again(store)
    assert store.pairs_of(0).tobytes() == found.tobytes()
    store.expire(observations_before=1e9, pairs_before=1e9)
    assert store.pairs().size == 0
    assert not list(store.observations())


def test_with_pairs_go_events_and_collocations_as_old_but_the_last_event_of_each(kind, store):
    times = {"a": (1.0, 2.0, 4.0), "b": (1.0, 2.0), "c": (2.0, 2.5, 3.5)}
    events = [Event(name, at, "moved") for name, own in times.items() for at in own]
    ended = Collocation("a", "station", 0.0, 2.9)
    store.append(batch(0.0, numbered(3), events=events, collocations=[ended, COLLOCATION]))
    store.append(batch(0.0, numbered(3, 3)))
    store.expire(observations_before=0.0, pairs_before=3.0)

    for found in now_and_later(kind, store):
        left = [(each.sensor, each.time) for each in found.events()]
        assert left == [("b", 2.0), ("c", 3.5), ("a", 4.0)]
        assert found.collocations() == [COLLOCATION]


def test_too_many_events_of_a_sensor_leave_the_newest_and_no_evidence_after_those_that_go(
    kind, store
):
    store.append(
        batch(series=[KnownSeries(row, name, "x", "kg", 0.0) for row, name in enumerate("ab")])
    )
    store.append(batch(events=[Event("b", 0.5, "moved")]))
    events = [Event("a", float(at), "moved") for at in range(EVENTS_MAX)]
    store.append(batch(events=events))
    kept = [KeptEvidence(0, 2000.0, b"1"), KeptEvidence(1, 2000.0, b"2")]
    store.append(batch(evidence=kept))
    store.append(batch(events=[Event("a", 3000.0, "moved")]))
    assert store.evidence() == kept[1:]

    for found in now_and_later(kind, store):
        assert found.events() == [
            Event("b", 0.5, "moved"),
            *events[1:],
            Event("a", 3000.0, "moved"),
        ]


def test_forgetting_brings_nothing_back_that_was_removed_or_revised(store):
    store.append(batch(made=pairs((0, 1, 10.0, 1.0), (0, 2, 11.0, 1.0), (0, 3, 1000.0, 1.0))))
    store.append(batch(made=pairs((0, 1, 10.0, 1.0, 0, True), (0, 2, 11.0, 5.0))))
    store.expire(observations_before=0.0, pairs_before=100.0)

    assert store.pairs_of(0)[["id", "value"]].tolist() == [(2, 5.0), (3, 1.0)]


# -- evidence that is kept ----------------------------------------------------------------------

KEPT = [KeptEvidence(row, 10.0 * row + 10.0, b"%d" % row) for row in range(3)]
SERIES = [KnownSeries(row, f"s{row}", "x", "kg", 0.0) for row in range(3)]
CHANGES: dict[str, tuple[Batch, set[int]]] = {
    "nothing": (batch(), set()),
    "a later pair": (batch(made=pairs((1, 50, 20.5, 1.0))), set()),
    "an earlier pair": (batch(made=pairs((1, 50, 19.5, 1.0))), {1}),
    "a pair as late": (batch(made=pairs((1, 50, 20.0, 1.0))), {1}),
    "a pair removed": (batch(made=pairs((2, 5, 5.0, 1.0, 0, True))), {2}),
    "pairs of several": (
        batch(made=pairs((0, 50, 99.0, 1.0), (2, 51, 1.0, 1.0), (2, 52, 99.0, 1.0))),
        {2},
    ),
    "an unknown series": (batch(made=pairs((7, 50, 1.0, 1.0))), set()),
    "a later event": (batch(events=[Event("s1", 20.5, "moved")]), set()),
    "an event before": (batch(events=[Event("s1", 20.0, "moved")]), {1}),
    "an event elsewhere": (batch(events=[Event("s9", 1.0, "moved")]), set()),
    "another series": (batch(series=[KnownSeries(2, "other", "x", "kg", 0.0)]), {2}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_again", [False, True])
def test_evidence_stays_until_what_it_rests_on_changes(is_again, change, kind, store):
    store.append(batch(made=numbered(9), series=SERIES, evidence=KEPT))
    if is_again and not isinstance(store, BlockStore):
        store = kind.again(store)
    made, void = CHANGES[change]
    assert store.evidence() == KEPT
    store.append(made)
    left = [each for each in KEPT if each.series not in void]

    assert store.evidence() == left
    if not isinstance(store, BlockStore):
        assert kind.again(store).evidence() == left


def test_evidence_of_a_series_takes_the_place_of_the_former_and_is_void_by_its_own_time(store):
    store.append(batch(evidence=KEPT))
    store.append(batch(made=pairs((1, 50, 25.0, 1.0)), evidence=[KeptEvidence(1, 30.0, b"new")]))
    assert store.evidence()[1] == KeptEvidence(1, 30.0, b"new")
    store.append(batch(made=pairs((1, 51, 30.0, 1.0))))

    assert store.evidence() == [KEPT[0], KEPT[2]]


def test_all_evidence_goes_with_the_first_pairs_that_are_forgotten(store):
    store.append(batch(made=numbered(9), evidence=KEPT))
    assert not store.expire(observations_before=1e9, pairs_before=-1.0)
    assert store.evidence() == KEPT

    assert store.expire(observations_before=0.0, pairs_before=1e9)
    assert store.evidence() == []


# -- any life -----------------------------------------------------------------------------------

rows = st.tuples(
    st.integers(0, 2), st.integers(0, 12), st.just(1.0), st.floats(-1e15, 1e15), st.just(0),
    st.booleans(),
)  # fmt: skip
lives = st.lists(st.lists(rows, max_size=6) | st.sampled_from(["again", "copied"]), max_size=15)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@given(life=lives)
@settings(deadline=None, max_examples=40)
def test_whatever_a_store_lives_through_it_gives_back_what_was_appended(make, life):
    with tempfile.TemporaryDirectory() as folder:
        kind = make(Path(folder))
        store, wanted = kind.fresh(), []
        for step in life:
            if step == "again":
                store = kind.again(store)
            elif step == "copied":
                store = kind.from_copy(store.copy())
            else:
                store.append(batch(1.0, pairs(*step), observations=[REFERENCE] * len(step)))
                wanted += step
        found = store.pairs()
        histories = [store.pairs_of(series) for series in range(3)]
        observations = [each for _, part in store.observations() for each in part]
        kind.close()

    assert by_series(found).tobytes() == by_series(pairs(*wanted)).tobytes()
    assert observations == [REFERENCE] * len(wanted)
    standing = in_event_order(pairs(*wanted))
    for series, history in enumerate(histories):
        assert history.tobytes() == standing[standing["series"] == series].tobytes()


# -- the alerts' log ----------------------------------------------------------------------------


@pytest.fixture
def alerts(tmp_path: Path) -> Iterator[JournalAlerts]:
    journal = Journal(tmp_path / "journal.sqlite", transitions_kept=3)
    yield journal.alerts
    journal.close()


def moved(seq: int, alert: str, *, is_active: bool) -> Notification:
    return Notification(seq, ("s", "x", alert), is_active, b"%d" % seq)


def test_a_new_log_of_alerts_is_empty(alerts):
    assert (alerts.last_seq(), alerts.after(0, 9), alerts.newest(9)) == (0, [], [])
    assert (alerts.active(), alerts.delivered()) == ([], {})


def test_the_last_transition_of_each_alert_says_whether_it_is_active(alerts):
    alerts.record([moved(1, "offset", is_active=True), moved(2, "drift", is_active=True)], {})
    alerts.record([moved(3, "offset", is_active=True)], {"web": 2})
    assert alerts.active() == [b"2", b"3"]

    alerts.record([moved(4, "drift", is_active=False)], {"web": 3, "mail": 0})
    assert alerts.active() == [b"3"]
    assert (alerts.last_seq(), alerts.delivered()) == (4, {"web": 3, "mail": 0})
    assert alerts.after(1, 2) == [b"2", b"3"]
    assert alerts.newest(2) == [b"4", b"3"]


def test_numbers_go_on_after_the_last_that_a_sink_was_told_though_a_repair_lost_it(alerts):
    alerts.record([], {"web": 7, "mail": 5})
    assert alerts.last_seq() == 7

    alerts.record([moved(8, "offset", is_active=True)], {})
    assert alerts.last_seq() == 8


def test_only_the_newest_transitions_are_kept_and_those_of_active_alerts(alerts):
    alerts.record([moved(1, "offset", is_active=True)], {})
    for seq in range(2, 10):
        alerts.record([moved(seq, "drift", is_active=seq % 2 == 0)], {"web": seq})

    assert alerts.newest(99) == [b"9", b"8", b"7", b"1"]
    assert alerts.after(0, 99) == [b"1", b"7", b"8", b"9"]
    assert alerts.active() == [b"1"]
    alerts.record([moved(10, "offset", is_active=False)], {})
    assert alerts.newest(99) == [b"10", b"9", b"8"]
    assert alerts.delivered() == {"web": 9}
