"""The network: batches in, a snapshot out, and its evidence a function of the set of pairs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.observations import Observed, PlainReadings
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import KnownSeries, Limits
from monitor.core.snapshot.additions import Addition
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.windows.rings import Precision
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

RULES = SeriesRules(unit="kg", window_pairs=200, pairing=Rules("nearest", 0.4))


class Shell:
    """A network with a journal in memory."""

    def __init__(
        self,
        rules: SeriesRules = RULES,
        maximum: int = 10,
        precision: Precision = "double",
        additions: tuple[Callable[[], Addition], ...] = (),
        window_pairs_max: int = 200,
    ) -> None:
        plan = CoreSettings(
            lambda _s, _q: rules,
            limits=Limits(maximum, 1000),
            window_pairs_max=window_pairs_max,
            window_precision=precision,
            additions=additions,
        )
        self.store = InMemoryStore()
        self.told = []
        self.network = Network(plan, self.store)

    def take(self, observations, received: float = 0.0):
        outcome = self.network.observe(observations, received)
        self.store.append(
            Batch(
                observations=observations,
                pairs=outcome.pairs,
            )
        )
        self.network.apply(outcome.pairs)
        self.told += outcome.series
        return outcome

    def evidence(self, now: float = 0.0) -> list[float]:
        self.network.evaluate(now)
        return self.network.detector.evidence(np.arange(len(self.network.registry))).tolist()


def stream(sensor: str, n: int, seed: int, bias: float = 0.0) -> list[Reading | Reference]:
    chance = np.random.default_rng(seed)
    observations: list[Reading | Reference] = []
    for at in range(n):
        truth = chance.normal(500.0, 50.0)
        value = truth + 5.0 * chance.standard_normal() + bias
        observations.append(Reading(sensor, "weight", float(at), value, u=5.0, sequence=str(at)))
        observations.append(Reference(sensor, "weight", at + 0.1, truth, u=0.3))
    return observations


def test_an_offset_fires_and_an_honest_sensor_does_not():
    shell = Shell()
    shell.take(stream("honest", 150, 1) + stream("heavy", 150, 2, bias=7.0))
    snapshot = shell.network.evaluate(0.0)

    assert snapshot.states == ("ok", "firing")
    assert snapshot.alerts["offset"].tolist() == [False, True]
    assert "heavy" in snapshot.sentences[1]


@pytest.mark.parametrize("seed", range(3))
def test_a_few_errors_that_spoil_the_mean_square_are_told_while_they_are_in_the_window(seed):
    shell, last, told = Shell(), 360, []
    observations = stream("honest", last, seed)
    for at in (60, 150):
        far = observations[2 * at]
        observations[2 * at] = msgspec.structs.replace(far, value=far.value + 150.0)
    for at in range(0, 2 * last, 20):
        shell.take(observations[at : at + 20])
        snapshot = shell.network.evaluate(0.0)
        assert snapshot.alerts["outliers"].tolist() == [False]
        told.append((snapshot.sentences[0], float(snapshot.statistics["calibration_zms"][0])))

    one, two = (
        f", but for {few} more than 4 standard uncertainties off"
        for few in ("1 of 100 pairs, which is", "2 of 200 pairs, which are")
    )
    assert "but for" not in told[5][0]
    assert told[9][0].endswith(one)
    assert told[19][0].endswith(two)
    assert "but for" not in told[-1][0]  # both have left the window of 200 pairs
    assert told[5][1] < 1.6
    assert min(told[9][1], told[19][1]) > 4.0


@pytest.mark.parametrize(
    ("seed", "precision"), [*((seed, "double") for seed in range(5)), (5, "single"), (6, "single")]
)
def test_shuffled_and_repeated_delivery_gives_the_same_bits(seed, precision):
    observations = stream("a", 80, 3, bias=4.0) + stream("b", 80, 4)
    sorted_run, shuffled_run = Shell(precision=precision), Shell(precision=precision)
    sorted_run.take(observations)
    chance = np.random.default_rng(seed)
    arrival = [observations[at] for at in chance.permutation(len(observations))]
    arrival += [observations[at] for at in chance.integers(0, len(observations), 30)]
    rows = {}
    for at in range(0, len(arrival), 37):
        shuffled_run.take(arrival[at : at + 37])
        if chance.random() < 0.3:
            shuffled_run.network.evaluate(0.0)
    shuffled_names = [key.sensor for key in shuffled_run.network.registry.keys]
    rows = [shuffled_names.index(name) for name in ("a", "b")]
    one, other = sorted_run.network.evaluate(0.0), shuffled_run.network.evaluate(0.0)

    assert np.array(shuffled_run.evidence())[rows].tolist() == sorted_run.evidence()
    for name, values in one.statistics.items():
        assert np.array_equal(values, other.statistics[name][rows], equal_nan=True), name


def test_windows_in_single_precision_cost_a_ten_millionth_of_each_number():
    observations = stream("a", 300, 3, bias=4.0) + stream("b", 300, 4)
    exact, rounded = Shell(), Shell(precision="single")
    for shell in (exact, rounded):
        shell.take(observations)
    one, other = exact.network.evaluate(0.0), rounded.network.evaluate(0.0)

    assert one.states == other.states
    chosen = "ucc_scale_optimal"  # one of the pairs, several of which do equally well
    for name, values in one.statistics.items():
        assert other.statistics[name] == pytest.approx(
            values, rel=0.01 if name == chosen else 2e-7, abs=1e-9, nan_ok=True
        ), name
    assert rounded.evidence() == pytest.approx(exact.evidence(), rel=1e-5)
    assert rounded.evidence() != exact.evidence()


@pytest.mark.slow
def test_a_little_disorder_gives_the_same_bits_without_reading_the_journal_each_time():
    observations = stream("a", 400, 8, bias=2.0)
    chance = np.random.default_rng(1)
    arrival = sorted(observations, key=lambda each: each.time + chance.uniform(0, 4))
    ordered, jumbled = Shell(), Shell()
    asked: list[int] = []
    ordered.take(observations)
    replayer, history = jumbled.network.replayer, jumbled.store.pairs_of
    replayer._history = lambda row: (asked.append(row), history(row))[1]
    for at in range(0, len(arrival), 10):
        jumbled.take(arrival[at : at + 10])
        jumbled.network.evaluate(0.0)

    assert jumbled.evidence() == ordered.evidence()
    assert len(asked) < 20


def test_an_alarm_found_while_replaying_is_told():
    observations = stream("a", 120, 9, bias=9.0)
    shell = Shell()
    shell.take(observations[20:])
    shell.take(observations[:20])
    shell.network.evaluate(0.0)
    told = shell.network.drain_transitions()

    assert [change.after for change in told][-1] == "firing"


def test_one_arrival_at_a_time_gives_the_same_bits_as_one_batch():
    observations = stream("a", 60, 3, bias=4.0) + stream("b", 60, 4)
    together, single = Shell(), Shell()
    together.take(observations)
    for observation in observations:
        single.take([observation])
    one, other = together.network.evaluate(0.0), single.network.evaluate(0.0)

    assert together.evidence() == single.evidence()
    for name, values in one.statistics.items():
        assert np.array_equal(values, other.statistics[name], equal_nan=True), name


def test_an_event_begins_a_new_epoch_whenever_it_arrives():
    observations = stream("a", 100, 5, bias=8.0)
    event = Event("a", 60.0, "adjusted")
    before, after = Shell(), Shell()
    before.take([event])
    before.take(observations)
    after.take(observations)
    after.take([event])

    assert before.evidence() == after.evidence()
    assert before.network.evaluate(0.0).window_pairs.tolist() == [40]
    assert after.network.evaluate(0.0).window_pairs.tolist() == [40]


def test_advice_accepted_on_a_quantity_begins_no_epoch_of_another():
    both = [
        msgspec.structs.replace(each, quantity=quantity)
        for quantity, seed, bias in (("pm25", 5, 8.0), ("rh", 6, 3.0))
        for each in stream("a", 100, seed, bias)
    ]
    early, late = ([each for each in both if (each.time < 60.0) == side] for side in (True, False))
    note = "advice 5f3a9c21: -8.0 + 1.0 v, u times 1.0, of pm25"
    event, any_event = Event("a", 60.0, "accepted", note), Event("a", 60.0, "adjusted", note)
    lives = {
        "live": ([early], [event], [late]),
        "late": ([early], [late], [event]),
        "never": ([early], [late]),
        "all": ([early], [any_event], [late]),
    }
    seen = {}
    for name, batches in lives.items():
        shell = Shell()
        for [batch] in batches:
            shell.take(batch if isinstance(batch, list) else [batch])
            shell.evidence()
        again = Network(shell.network.settings, shell.store)
        again.restore_series(shell.told)
        again.restore(shell.store.observations())
        again.recall(shell.store.pairs())
        for kind, of in (("", shell.network), (" restarted", again)):
            counts = of.evaluate(0.0).window_pairs.tolist()
            parts = [(of.windows.rows(row).tobytes(), of.detector.bits(row)) for row in (0, 1)]
            seen[name + kind] = counts, *parts

    counts, pm25, rh = zip(*seen.values(), strict=True)
    assert counts == (([40, 100],) * 4 + ([100, 100],) * 2 + ([40, 40],) * 2)
    assert len(set(rh[:6])) == 1
    assert len({*pm25[:4], *pm25[6:]}) == 1


def test_a_late_reference_after_an_event_leaves_the_evidence_before_it_behind():
    faulty, mended = stream("a", 200, 2, bias=9.0), stream("a", 215, 3)[400:]
    late = mended.pop(11)
    live, at_once = Shell(), Shell()
    live.take(faulty)
    assert live.network.evaluate(0.0).states == ("firing",)
    live.take([Event("a", 200.0, "adjusted")])
    live.evidence()  # takes the past anew, up to the event
    live.take(mended)
    live.evidence()
    live.take([late])
    at_once.take([*faulty, Event("a", 200.0, "adjusted"), *mended, late])
    restored = Network(live.network.settings, live.store)
    restored.restore_series(live.told)
    restored.restore(live.store.observations())
    restored.recall(live.store.pairs())

    snapshot, again = live.network.evaluate(0.0), restored.evaluate(0.0)
    assert live.evidence() == at_once.evidence() == again.evidence.tolist()
    assert snapshot.states == again.states == ("unknown",)  # fifteen pairs
    assert snapshot.sentences == again.sentences
    assert live.network.detector.dump(0) == restored.detector.dump(0)
    assert live.network.windows.rows(0).tobytes() == restored.windows.rows(0).tobytes()


def test_an_event_after_the_last_pair_takes_back_all_that_was_said():
    shell = Shell()
    shell.take(stream("a", 200, 2, bias=9.0))
    assert shell.network.evaluate(0.0).advice != ("",)
    shell.take([Event("a", 200.0, "adjusted")])
    snapshot = shell.network.evaluate(0.0)

    assert (snapshot.advice, dict(snapshot.reports)) == (("",), {})
    assert np.isnan(snapshot.statistics["error_now"]).all()


def test_a_sensor_beyond_the_limit_is_refused_with_a_reason():
    shell = Shell(maximum=1)
    outcome = shell.take(
        [Reading("a", "x", 1.0, 1.0, u=1.0), Reading("b", "x", 1.0, 1.0, u=1.0)], 5.0
    )

    assert (outcome.duplicates, outcome.refused) == ([], [(1, "series_limit")])


def test_a_voided_reference_leaves_no_trace():
    with_void, without = Shell(), Shell()
    observations = stream("a", 50, 6)
    bad = Reference("a", "weight", 20.05, 1e14, identity="bad")
    without.take(observations)
    with_void.take([*observations[:60], bad, *observations[60:]])
    with_void.network.evaluate(0.0)
    with_void.take([Reference("a", "weight", 20.05, 1e14, identity="bad", revision=2, void=True)])
    one, other = without.network.evaluate(0.0), with_void.network.evaluate(0.0)

    assert with_void.evidence() == without.evidence()
    for name, values in one.statistics.items():
        assert np.array_equal(values, other.statistics[name], equal_nan=True), name


def test_a_series_that_is_not_heard_of_is_stale():
    shell = Shell()
    shell.take(stream("a", 30, 7), received=1000.0)

    assert shell.network.evaluate(1100.0).states == ("ok",)
    assert shell.network.evaluate(1000.0 + 3601.0).states == ("stale",)
    assert shell.network.evaluate(1000.0 + 3601.0).withdrawn.tolist() == [True]


def test_a_reading_that_comes_nearer_takes_the_other_ones_place_in_the_window():
    shell = Shell()
    for observation in (
        Reference("s", "weight", 10.0, 500.0),
        Reading("s", "weight", 9.8, 501.0, u=5.0),
        Reading("s", "weight", 10.1, 502.0, u=5.0),
    ):
        shell.take([observation])

    window = shell.network.windows.rows(0)
    assert [(row["time"], row["value"]) for row in window] == [(10.1, 502.0)]


def test_a_reference_that_is_too_uncertain_is_told_beside_the_verdict():
    shell = Shell()
    rough = [
        msgspec.structs.replace(each, u=2.0) if isinstance(each, Reference) else each
        for each in stream("s", 60, 1)
    ]
    shell.take(rough)

    (told,) = shell.network.evaluate(0.0).sentences
    assert told.endswith("(its reference is 0.4 times as uncertain as the sensor)")


def test_availability_stands_beside_the_scores_and_is_known_again_after_a_restart():
    shell = Shell()
    observations = [each for each in stream("s", 40, 1) if each.time < 10 or each.time >= 20]
    lone = [Reference("s", "weight", float(t), 500.0, u=0.3) for t in range(12, 18)]
    shell.take(observations)
    shell.take(lone, 1.0)
    share = shell.network.evaluate(0.0).statistics["availability_ratio"].tolist()
    assert share == [pytest.approx(30 / 36)]

    again = Shell()
    again.network.restore_series(shell.told)
    again.network.restore([(0.0, observations), (1.0, lone)])
    again.network.recall(shell.store.pairs())
    assert again.network.evaluate(0.0).statistics["availability_ratio"].tolist() == share


def test_an_epoch_of_a_sensor_that_has_no_pairs_yet_is_nothing_to_replay():
    shell = Shell()
    shell.take([Reading("s", "weight", 1.0, 500.0, u=5.0), Event("s", 5.0, "adjusted")])
    shell.network.evaluate(0.0)
    shell.take(stream("s", 30, 1))

    assert shell.network.evaluate(0.0).window_pairs.tolist() == [25]


def test_a_flood_of_readings_that_never_pair_is_held_within_its_limit_and_counted():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_pending=1000)
    network = Network(plan, InMemoryStore())
    for minute in range(60):
        flood = [Reading("s", "weight", 60.0 * minute + at, 500.0, u=5.0) for at in range(50)]
        network.observe(flood, 60.0 * minute)
        assert network.pairing.readings <= 1000 + 50
        assert network.pairing.readings >= min(50 * (minute + 1), 750)  # a quarter goes, no more

    network.expire(3600.0)
    assert network.pairing.readings <= 1000
    assert network.pairing.readings + network.pairing.expired_unpaired == 60 * 50


def test_all_that_is_held_arrived_after_what_was_too_much_whatever_the_clock_did():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_pending=100)
    network, evicted = Network(plan, InMemoryStore()), 0
    for second in range(200):
        received = float(second) if second % 7 else second - 40.0
        some = [Reading("s", "weight", second + at / 9.0, 500.0, u=5.0) for at in range(9)]
        network.observe(some, received)
        (buffer,) = network.pairing.reading_buffers.values()
        assert min(buffer.received) >= network.held_from
        evicted += network.held_from > 0.0
    assert evicted > 100


def test_a_restart_holds_what_arrived_by_a_clock_that_was_set_back():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_pending=100)
    nines = [
        (received, [Reading("s", "weight", at + k / 9.0, 500.0, u=5.0) for k in range(9)])
        for at, received in enumerate([*range(10_000, 10_030), *range(5000, 5005)])
    ]
    live, again = Network(plan, InMemoryStore()), Network(plan, InMemoryStore())
    for received, some in nines:
        live.observe(some, float(received))
    again.restore_series([KnownSeries(0, "s", "weight", "kg", 0.0)])
    again.restore((float(received), some) for received, some in nines)

    for network in (live, again):
        (buffer,) = network.pairing.reading_buffers.values()
        assert min(buffer.received) >= network.held_from


def test_after_a_restart_what_arrived_before_a_time_goes_and_nothing_else_does():
    """Two routes lead into a buffer: by the column and one by one."""
    known, names = KnownSeries(0, "s", "weight", "kg", 5.0), [("s", "weight")]
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_wait_seconds=1000.0)

    def column(time: float) -> Observed:
        row, number = np.zeros(1, np.int64), np.array([time])
        return Observed(PlainReadings(names, row, number, number, np.ones(1)), [])

    live, again = Network(plan, InMemoryStore()), Network(plan, InMemoryStore())
    batches = [(100.0, column(10.0)), (900.0, column(5.0))]
    kept = [(received, [live.observe(some, received).packed]) for received, some in batches]
    again.restore_series([known])
    again.restore(kept)
    for network in (live, again):
        network.expire(1200.0)
        (buffer,) = network.pairing.reading_buffers.values()
        assert (list(buffer.times), list(buffer.received)) == ([5.0], [900.0])


def test_a_restart_knows_that_what_came_by_the_column_came_in_order():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000))
    times, names = np.arange(200.0), [("s", "weight")]
    column = PlainReadings(names, np.zeros(200, np.int64), times, times, np.ones(200))
    live, again = Network(plan, InMemoryStore()), Network(plan, InMemoryStore())
    packed = live.observe(Observed(column, []), 300.0).packed
    again.restore_series([KnownSeries(0, "s", "weight", "kg", 0.0)])
    again.restore([(900.0, [Event("s", 1.0, "adjusted")]), (300.0, [packed])])

    for network in (live, again):
        (buffer,) = network.pairing.reading_buffers.values()
        assert buffer.in_order


def test_a_journal_that_kept_a_flood_is_held_again_within_the_limit():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_pending=1000)
    network = Network(plan, InMemoryStore())

    def kept():
        for minute in range(600):
            flood = [Reading("s", "weight", 60.0 * minute + at, 500.0, u=5.0) for at in range(50)]
            yield 0.0 if minute < 30 else 60.0 * minute, flood
            assert network.pairing.readings <= 1000 + 50

    network.restore_series([KnownSeries(0, "s", "weight", "kg", 0.0)])
    network.restore(kept())
    assert 750 <= network.pairing.readings <= 1000 + 50


def test_a_publish_judges_a_bounded_number_anew_and_none_goes_without_words():
    shell = Shell()
    sensors = [f"s{at}" for at in range(6)]
    for at, sensor in enumerate(sensors):
        shell.take(stream(sensor, 150, at, bias=7.0))
    first = shell.network.evaluate(0.0, 2)
    judged = [row for row in range(6) if "reads" in first.sentences[row]]
    for _ in range(2):
        last = shell.network.evaluate(0.0, 2)
    whole = Shell()
    for at, sensor in enumerate(sensors):
        whole.take(stream(sensor, 150, at, bias=7.0))
    at_once = whole.network.evaluate(0.0)

    assert set(first.states) == {"firing"}
    assert judged == [0, 1]
    assert all("not as right as it says" in first.sentences[row] for row in range(2, 6))
    assert sum(first.alerts[name].sum() for name in ("offset", "understated")) == 6
    assert last.sentences == at_once.sentences


def test_a_judgement_that_waits_is_let_go_of_with_its_window():
    shell = Shell()
    for at, sensor in enumerate(("a", "b")):
        shell.take(stream(sensor, 150, at, bias=7.0))
    shell.network.evaluate(0.0, 1)
    shell.take([Event("b", 1000.0, "replaced")])

    snapshot = shell.network.evaluate(0.0, 1)

    assert snapshot.window_pairs.tolist() == [150, 0]
    assert snapshot.states == ("firing", "unknown")


def held(network: Network) -> list[object]:
    """Return what a network holds for pairing, whatever the order in which it came."""
    pairing = network.pairing
    matches = [
        (name, at, buffer.match_of(references, at))
        for name, buffer in pairing.reading_buffers.items()
        for references in pairing.reference_buffers.values()
        for at in range(len(references.times))
    ]
    made = [
        (*where, sorted(map(repr, match.rows)), match.frozen)
        for *where, match in matches
        if match is not None
    ]
    references = [
        (name, list(map(repr, buffer.references())), list(buffer.received), list(buffer.identities))
        for name, buffer in pairing.reference_buffers.items()
    ]
    return [sorted(made), sorted(references), pairing.readings, len(pairing.references)]


@pytest.mark.parametrize("mode", ["nearest", "all", "interpolate"])
def test_a_restart_holds_references_and_pairs_as_they_were(mode):
    """Times that repeat, corrections without an identity, late ones, readings that are evicted."""
    chance = np.random.default_rng(3)
    rules = SeriesRules(unit="kg", window_pairs=200, pairing=Rules(mode, 3.0))
    plan = CoreSettings(lambda _s, _q: rules, limits=Limits(10, 1000), max_wait_seconds=100.0)
    store = InMemoryStore()
    live = Network(plan, store)
    for received in range(300):
        sensor, time = f"s{chance.integers(3)}", float(received - chance.choice([0, 0, 0, 9]))
        due, values = time + 1.0 + received / 1000.0, chance.normal(size=3).tolist()
        batch: list[Reading | Reference] = [
            *(Reading(sensor, "weight", time, value, u=5.0) for value in values[:2]),
            Reference(sensor, "weight", due, values[2], u=0.3),
        ]
        if chance.random() < 0.1:
            batch.append(Reference(sensor, "weight", due, 0.0, u=0.3, revision=1))
        outcome = live.observe(batch, float(received))
        taken = [each for at, each in enumerate(batch) if at not in outcome.gone]
        store.append(Batch(float(received), taken, outcome.pairs, outcome.series))
    live.expire(320.0)
    store.expire(observations_before=220.0, pairs_before=-np.inf)

    again = Network(plan, store)
    again.restore_series(store.series())
    again.restore(store.observations())
    again.recall(store.pairs())
    assert held(again) == held(live)
    assert any(is_frozen for *_, is_frozen in held(live)[0])


def test_a_restart_evicts_nothing_for_references_that_were_corrected():
    plan = CoreSettings(lambda _s, _q: RULES, limits=Limits(10, 1000), max_pending=100)
    live, again = Network(plan, InMemoryStore()), Network(plan, InMemoryStore())
    batches = [
        (float(at), [Reference("s", "weight", float(at % 40), float(at), u=0.3)])
        for at in range(160)
    ]
    for received, batch in batches:
        live.observe(batch, received)
    again.restore(batches)

    assert again.held_from == live.held_from == -np.inf
    assert held(again) == held(live)
