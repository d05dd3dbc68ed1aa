"""The sections of the settings file: what may be set, within which limits, and the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from monitor.config.derived import Derived
from monitor.config.kinds import (
    Contradiction,
    File,
    Globs,
    Host,
    Section,
    is_loopback,
    setting,
)
from monitor.core.pairing.pairing_rules import PairUncertainty

PairingMode = Literal["nearest", "key", "asof", "interpolate", "mean_over_reference_interval"]
Candidates = Literal["nearest", "all", "first", "reject"]
Density = Literal["normal", "tophat", "auto"]
Profile = Literal["balanced", "accuracy", "coverage"]


class Pairing(Section):
    """Which reference belongs to which reading."""

    mode: PairingMode = setting(
        "nearest",
        "nearest: a reference and the reading nearest in time; key: readings and the nearest "
        "reference of their key; asof: the last reading before the reference; interpolate: the "
        "line between the readings around it; mean_over_reference_interval: the mean of the "
        "readings inside its interval.",
    )
    candidates: Candidates | None = setting(
        None,
        "Of several readings that fit one reference (modes nearest and key): the nearest, all, the "
        "first, or none of them (reject); null for nearest, and for all in mode key.",
    )
    match_on: Annotated[
        tuple[Literal["subject", "key"], ...], Field(max_length=2, strict=False)
    ] = setting(
        ("subject", "key"),
        "What must agree besides the quantity: subject (the reference is about that sensor), key "
        "(both carry the same one, or none).",
    )
    tolerance_seconds: Annotated[float, Field(gt=0, le=31_622_400)] | None = setting(
        None,
        "How far apart in time a reading and its reference may be; null for 60, and for "
        "max_wait_hours in mode key.",
    )
    lag_seconds: float = setting(
        0.0,
        "How much later than the reference a reading sees the same thing (transport).",
        ge=-31_622_400,
        le=31_622_400,
    )
    reading_seconds: float = setting(
        0.0, "How long a reading stands for (mean_over_reference_interval).", ge=0, le=31_622_400
    )
    completeness: float = setting(
        0.75, "Share of a reference's interval that readings must cover.", gt=0, le=1
    )
    correlation: float = setting(
        1.0, "Between the errors of the readings that one pair is made of.", ge=0, le=1
    )
    uncertainty: Annotated[PairUncertainty, Derived()] = setting(
        PairUncertainty(), "How the uncertainty of a pairing grows with distance."
    )
    max_wait_hours: float = setting(
        72.0, "How long either side waits for the other to arrive.", gt=0, le=8784
    )
    max_pending: int = setting(
        500_000,
        "How many readings and references may wait in all; beyond, the first quarter is let go of.",
        ge=1,
        le=100_000_000,
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Each thing to agree on is named once; a mean needs to know how long a reading is."""
        if self.mode == "mean_over_reference_interval" and not self.reading_seconds:
            what = "is needed for mean_over_reference_interval: how long a reading stands for"
            yield Contradiction(("reading_seconds",), what)
        if self.candidates is not None and self.mode not in ("nearest", "key"):
            yield Contradiction(("candidates",), "means nothing in this mode; take it away")
        if len(set(self.match_on)) < len(self.match_on):
            yield Contradiction(("match_on",), "names the same thing twice")


class Windows(Section):
    """How far back statistics look."""

    pairs: int = setting(500, "At most so many of a series' last pairs.", ge=1, le=100_000)
    days: Annotated[float, Field(gt=0, le=36_525)] | None = setting(
        None, "At most the pairs of so many days; null for no limit in time."
    )
    precision: Literal["double", "single"] = setting(
        "double",
        "How exactly a window keeps a pair: single takes 32 bytes instead of 48, and 48 instead of "
        "80 where intervals are stated; errors and scores are then exact to 1e-7 of themselves.",
    )
    replay_pairs: int = setting(
        512,
        "An alarm is confirmed on so many of a series' last pairs. Where its window is as long "
        "they cost no memory; fewer see a faint fault later, or never.",
        ge=32,
        le=512,
    )


