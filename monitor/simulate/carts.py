"""Simulated fleets with known truth and known faults: carts weighing cattle.

Rules of this file: no clock, no socket; the reading of a cart at its n-th animal depends on the
seed and on n alone, not on when or how often :meth:`Fleet.step` is called.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from monitor.core.model import NAN, Observation, Reading, Reference
from monitor.simulate.forces import force_trace, method_e

Claim = Literal["own", "constant", "random", "perfect", "forces"]

QUANTITY: Final = "mass"
UNIT: Final = "kg"
SCALE: Final = "scale"
HILL_DAYS: Final = 100

_HERD_KG: Final = 500.0
_HERD_SPREAD_KG: Final = 60.0
_SPREAD_VARIATION: Final = 0.25  # of ln(spread) from animal to animal: some stand still
_REFERENCE_U_KG: Final = 0.6
_WEIGHED_SHARE: Final = 0.85  # of the animals, the others never stand on the reference scale
_BEFORE_SHARE: Final = 0.2  # of those, weighed before they cross the cart
_DELAY_INTERVALS: Final = (0.5, 3.0)
_P: Final = 0.9
_HALF_WIDTH: Final = 1.6448536269514722  # of the central 90 % of the normal, in u
_U_MIN_KG: Final = 0.01
_OUTLIER_KG: Final = 60.0
_MORE_SPREADS_KG: Final = (4.0, 6.0, 3.5, 7.0)
_TAG_COUNTRY: Final = 982_000_000_000_000
_TAGS: Final = 10**12
_TAGS_A_SECOND: Final = 100
_HILL_SECONDS: Final = 7200.0  # from animal to animal
_HILL_WEIGHED: Final = 720  # animals, 60 days: then its scale is taken away
_CROWD_SECONDS: Final = 20.0  # the longest that an animal takes to cross all carts


class CartFault(NamedTuple):
    """The fault of a sensor: the truth that the monitor has to find.

    ``size`` is in ``unit`` (kg, a ratio, kg an animal); ``since`` is s UTC, NaN if it never
    comes; ``alert`` is the name under which the monitor reports it, empty where it must not.
    """

    kind: str
    size: float
    unit: str
    since: float
    sentence: str
    alert: str


class Cart(NamedTuple):
    """How one sensor weighs, and what it states.

    value = mass + offset + min(drift * m, drift_max) + (gain - 1) (mass - 500 kg) + spread * normal
    at the n-th animal, m = max(n - drift_from, 0), plus or minus 60 kg at a share ``outliers``. It
    states ``claimed_ratio`` * spread as its standard uncertainty, or what ``claim`` says; with
    "forces" it states the result of method E on the animal's forces, and nothing else counts. A
    cart that ``is_apart`` is not in the race: it has its own animals and references.
    """

    sensor: str
    sentence: str = "is honest"
    kind: str = "honest"
    alert: str = ""
    spread_kg: float = 5.0
    claim: Claim = "own"
    claimed_ratio: float = 1.0
    interval_only: bool = False
    offset_kg: float = 0.0
    drift_kg: float = 0.0
    drift_max_kg: float = 40.0
    drift_from: int = 0
    gain: float = 1.0
    outliers: float = 0.0
    animals_max: float = math.inf
    is_apart: bool = False

    def fault(self, start: float, interval_seconds: float) -> CartFault:
        """Return what is wrong with this cart in a fleet that starts at ``start`` (s UTC)."""
        begun = start + self.drift_from * interval_seconds
        sizes: dict[str, tuple[float, str, float]] = {
            "honest": (0.0, UNIT, NAN),
            "offset": (self.offset_kg, UNIT, start),
            "understated": (1.0 / self.claimed_ratio, "", start),
            "overstated": (self.claimed_ratio, "", start),
            "drift": (self.drift_kg, f"{UNIT} an animal", begun),
            "outliers": (self.outliers, "", start),
            "gain": (self.gain, "", start),
            "light": (self.offset_kg, UNIT, start),
            "stops": (0.0, "", start + self.animals_max * interval_seconds),
            "control": (0.0, "", NAN),
        }
        size, unit, since = sizes[self.kind]
        return CartFault(self.kind, size, unit, since, f"{self.sensor} {self.sentence}", self.alert)


CARTS: Final = (
    Cart("cart-01"),
    Cart("cart-02", spread_kg=8.0, sentence="is coarse, but honest about it"),
    Cart("cart-03", "reads 6.2 kg heavy", "offset", "offset", offset_kg=6.2),
    Cart(
        "cart-04",
        "is 2.2 times less certain than it says",
        "understated",
        "understated",
        claimed_ratio=1.0 / 2.2,
    ),
    Cart("cart-05", spread_kg=3.0),
    Cart(
        "cart-06",
        "is 2.5 times more certain than it says",
        "overstated",
        "overstated",
        claimed_ratio=2.5,
    ),
    Cart(
        "cart-07",
        "reads 0.1 kg heavier with every animal, up to 40 kg",
        "drift",
        "drift",
        drift_kg=0.1,
    ),
    Cart(
        "cart-08", "is 60 kg off at one animal in twelve", "outliers", "outliers", outliers=1 / 12
    ),
    Cart("cart-09", "stretches weights about 500 kg by 12 %", "gain", "gain", gain=1.12),
    Cart("cart-10", interval_only=True),
    Cart(
        "cart-11",
        "states intervals that are half as wide as they should be",
        "understated",
        "understated",
        interval_only=True,
        claimed_ratio=0.5,
    ),
    Cart("cart-12", "falls silent after 120 animals", "stops", animals_max=120),
    Cart(
        "cart-13",
        "reads some 50 kg light and understates its u (method E)",
        "light",
        "offset",
        claim="forces",
        offset_kg=-50.0,
    ),
)
_RACING: Final[dict[str, Cart]] = {
    "cart-07": Cart(
        "cart-07",
        "reads 0.05 kg heavier with every animal",
        "drift",
        "drift",
        spread_kg=3.0,
        drift_kg=0.05,
        drift_max_kg=math.inf,
    ),
    "cart-08": Cart(
        "cart-08", "is 60 kg off at one animal in four", "outliers", "outliers", outliers=1 / 4
    ),
}
RACE: Final = (
    *(
        cart._replace(is_apart=cart.kind in ("understated", "outliers", "light"))
        for cart in (_RACING.get(each.sensor, each) for each in CARTS)
    ),
    *(Cart(f"cart-{14 + at}", spread_kg=spread) for at, spread in enumerate(_MORE_SPREADS_KG)),
)
"""The carts of a race, which all animals cross. Most are honest: somebody must vouch for the scale.
Those that scatter more than they claim have animals and a scale of their own."""
_DRIFTS: Final = "reads 0.03 kg heavier with every animal, since its scale was taken away"
HILL: Final = (
    Cart("hill-1", _DRIFTS, "drift", "apart", drift_kg=0.03, drift_from=_HILL_WEIGHED),
    *(Cart(f"hill-{number}") for number in range(2, 9)),
)
"""The carts of a yard whose scale was taken away: since then only neighbours tell."""
CONTROLS: Final = (
    Cart("control-perfect", "knows its own error, to 0.6 kg", "control", claim="perfect"),
    Cart("control-random-u", "draws its u at random", "control", claim="random"),
    Cart("control-constant-u", "always states the same u", "control", claim="constant"),
)


class CartFleet:
    """Carts at a saleyard: every ``interval_seconds`` an animal crosses each of them, once.

    Most animals also stand on a reference scale, a little earlier or later; ``generator`` is the
    only source of randomness. ``faults`` is the truth by sensor, ``units`` the unit by series. With
    ``race`` each animal crosses all carts, one after the other, and has one reference for all,
    about ``scale`` if that has a name; only the first ``weighed_max`` have one. Without it, each
    cart has its own animals.
    """

    def __init__(
        self,
        generator: np.random.Generator,
        start: float,
        interval_seconds: float = 0.5,
        carts: Sequence[Cart] = CARTS,
        *,
        race: bool = False,
        scale: str = SCALE,
        weighed_max: float = math.inf,
    ) -> None:
        self.faults: Final = {cart.sensor: cart.fault(start, interval_seconds) for cart in carts}
        self.units: Final = {(cart.sensor, QUANTITY): UNIT for cart in carts}
        self._start: Final = start
        self._interval_seconds: Final = interval_seconds
        self._crowd: Final = min(1.0, _CROWD_SECONDS / interval_seconds)  # of an interval
        self._carts: Final = tuple(carts)
        self._scale: Final = scale
        self._weighed_max: Final = weighed_max
        self._generators: Final = generator.spawn(len(carts))
        # Each cart of the race draws the same animals from its copy of the herd's generator.
        seed = int(generator.integers(2**63)) if race else 0
        self._herds: Final = {
            at: np.random.default_rng(seed)
            for at, cart in enumerate(carts)
            if race and not cart.is_apart
        }
        # Fleets that start at different times meet different animals.
        self._first_tag: Final = _TAG_COUNTRY + int(start * _TAGS_A_SECOND) % _TAGS
        self._animals = [0] * len(carts)
        self._due: list[tuple[float, int, int, Observation]] = []

    def step(self, now: float) -> list[Observation]:
        """Return the observations up to ``now`` (s UTC) not yet returned, in order of sending."""
        for at, cart in enumerate(self._carts):
            while self._crossing(at) <= now + self._lead_seconds:
                if self._animals[at] >= cart.animals_max:
                    break
                for observation in self._weigh(at):
                    number = self._animals[at] * len(self._carts) + at
                    kind = int(isinstance(observation, Reference))
                    heapq.heappush(self._due, (observation.time, number, kind, observation))
                self._animals[at] += 1
        sent = []
        while self._due and self._due[0][0] <= now:
            sent.append(heapq.heappop(self._due)[-1])
        return sent

    @property
    def _lead_seconds(self) -> float:
        """How long before an animal's crossing its reference may be."""
        return _DELAY_INTERVALS[1] * self._crowd * self._interval_seconds

    def _crossing(self, at: int) -> float:
        phase = (at + 1) / len(self._carts) * self._crowd
        return self._start + (self._animals[at] + phase) * self._interval_seconds

    def _weigh(self, at: int) -> Iterator[Reading | Reference]:
        """Return the reading of the next animal on one cart, and its reference if it has one."""
        generator, animal = self._generators[at], self._animals[at]
        herd = self._herds.get(at, generator)
        mass = _HERD_KG + _HERD_SPREAD_KG * float(herd.standard_normal())
        time = round(self._crossing(at), 6)
        is_shared = at in self._herds and bool(self._scale)
        crossed_by = 0 if is_shared else at  # in a race the first cart, which never stops
        number = animal * len(self._carts) + crossed_by
        key = str(self._first_tag + number)
        weigh = _by_forces if self._carts[at].claim == "forces" else _reading
        yield weigh(self._carts[at], mass, animal, time, key, generator)
        weighed, before, delay = herd.random(3).tolist()
        error = _REFERENCE_U_KG * float(herd.standard_normal())
        if weighed < _WEIGHED_SHARE and at == crossed_by and animal < self._weighed_max:
            low, high = _DELAY_INTERVALS
            delay_seconds = (low + delay * (high - low)) * self._crowd * self._interval_seconds
            yield Reference(
                subject=self._scale if is_shared else self._carts[at].sensor,
                quantity=QUANTITY,
                time=round(time + (-delay_seconds if before < _BEFORE_SHARE else delay_seconds), 6),
                value=round(mass + error, 1),
                u=_REFERENCE_U_KG,
                key=key,
            )


