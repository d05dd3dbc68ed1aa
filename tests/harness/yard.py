"""A saleyard in memory: the simulated fleet, a real network, and a service that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from harness.programs import WAIT_SECONDS
from monitor.core.model import Observation, Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits, SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.daemon.publisher import OnDemandEvaluator
from monitor.extensions import all_extensions, hooks
from monitor.http.metrics import METRICS, STATES
from monitor.http.published import Page
from monitor.http.service import Service
from monitor.journal import Batch, DeadLetter
from monitor.journal.in_memory import InMemoryStore
from monitor.simulate.carts import CARTS, Cart, CartFleet

START = 1_780_000_000.0
RULES = SeriesRules(group="yard", unit="kg", window_pairs=300, pairing=Rules("all", 3600.0))


class Yard:
    """Animals cross the carts as fast as the thread goes; ``service`` shows what comes of it."""

    def __init__(
        self,
        service: Service,
        carts: Sequence[Cart] = CARTS,
        seed: int = 1,
        match_on: frozenset[str] = frozenset({"subject", "key"}),
        rules: Callable[[str, str], SeriesRules] = lambda _s, _q: RULES,
    ) -> None:
        self.service = service
        self.letters: tuple[DeadLetter, ...] = ()
        self.offsets: dict[str, float] = {}
        self._store = InMemoryStore()
        self.network = Network(
            CoreSettings(
                rules,
                match_on=match_on,
                limits=Limits(100, 1000),
                window_pairs_max=300,
                additions=tuple(hooks(all_extensions(), "plan")),
            ),
            self._store,
        )
        self._on_demand = OnDemandEvaluator(self.network, service.requests)
        self._fleet = CartFleet(np.random.default_rng(seed), START, 1.0, carts)
        self._now = START
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def work(self, seconds: float) -> Page:
        """Let some simulated time pass, then publish."""
        self._now += seconds
        observations = [self._shifted(each) for each in self._fleet.step(self._now)]
        self.take(observations)
        return self.publish()

    def take(self, observations: Sequence[Observation]) -> None:
        """Let the network have some observations, as the daemon does."""
        outcome = self.network.observe(observations, self._now)
        references = [each for each in observations if isinstance(each, Reference)]
        self._store.append(Batch(observations=references, pairs=outcome.pairs))
        self.network.apply(outcome.pairs)

    def race(self, spreads: Mapping[str, float], animals: int, seed: int = 1) -> None:
        """Let animals cross all platforms of one race: each has one reference for all."""
        chance = np.random.default_rng(seed)
        for animal in range(animals):
            mass, time = float(chance.normal(500.0, 60.0)), START + 10.0 * animal
            key, seen = f"tag {animal}", chance.normal(size=len(spreads)).tolist()
            self.take(
                [
                    Reading(name, "mass", time + at, mass + spread * each, u=5.0, key=key)
                    for at, ((name, spread), each) in enumerate(
                        zip(spreads.items(), seen, strict=True)
                    )
                ]
            )
            self.take([Reference("crush", "mass", time + 60.0, mass, 0.6, key, f"W{animal}")])

    def publish(self) -> Page:
        """Publish what is known."""
        snapshot = self.network.evaluate(self._now)
        answers = self._on_demand.evaluate(self._now)
        settings = {"http": {"port": 9108}}
        page = Page(
            snapshot,
            dead_letters=self.letters,
            doctor=DOCTOR,
            details=answers.details,
            occasions=answers.occasions,
            contenders=answers.contenders,
            settings=settings,
            settings_hash="ab" * 32,
        )
        self.service.publish(page)
        return page

    def run(self, speed: float = 2.0, every: float = 0.1) -> None:
        """Work in a thread until :meth:`stop`: ``speed`` simulated seconds each ``every``.

        What is known by now is published when this returns.
        """
        self.publish()
        self._thread = threading.Thread(target=self._run, args=(speed, every), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(WAIT_SECONDS)

    def _run(self, speed: float, every: float) -> None:
        while not self._stopped.wait(every):
            self.work(speed)

    def _shifted(self, each: Observation) -> Observation:
        """Return a reading with the offset that was injected into its sensor."""
        if isinstance(each, Reading) and each.sensor in self.offsets:
            return msgspec.structs.replace(each, value=each.value + self.offsets[each.sensor])
        assert isinstance(each, Reading | Reference)
        return each


DOCTOR = {
    "findings": ["mass: 0 keys in common"],
    "pairing": ["mass: 0 keys in common"],
    "text": "mass: 0 keys in common",
    "received": 5,
    "committed": 4,
    "readings_held": 2,
    "references_held": 2,
    "expired_unpaired": 1,
    "limited_references": 0,
    "filters": [
        {"filter": "a/+", "kind": "reading", "last_message": None, "delay_seconds": None},
        {"filter": "b/+", "kind": "reference", "last_message": START, "delay_seconds": 0.5},
    ],
    "refusals": [{"reason": "bad_payload", "count": 1, "topic": "a/b", "detail": "not JSON"}],
    "quantities": [],
}


def fleet(series: int, seed: int = 1) -> Snapshot:
    """Return a snapshot of so many series with numbers drawn at random."""
    random = np.random.default_rng(seed)
    statistics = {metric.statistic: random.lognormal(size=series) for metric in METRICS.values()}
    for share in ("calibration_coverage_ratio", "availability_ratio", "ucc_gain_ratio"):
        statistics[share] = random.random(series)
    offset = np.sqrt(statistics["calibration_zms"]) * random.uniform(-1.0, 1.0, series)
    statistics["calibration_z_mean"] = offset
    states = random.choice(STATES, size=series, p=[0.1, 0.7, 0.1, 0.05, 0.05]).tolist()
    firing = np.array([state == "firing" for state in states], dtype=np.bool_)
    return Snapshot(
        time=START,
        names=tuple(
            SeriesName(f"node-{row:05}", "pm25", "ug/m3", f"model-{row % 7}")
            for row in range(series)
        ),
        statistics=statistics | {"calibration_coverage_stated": np.full(series, 0.9)},
        states=tuple(states),
        alerts={"offset": firing},
        evidence=random.lognormal(size=series),
        sentences=tuple(
            "reads 6.2 ug/m3 high (4.1 to 8.3), since 2026-03-01 06:12"
            if on
            else "right within 0.2 u and a factor of 1.2 (300 pairs)"
            for on in firing
        ),
        advice=tuple("subtract 6.2 ug/m3" if on else "" for on in firing),
        window_pairs=random.integers(1, 500, series),
        last_reading=START - random.random(series) * 1e5,
        last_pair=START - random.random(series) * 1e5,
        withdrawn=np.zeros(series, dtype=np.bool_),
        recent_z=random.standard_normal((series, 20)),
        intervals_only=random.random(series) < 0.2,
    )
