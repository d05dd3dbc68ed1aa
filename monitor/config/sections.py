"""The sections of the daemon's settings, with limits and defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from monitor.config.kinds import Derived, Globs, Host, Section, setting
from monitor.core.pairing.pairing_rule import PairingRule
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.series_rules import PairUncertainty, Systematic
from monitor.core.setting import Contradiction, File
from monitor.mqtt.connection import is_loopback

# Modes in which `candidates` chooses the pairing rule, with its default.
CANDIDATES_OF_MODE: Final[Mapping[str, str]] = {"nearest": "nearest", "key": "all"}
_CANDIDATES: Final = {rule.name: rule for rule in PAIRING_RULES.values() if rule.is_candidate}
_MODES: Final = {rule.name: rule for rule in PAIRING_RULES.values() if not rule.is_candidate}
if TYPE_CHECKING:
    PairingMode = str
    Candidates = str
else:  # the names of the pairing rules, so that a new rule can be set
    PairingMode = Literal[(*CANDIDATES_OF_MODE, *_MODES)]
    Candidates = Literal[tuple(_CANDIDATES)]
Density = Literal["normal", "tophat", "auto"]
Profile = Literal["balanced", "accuracy", "coverage"]


def _described(rules: Mapping[str, PairingRule]) -> str:
    return "; ".join(f"{name}: {rule.help}" for name, rule in rules.items())


class Pairing(Section):
    """How references are paired with readings."""

    mode: PairingMode = setting(
        "nearest",
        "nearest: a reference and the reading nearest to it in time; key: readings and the "
        f"nearest reference with the same key; {_described(_MODES)}.",
    )
    candidates: Candidates | None = setting(
        None,
        "Which of several matching readings a reference is paired with (modes nearest and key): "
        f"{_described(_CANDIDATES)}; null means nearest, or all in mode key.",
    )
    match_on: Annotated[
        tuple[Literal["subject", "key"], ...], Field(max_length=2, strict=False)
    ] = setting(
        ("subject", "key"),
        "What must match besides the quantity: subject (the reference is about that sensor), key "
        "(both carry the same key, or none).",
    )
    tolerance_seconds: Annotated[float, Field(gt=0, le=31_622_400)] | None = setting(
        None,
        "Largest time difference between a reading and its reference; null means 60, or "
        "max_wait_hours in mode key.",
    )
    lag_seconds: float = setting(
        0.0,
        "How much later than the reference a reading observes the same thing (transport delay).",
        ge=-31_622_400,
        le=31_622_400,
    )
    reading_seconds: float = setting(
        0.0,
        "Duration that one reading represents (mean_over_reference_interval).",
        ge=0,
        le=31_622_400,
    )
    completeness: float = setting(
        0.75, "Share of a reference's interval that readings must cover.", gt=0, le=1
    )
    correlation: float = setting(
        1.0,
        "Correlation between the errors of readings that are combined into one pair.",
        ge=0,
        le=1,
    )
    uncertainty: Annotated[PairUncertainty, Derived()] = setting(
        PairUncertainty(),
        "Standard uncertainty of the pairing itself, which grows with distance in time and space.",
    )
    max_pairs_per_reference: int = setting(
        1000,
        "How many readings of one series may pair with the same reference; the nearest count.",
        ge=2,
        le=1_000_000,
    )
    max_wait_hours: float = setting(
        72.0, "How long a reading or a reference waits for its counterpart.", gt=0, le=8784
    )
    max_pending: int = setting(
        500_000,
        "How many readings and references may wait; beyond that, the oldest quarter is dropped.",
        ge=1,
        le=100_000_000,
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that match_on has no duplicates and that the pairing rule has what it needs."""
        rule = PAIRING_RULES[rule_of(self)]
        yield from (
            Contradiction((name,), what) for name, what in rule.needs if not getattr(self, name)
        )
        if self.candidates is not None and self.mode not in CANDIDATES_OF_MODE:
            yield Contradiction(("candidates",), "has no meaning in this mode; remove it")
        if len(set(self.match_on)) < len(self.match_on):
            yield Contradiction(("match_on",), "names the same thing twice")


def rule_of(pairing: Pairing) -> str:
    """Return the name of the pairing rule that mode and candidates choose."""
    usual = CANDIDATES_OF_MODE.get(pairing.mode)
    return pairing.mode if usual is None else pairing.candidates or usual


class Windows(Section):
    """The window of pairs from which statistics are computed."""

    pairs: int = setting(500, "Maximum number of a series' most recent pairs.", ge=1, le=100_000)
    days: Annotated[float, Field(gt=0, le=36_525)] | None = setting(
        None, "Maximum age of the pairs, in days; null for no limit."
    )
    precision: Literal["double", "single"] = setting(
        "double",
        "Precision of stored pairs: single takes a third less memory and is accurate to 1e-7.",
    )
    replay_pairs: int = setting(
        512,
        "How many of a series' last pairs confirm an alarm; with fewer, a faint fault is found "
        "later or never.",
        ge=32,
        le=512,
    )