def hill_yard(generator: np.random.Generator, start: float) -> CartFleet:
    """Return the fleet of ``HILL``, which all animals of that yard cross, from ``start`` on."""
    own: dict[str, Any] = {"race": True, "scale": "", "weighed_max": _HILL_WEIGHED}
    return CartFleet(generator, start, _HILL_SECONDS, HILL, **own)


def _reading(
    cart: Cart, mass: float, animal: int, time: float, key: str, generator: np.random.Generator
) -> Reading:
    noise, varied, other = generator.standard_normal(3).tolist()
    spread = cart.spread_kg * math.exp(_SPREAD_VARIATION * varied)
    error = (
        cart.offset_kg
        + min(cart.drift_kg * max(animal - cart.drift_from, 0), cart.drift_max_kg)
        + (cart.gain - 1.0) * (mass - _HERD_KG)
    )
    error += spread * noise
    hit, side = generator.random(2).tolist()
    if hit < cart.outliers:
        error += math.copysign(_OUTLIER_KG, side - 0.5)
    claims: dict[Claim, float] = {
        "own": spread * cart.claimed_ratio,
        "constant": cart.spread_kg * math.exp(_SPREAD_VARIATION**2),  # root mean square of spread
        "random": cart.spread_kg * math.exp(_SPREAD_VARIATION * other),
        # Not below the reference's u, or scores would punish the best of all claims.
        "perfect": math.hypot(error, _REFERENCE_U_KG),
    }
    value = round(mass + error, 1)
    u = max(round(claims[cart.claim], 2), _U_MIN_KG)
    interval = {
        "lower": round(value - _HALF_WIDTH * u, 1),
        "upper": round(value + _HALF_WIDTH * u, 1),
        "p": _P,
    }
    stated = interval if cart.interval_only else {"u": u}
    return Reading(cart.sensor, QUANTITY, time, value, key=key, sequence=str(animal), **stated)


def _by_forces(
    cart: Cart, mass: float, animal: int, time: float, key: str, generator: np.random.Generator
) -> Reading:
    """Return the reading of a cart that uses method E on the forces."""
    estimate = method_e(force_trace(mass, generator))
    value, lower, upper, p = estimate or (0.0, 0.0, 0.0, NAN)
    return Reading(
        cart.sensor,
        QUANTITY,
        time,
        value=round(value, 1),
        lower=round(lower, 1),
        upper=round(upper, 1),
        p=p,
        key=key,
        sequence=str(animal),
    )
