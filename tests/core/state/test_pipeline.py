"""Random lives: live, restarted from what is durable, and undisturbed a network says the same bits.

A life has readings, references before and after them, late ones, revisions, voids, events, looks at
the snapshot, evidence that is kept, retention, and restarts, some with other settings, in batches
of any size. What was kept changes nothing: each restart is held against one without it.
``pytest --lives 20000`` lives more of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monitor.core.detector import kept_evidence
from monitor.core.detector.thresholds import Threshold
from monitor.core.model import Event, Observation, Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules, Systematic
from monitor.core.registry import Limits
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.steps import finish
from monitor.daemon.checkpoints import Checkpoints
from monitor.daemon.intake import recover
from monitor.journal import Batch
from monitor.journal.in_memory import InMemoryStore

FEW = 20  # so few lives may all be calm
SENSORS = ("a", "b", "c")
START = 1000.0


class Plan(NamedTuple):
    """What differs between lives besides what happens in them."""

    window: int
    replay: int
    precision: str
    patience: float
    mode: str
    systematic: float = 0.0

    @property
    def settings(self) -> CoreSettings:
        rules = SeriesRules(
            unit="kg",
            window_pairs=self.window,
            patience=self.patience,
            systematic=Systematic(self.systematic),
            pairing=Rules(self.mode, 0.4),
        )
        return CoreSettings(
            lambda _s, _q: rules,
            limits=Limits(10, 1000),
            window_pairs_max=self.window,
            window_precision=self.precision,
            replay_pairs=self.replay,
            thresholds=(
                Threshold(
                    "wide",
                    "calibration_zms",
                    "baseline",
                    above=1.5,
                    hysteresis=0.0,
                    pairs_min=5,
                    baseline_pairs=10,
                ),
            ),
        )


class Life:
    """A network, what is durable of it, and restarts as the daemon does them."""

    def __init__(self, settings: CoreSettings, store: InMemoryStore | None = None) -> None:
        self._settings = settings
        self.store = InMemoryStore() if store is None else store
        self.resumed = 0
        self._started()

    def _started(self) -> None:
        self.network = Network(self._settings, self.store)
        recover(self.network, self.store, START)
        self._checkpoints = Checkpoints(self.network)

    def take(self, observations: list[Observation], received: float = START) -> None:
        outcome = self.network.observe(observations, received)
        taken = [each for at, each in enumerate(observations) if at not in outcome.gone]
        self.store.append(
            Batch(
                received,
                [each for each in taken if not isinstance(each, Event)],
                outcome.pairs,
                outcome.series,
                events=[each for each in taken if isinstance(each, Event)],
                notes=self._checkpoints.notes(received),
            )
        )
        self.network.apply(outcome.pairs)

    def keep(self) -> None:
        """Keep evidence as the daemon does, of one series at a time."""
        self.store.append(Batch(evidence=self.network.keep_evidence(1)))

    def forget(self, before: float) -> None:
        """Let retention drop pairs as the daemon does."""
        if self.store.expire(observations_before=-np.inf, pairs_before=before):
            self.network.drop_history(before)

    def restart(self, what: str, settings: CoreSettings | None = None) -> None:
        """Begin again from the bytes of a copy of the store, as if nothing had been kept."""
        self._settings = settings or self._settings
        self.store, bare = (InMemoryStore.open(self.store.copy()) for _ in range(2))
        bare._evidence.clear()
        self.resumed += len(self.store.evidence())
        self._started()
        assert_same(self.facts(), Life(self._settings, bare).facts(), what)

    def facts(self) -> dict[str, dict[str, object]]:
        return facts(self.network, self.network.evaluate(START))


def facts(network: Network, snapshot: Snapshot) -> dict[str, dict[str, object]]:
    """Return all that is known of each series, by its sensor, as bits."""
    found, onsets = {}, {each[0]: each for each in network.reports.onsets()}
    for row, name in enumerate(snapshot.names):
        records = network.detector.records(np.array([row]))
        report = network.reports.get(row)
        found[name.sensor] = {
            "window": network.windows.rows(row)[-network.windows.size :].tobytes(),
            **{each: records[each].tobytes() for each in records.dtype.names},
            "statistics": {
                each: of[row].tobytes()
                for each, of in snapshot.statistics.items()
                if not np.isnan(of[row])
            },
            "alerts": [each for each, of in snapshot.alerts.items() if of[row]],
            "state": snapshot.states[row],
            "sentence": snapshot.sentences[row],
            "advice": snapshot.advice[row],
            "since": None if report is None else repr(report.verdict.began),
            "report": repr(report),
            "onset": onsets.get(row),
            "shown": [
                repr(of[row].tolist())
                for of in (
                    snapshot.window_pairs,
                    snapshot.evidence,
                    snapshot.last_pair,
                    snapshot.recent_z,
                    snapshot.intervals_only,
                    snapshot.paged,
                )
            ],
        }
    return found


class Story(NamedTuple):
    """What happens: all that is said, in the order in which it was meant to come."""

    plan: Plan
    said: list[tuple[float, Observation]]  # (when it comes, in s after the first)


def story(chance: np.random.Generator) -> Story:
    """Return a random story of a few sensors."""
    window = int(chance.choice([20, 45, 120]))
    plan = Plan(
        window,
        int(chance.choice([window, 64, 512])) if window >= 32 else 64,
        str(chance.choice(["double", "single"])),
        float(chance.choice([20.0, 200.0, 1000.0])),
        str(chance.choice(["nearest", "interpolate"], p=[0.8, 0.2])),
    )
    said: list[tuple[float, Observation]] = []
    late = float(chance.choice([0.0, 2.0, 30.0, 300.0]))
    often = float(chance.choice([0.0, 0.1, 0.5]))  # share of references that are late
    for sensor in SENSORS[: chance.integers(1, 4)]:
        said += of_sensor(sensor, chance, late, often)
    return Story(plan, said)


def of_sensor(
    sensor: str, chance: np.random.Generator, late: float, often: float
) -> list[tuple[float, Observation]]:
    count = int(chance.choice([5, 40, 100, 200]))
    faults = sorted(chance.uniform(0, count, 2).tolist())
    offset, wide = float(chance.choice([0.0, 2.0, 4.0])), float(chance.choice([1.0, 1.0, 3.0]))
    intervals = chance.random() < 0.15
    said: list[tuple[float, Observation]] = []
    for at in range(count):
        truth = chance.normal(500.0, 50.0)
        error = 5.0 * chance.standard_normal() * (wide if at > faults[0] else 1.0)
        error += 5.0 * offset if faults[0] < at < faults[1] else 0.0
        time = float(at)
        if intervals:
            value = truth + error
            reading = Reading(sensor, "w", time, value, lower=value - 8, upper=value + 8, p=0.9)
        else:
            reading = Reading(sensor, "w", time, truth + error, u=5.0)
        said.append((time + late * (chance.random() < 0.05), reading))
        where = time + float(chance.choice([-0.1, 0.0, 0.1, 0.3]))
        identity = f"{sensor}{at}" if chance.random() < 0.5 else ""
        came = where + 1e-3 + (chance.uniform(0.0, late) if chance.random() < often else 0.0)
        said.append((came, Reference(sensor, "w", where, truth, u=0.3, identity=identity)))
        if identity and chance.random() < 0.1:
            kind, revised = chance.random(), came + chance.uniform(0.0, 10.0 + late)
            other = Reference(
                *(sensor, "w", where + (0.05 if kind < 0.3 else 0.0), truth + chance.normal(0, 9)),
                u=0.3,
                identity=identity,
                revision=1,
                void=bool(kind > 0.7),
            )
            said.append((revised, other))
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
        event = Event(sensor, float(np.round(chance.uniform(-5.0, count + 5.0), 1)), "adjusted")
        ahead = chance.choice([-5.0, 0.0, 1.0, 40.0])
        said.append((event.time + ahead + 0.5, event))
    return said


def lived(seed: int) -> tuple[dict[str, dict[str, object]], int]:
    """Live a life; raise AssertionError where what it says depends on more than what was said.

    Return what is known at its end, and how often evidence was resumed.
    """
    chance = np.random.default_rng(seed)
    plan, said = story(chance)
    said.sort(key=lambda each: each[0])
    observations = [each for _, each in said]
    live = Life(plan.settings)
    at, looks, restarts = 0, float(chance.choice([0.05, 0.5, 1.0])), chance.choice([0.0, 0.1])
    keeps, is_changed = chance.choice([0.1, 0.5]), chance.random() < 0.3
    size = int(chance.choice([8, 30, 120, 500]))
    while at < len(observations):
        more = int(chance.integers(1, size + 1))
        live.take(observations[at : at + more], START)
        at += more
        if chance.random() < looks:
            live.network.evaluate(START)
        if chance.random() < keeps:
            live.keep()
        if chance.random() < restarts:
            if is_changed and chance.random() < 0.5:
                plan = plan._replace(patience=plan.patience + 1.0, systematic=chance.uniform(0, 2))
            live.restart(f"life {seed}: restarted", plan.settings)
    found = live.facts()
    for row in range(len(live.network.registry)):
        steps = live.network.self_check(row)
        assert steps is not None
        compared = finish(steps)
        assert not compared.differing, f"life {seed}: self-check {row}"
    live.restart(f"life {seed}: restarted at its end")
    again = live.facts()
    undisturbed = Life(plan.settings)
    undisturbed.take(observations)
    at_once = undisturbed.facts()
    assert_same(found, again, f"life {seed}: live, restarted")
    assert_same(found, at_once, f"life {seed}: live, undisturbed")
    forgetful(live, chance, f"life {seed}: after retention")
    return found, live.resumed


def forgetful(live: Life, chance: np.random.Generator, what: str) -> None:
    """Let retention drop pairs of a life that goes on, and restart it."""
    times = live.store.pairs()["time"]
    for share in (0.2, 0.4):
        live.keep()
        live.forget(share * float(times.max(initial=0.0)))
        live.keep()
        live.restart(what)
        time = float(chance.uniform(0.0, 300.0))
        live.take([Reading("a", "w", time, 500.0, u=5.0), Reference("a", "w", time, 501.0, u=0.3)])
        live.keep()
    live.restart(what)


def assert_same(one: dict, other: dict, what: str) -> None:
    assert sorted(one) == sorted(other), what
    for sensor, known in one.items():
        differing = {
            name: (value, other[sensor][name])
            for name, value in known.items()
            if value != other[sensor][name]
        }
        assert not differing, f"{what}, {sensor}: {differing}"


def test_lives(request, monkeypatch):
    monkeypatch.setattr(kept_evidence, "PAIRS", 5)  # many times in a life
    lives = request.config.getoption("--lives")
    states, resumed = set(), 0
    for seed in range(lives):
        found, times = lived(seed)
        states |= {str(of["state"]) for of in found.values()}
        resumed += times

    assert lives < FEW or ({"ok", "firing"} <= states and resumed > lives)
