"""Revisions and voids reach the pairs that a reference made, also of those no longer held."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from harness.one_by_one import add_reading

from monitor.core.model import Reading, Reference, event_order
from monitor.core.pairing import identities
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import encode
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import Rules
from monitor.journal import Batch, Journal
from monitor.journal.in_memory import InMemoryStore
from tests.core.pairing.test_engine import feed, make, standing


def test_a_revision_reaches_a_pair_whose_reading_is_no_longer_held():
    pairing = make("nearest")
    add_reading(pairing, Reading("a", "x", 1.0, 5.0, u=1.0), 0, received=0.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.0, identity="s1"), received=50.0)
    before = pairing.drain_changes()
    pairing.expire(10.0)
    add_reading(pairing, Reading("a", "x", 1.5, 6.0, u=1.0), 0, received=60.0)
    pairing.add_reference(Reference("a", "x", 1.0, 4.5, identity="s1", revision=1), received=61.0)

    assert standing(before, pairing.drain_changes()) == {(0, 1.0, 5.0, 4.5, 0.0)}


def test_a_revision_of_a_reference_let_go_long_ago_reaches_its_pairs():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    first = Reference("a", "x", 1.0, 4.0, identity="r")
    revised = Reference("a", "x", 1.0, 4.5, identity="r", revision=2)

    def take(reference: Reference, received: float) -> str:
        verdict = pairing.add_reference(reference, received)
        store.append(Batch(observations=[reference], pairs=pairing.drain_changes()))
        pairing.expire(received + 1.0)
        return verdict

    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0)])
    assert take(first, 0.0) == "accepted"
    assert take(revised, 2e9) == "accepted"
    assert standing(store.pairs()) == {(0, 1.0, 5.0, 4.5, 0.0)}

    assert take(msgspec.structs.replace(revised, revision=1, value=9.0), 3e9) == "duplicate"
    assert take(first, 3e9) == "duplicate"
    assert take(revised, 3e9) == "duplicate"
    assert standing(store.pairs()) == {(0, 1.0, 5.0, 4.5, 0.0)}

    assert take(msgspec.structs.replace(revised, revision=6, void=True), 4e9) == "accepted"
    assert standing(store.pairs()) == set()
    assert pairing.corrections == 2


def test_a_reference_revised_without_end_costs_the_same_each_time(monkeypatch):
    """Live and when a journal is restored: of its contents only the last ones are remembered."""
    count, encoded = 20_000, itertools.count()

    def counting(message: object) -> bytes:
        next(encoded)
        return encode(message)

    monkeypatch.setattr(identities, "encode", counting)
    revisions = [
        Reference("a", "x", 1.0, float(at), identity="r", revision=at) for at in range(count)
    ]
    live, restored = make("nearest"), make("nearest")
    feed(live, [Reading("a", "x", 1.0, 5.0, u=1.0), *revisions])
    before = live.drain_changes()
    with restored.recalling():
        feed(restored, [Reading("a", "x", 1.0, 5.0, u=1.0), *revisions])
    names = [("a", "x")]
    restored.recall(before, event_order(before), names)

    assert next(encoded) < 2 * 10 * count
    for pairing in (live, restored):
        (held,) = (held for _, held in pairing.references)
        assert len(held.seen) <= 64
        assert [pairing.add_reference(each, 1.0) for each in revisions[-50:]] == ["duplicate"] * 50
        assert pairing.add_reference(revisions[7], 1.0) == "accepted"
        assert [row[8] for _, row in pairing.pairs_of_series(0)] == [count - 1.0]
        assert pairing.drain_changes().size == 0


@pytest.mark.parametrize("is_durable", [False, True])
@pytest.mark.parametrize("subject", ["a", "S3"])
@pytest.mark.parametrize("more", [{"revision": 1}, {"void": True}, {"void": True, "revision": 1}])
def test_a_correction_without_an_identity_reaches_pairs_of_a_reference_let_go(
    more, subject, is_durable, tmp_path
):
    store = Journal(tmp_path / "journal.sqlite") if is_durable else InMemoryStore()
    rules, beside = Rules("nearest", tolerance_seconds=2.0), Concern("S3")
    pairing = Pairing(
        lambda _s, _q: rules, frozenset(("subject",)), store, lambda _sensor: (beside,)
    )
    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0), Reading("b", "x", 9.0, 6.0, u=1.0)])
    first = Reference(subject, "x", 3.0, 4.0)
    for reference in (first, Reference("b", "x", 9.0, 4.0)):
        pairing.add_reference(reference, 3.0)
        store.append(Batch(observations=[reference], pairs=pairing.drain_changes()))
    pairing.expire(2e9)
    late = msgspec.structs.replace(first, value=4.5, **more)
    assert pairing.add_reference(late, 3e9) == "accepted"
    store.append(Batch(observations=[late], pairs=pairing.drain_changes()))
    assert pairing.add_reference(late, 3e9) == "duplicate"

    stands = set() if late.void else {(0, 1.0, 5.0, 4.5, 0.0)}
    assert standing(store.pairs()) == stands | {(1, 9.0, 6.0, 4.0, 0.0)}
    assert pairing.corrections == 1
    if is_durable:
        store.close()


def sample(subject: str, quantity: str, revision: int = 0) -> Reference:
    return Reference(subject, quantity, 1.0, 4.0, identity="S-1", revision=revision)


VOID = Reference("", "", float("nan"), float("nan"), identity="S-1", revision=2, void=True)


@pytest.mark.parametrize("revision", [0, 2])
@pytest.mark.parametrize("arrival", list(itertools.permutations(range(5))))
def test_a_void_that_names_a_sample_alone_takes_back_all_of_that_name(arrival, revision):
    """Up to its own revision, but not what was revised since, in any order."""
    messages = [
        Reading("a", "x", 1.0, 5.0, u=1.0),
        Reading("b", "x", 1.0, 6.0, u=1.0),
        sample("a", "x", revision),
        sample("b", "x", revision=4),
        VOID,
    ]
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    feed(pairing, [messages[at] for at in arrival])

    assert standing(pairing.drain_changes()) == {(1, 1.0, 6.0, 4.0, 0.0)}
    for message in messages[2:]:
        assert pairing.add_reference(message, 9.0) == "duplicate"


def test_a_void_by_name_finds_references_that_are_no_longer_held():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)
    pairing = Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)
    feed(pairing, [Reading("a", "x", 1.0, 5.0, u=1.0), sample("a", "x")])
    store.append(Batch(observations=[sample("a", "x")], pairs=pairing.drain_changes()))
    pairing.expire(1e9)
    pairing.add_reference(VOID, 2e9)
    store.append(Batch(observations=[VOID], pairs=pairing.drain_changes()))

    assert standing(store.pairs()) == set()
    pairing.expire(3e9)
    assert pairing.add_reference(sample("a", "x"), 4e9) == "duplicate"


def test_a_void_by_name_holds_for_references_that_come_after_it_was_let_go():
    store = InMemoryStore()
    rules = Rules("nearest", tolerance_seconds=1.0)

    def fresh() -> Pairing:
        return Pairing(lambda _s, _q: rules, frozenset(("subject",)), store)

    pairing = fresh()
    pairing.add_reference(VOID, 0.0)
    store.append(Batch(observations=[VOID], pairs=pairing.drain_changes()))
    pairing.add_reference(sample("a", "x"), 50.0)
    store.append(Batch(observations=[sample("a", "x")], pairs=pairing.drain_changes()))
    pairing.expire(10.0)
    again = fresh()
    with again.recalling():
        again.add_reference(sample("a", "x"), 50.0)
    again.recall(store.pairs(), event_order(store.pairs()), [("a", "x"), ("b", "x")])
    late = fresh()
    late.add_reference(sample("b", "x"), 60.0)
    late.add_reference(sample("c", "x", revision=4), 60.0)

    for each in (pairing, again, late):
        feed(each, [Reading("a", "x", 1.0, 5.0, u=1.0), Reading("b", "x", 1.0, 5.0, u=1.0)])
        assert standing(each.drain_changes()) == set()


def test_a_revision_may_say_what_measured_the_reference():
    pairing = make("nearest")
    feed(pairing, [Reading("a", "q", 1.0, 10.0, 1.0), Reference("a", "q", 1.0, 10.0, identity="r")])
    named = Reference("a", "q", 1.0, 10.5, identity="r", revision=1, reference_id="station-7")
    feed(pairing, [named])

    (buffer,) = pairing.reference_buffers.values()
    assert buffer.has_reference_ids