class Scoring(Section):
    """How stated uncertainties are interpreted."""

    density: Density = setting(
        "auto",
        "Distribution that a sensor states: normal, tophat (uniform over its interval), or auto "
        "(tophat if it states only an interval).",
    )
    level: float = setting(
        0.9,
        "Coverage probability of intervals computed from u, and of those stated without p.",
        ge=0.01,
        le=0.9999,
    )
    u_systematic: Annotated[Systematic, Derived()] = setting(
        Systematic(),
        "The part of the uncertainty that is the same error in every value, such as a "
        "calibration's. A bias within twice that part is not a fault "
        "(docs/concepts.md#what-does-not-average-out).",
    )
    profile: Profile = setting(
        "balanced",
        "The score that ranks sensors and is on their pages: accuracy (CRPS), coverage "
        "(quadratic) or balanced (interval).",
    )


class Alerts(Section):
    """When alerts are raised."""

    patience: float = setting(
        1000.0,
        "Minimum mean number of pairs between two false alarms of an honest sensor.",
        ge=2,
        le=1e9,
    )
    reference_stale_hours: float = setting(
        24.0,
        "A series is no longer judged once its last pair is older than both this and three times "
        "its usual gap between pairs.",
        gt=0,
        le=87_840,
    )
    tolerance: Annotated[float, Field(gt=0, le=1e15)] | None = setting(
        None,
        "Largest allowed error, in the unit of the quantity, that a drift is dated against; null "
        "for the typical standard uncertainty of the sensor's errors. No alert depends on it.",
    )
    rejected_share: float = setting(
        0.05,
        "Raise an alert when a larger share of a sensor's last messages is rejected.",
        gt=0,
        le=1,
    )
    severity: Literal["warning", "critical"] = setting(
        "warning",
        "Severity of the sensors' alerts; critical calls somebody at once (docs/alerts.md).",
    )


class Series(Section):
    """Limits on the number of series (one quantity of one sensor), and when one is stale."""

    max: int = setting(10_000, "Maximum number of series.", ge=1, le=10_000_000)
    max_new_per_minute: Annotated[int, Field(ge=1, le=10_000_000)] | None = setting(
        None,
        "Maximum number of new series per minute; readings of further ones wait. null for as many "
        "as max allows.",
    )
    allow: Globs = setting(
        ("*",),
        "Patterns of the sensors to accept. A start and a reload forget the series of others; one "
        "that has sent within pairing.max_wait_hours comes back with its next reading.",
    )
    stale_after_seconds: float = setting(
        3600.0,
        "A series without a reading for this long is stale: it is withdrawn from the metrics.",
        gt=0,
        le=31_622_400,
    )
    forget_after_days: Annotated[float, Field(ge=1, le=36_525)] | None = setting(
        90.0,
        "A series without a reading for this long is no longer shown nor counted, until its next "
        "reading; null for never.",
    )


class Publish(Section):
    """How often results are published."""

    interval_seconds: float = setting(
        2.0, "Time between two rounds of evaluation and publication.", ge=0.01, le=3600
    )


class Journal(Section):
    """The file that stores accepted messages and pairs."""

    path: File = setting(
        "state/journal.sqlite",
        "Path of the journal; a relative path starts from the folder of this file.",
        validate_default=True,
    )
    retention_days: float = setting(400.0, "How long pairs are kept.", gt=0, le=36_525)
    dead_letters: int = setting(
        10_000, "How many rejected messages are kept for inspection.", ge=0, le=1_000_000
    )


_PUBLIC_URL: Final = r"^(https?://[!-~]*[^/ ])?$"
_ROOT_PATH: Final = r"^(/[A-Za-z0-9._~-]+)*$"


class Http(Section):
    """Where metrics and pages are served."""

    host: Host = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(9108, "Port to listen on; 0 takes a free one.", ge=0, le=65_535)
    host_names: Annotated[tuple[Host, ...], Field(max_length=1000, strict=False)] = setting(
        (),
        "Further names that a request may have in its header Host, such as a proxy's. Checked if "
        "host is a loopback address, or if any are given.",
    )
    public_url: Annotated[str, Field(max_length=2048, pattern=_PUBLIC_URL)] = setting(
        "",
        "Address at which people reach the pages, such as https://monitor.example; alerts link "
        "there.",
    )
    root_path: Annotated[str, Field(max_length=256, pattern=_ROOT_PATH)] = setting(
        "",
        "Path below which a reverse proxy shows the pages, such as /monitor; links begin with it.",
    )
    allow_remote: bool = setting(
        default=False,
        description="Whether other machines may read the pages without encryption and password "
        "(docs/security.md).",
    )
    web_config: File | None = setting(
        None,
        "Web configuration file of Prometheus' exporter-toolkit, with TLS and users "
        "(docs/security.md); null for neither.",
    )
    metrics: Literal["all", "essential"] = setting(
        "all",
        "What /metrics shows of each series: all, or essential for what the shipped alerts need "
        "(docs/metrics.md).",
    )
    max_connections: int = setting(
        256,
        "Maximum number of connections; one too many replaces one of the address with the most.",
        ge=1,
        le=10_000,
    )
    header_timeout_seconds: float = setting(
        5.0, "Time limit for the headers of a request, and for a TLS handshake.", gt=0, le=300
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that other machines can read the pages only if the settings allow it."""
        if not (self.allow_remote or self.web_config or is_loopback(self.host)):
            yield Contradiction(
                ("host",),
                "would let other machines read the pages without a password; write 127.0.0.1, "
                "give web_config, or set allow_remote: true if you want that",
            )


class Log(Section):
    """The daemon's own log, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "Lowest level that is logged."
    )
    format: Literal["text", "json"] = setting(
        "text",
        "text for people; json with members sensor, quantity, alert, fault and estimate too.",
    )