class Scoring(Section):
    """How a stated uncertainty is read."""

    density: Density = setting(
        "auto",
        "Distribution that a sensor is taken to state: normal, tophat (even over its interval), "
        "or auto (normal where it states u, tophat where it states an interval only).",
    )
    level: float = setting(
        0.9,
        "Coverage probability of the interval of a sensor that states u only, and of intervals "
        "that come without p.",
        ge=0.01,
        le=0.9999,
    )
    profile: Profile = setting(
        "balanced",
        "What counts most when sensors are ranked, and which score their pages show: accuracy "
        "(CRPS), coverage (quadratic score) or balanced (interval score).",
    )


class Alerts(Section):
    """When to raise an alert."""

    patience: float = setting(
        1000.0,
        "How many pairs an honest sensor goes, on average at least, between two false alarms.",
        ge=2,
        le=1e9,
    )
    reference_stale_hours: float = setting(
        24.0,
        "A series whose readings come and whose last pair is older than this, and than three usual "
        "gaps between its pairs, is no longer judged; references that come late need more.",
        gt=0,
        le=87_840,
    )
    rejected_share: float = setting(
        0.05,
        "An alert when a larger share of a sensor's last messages could not be used.",
        gt=0,
        le=1,
    )


class Series(Section):
    """How many series (one sensor's one quantity) there may be, and when one is silent."""

    max: int = setting(10_000, "At most so many series.", ge=1, le=10_000_000)
    max_new_per_minute: int = setting(
        100, "At most so many new series a minute.", ge=1, le=10_000_000
    )
    allow: Globs = setting(("*",), "Patterns of the sensors that may come in.")
    stale_after_seconds: float = setting(
        3600.0,
        "A series without a reading for so long is withdrawn from the metrics.",
        gt=0,
        le=31_622_400,
    )
    forget_after_days: Annotated[float, Field(ge=1, le=36_525)] | None = setting(
        90.0,
        "A series without a reading for so long is let go of: it is no longer shown, takes no "
        "memory and does not count in max. Its pairs stay in the journal, and it is itself again "
        "when it is heard again. null for never.",
    )


class Publish(Section):
    """When results are published."""

    interval_seconds: float = setting(
        2.0, "Time between two rounds of computing and publishing.", ge=0.01, le=3600
    )


class Journal(Section):
    """The file that keeps what was accepted."""

    path: File = setting(
        "state/journal.sqlite",
        "Where it is; a relative path starts from the folder the daemon is started in.",
    )
    retention_days: float = setting(400.0, "How long pairs are kept.", gt=0, le=36_525)
    dead_letters: int = setting(
        10_000, "How many rejected messages are kept for a look.", ge=0, le=1_000_000
    )


class Http(Section):
    """Where metrics and pages are served."""

    host: Host = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(9108, "Port to listen on; 0 takes a free one.", ge=0, le=65_535)
    allow_remote: bool = setting(
        default=False,
        description="Whether other machines may read it without encryption and password; put a "
        "proxy in front.",
    )
    web_config: File | None = setting(
        None,
        "Prometheus' web configuration file (exporter-toolkit): tls_server_config and "
        "basic_auth_users with bcrypt hashes; null for neither.",
    )
    max_connections: int = setting(64, "At most so many connections at a time.", ge=1, le=10_000)
    header_timeout_seconds: float = setting(
        5.0, "A request whose head takes longer is cut off.", gt=0, le=300
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Whoever opens the pages to other machines says so."""
        if not (self.allow_remote or self.web_config or is_loopback(self.host)):
            yield Contradiction(
                ("host",),
                "would let other machines read the pages, which ask for no password; write "
                "127.0.0.1, give web_config, or allow_remote: true if you want that",
            )


class Log(Section):
    """What the daemon says of itself, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "The least that is worth a line."
    )
    format: Literal["text", "json"] = setting("text", "For people or for machines.")
