"""The sections of the settings file: what may be set, within which limits, and the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from monitor.config.kinds import (
    Contradiction,
    File,
    Globs,
    Host,
    Name,
    Port,
    Section,
    Variable,
    is_loopback,
    setting,
)
from monitor.core.pairing.pairing_rule import PairingRule
from monitor.core.pairing.pairing_rules import PAIRING_RULES

# Modes in which `candidates` chooses the pairing rule, and what it is where nobody sets it.
CANDIDATES_OF_MODE: Final[Mapping[str, str]] = {"nearest": "nearest", "key": "all"}
_CANDIDATES: Final = {rule.name: rule for rule in PAIRING_RULES.values() if rule.is_candidate}
_MODES: Final = {rule.name: rule for rule in PAIRING_RULES.values() if not rule.is_candidate}
if TYPE_CHECKING:
    PairingMode = str
    Candidates = str
else:  # the words of the pairing rules, so that a new rule can be set
    PairingMode = Literal[(*CANDIDATES_OF_MODE, *_MODES)]
    Candidates = Literal[tuple(_CANDIDATES)]
Seconds = Annotated[float, Field(ge=-31_622_400, le=31_622_400)]
Density = Literal["normal", "tophat", "auto"]
Profile = Literal["balanced", "accuracy", "coverage"]
ToleranceSeconds = Annotated[float, Field(gt=0, le=31_622_400)]
WindowPairs = Annotated[int, Field(ge=1, le=100_000)]
WindowDays = Annotated[float, Field(gt=0, le=36_525)]
Level = Annotated[float, Field(ge=0.01, le=0.9999)]
Patience = Annotated[float, Field(ge=2, le=1e9)]
ReferenceStaleHours = Annotated[float, Field(gt=0, le=87_840)]
RejectedShare = Annotated[float, Field(gt=0, le=1)]
StaleAfterSeconds = Annotated[float, Field(gt=0, le=31_622_400)]


def _words(rules: Mapping[str, PairingRule]) -> str:
    return "; ".join(f"{name}: {rule.help}" for name, rule in rules.items())


class Tls(Section):
    """An encrypted connection to the broker; ``tls: {}`` trusts what this machine trusts."""

    ca_file: File | None = setting(
        None, "Certificates (PEM) of those who may vouch for the broker; null for the system's."
    )
    cert_file: File | None = setting(
        None, "The daemon's own certificate (PEM), where the broker asks for one."
    )
    key_file: File | None = setting(None, "The key (PEM) of cert_file.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A certificate and its key come together."""
        if self.cert_file is not None and self.key_file is None:
            yield Contradiction(("cert_file",), "needs its key; give key_file too")
        if self.key_file is not None and self.cert_file is None:
            yield Contradiction(("key_file",), "needs its certificate; give cert_file too")


class Mqtt(Section):
    """The broker, and how to be its client."""

    host: Host = setting("127.0.0.1", "Name or address of the broker.")
    port: Port = setting(1883, "Port of the broker; 8883 is usual with TLS.")
    protocol: Literal["5", "3.1.1"] = setting("5", "Version of MQTT, in quotes.")
    client_id: Name = setting(
        "monitor", "Name of the session at the broker; two daemons need two names."
    )
    username: Annotated[str, Field(min_length=1, max_length=1024)] | None = setting(
        None, "User name at the broker; null for none."
    )
    username_env: Variable | None = setting(
        None, "Environment variable that holds the user name, instead of username."
    )
    password_file: File | None = setting(
        None,
        "File that holds the password and nothing else; a relative path is looked for in "
        "$CREDENTIALS_DIRECTORY first.",
    )
    password_env: Variable | None = setting(
        None, "Environment variable that holds the password, instead of password_file."
    )
    keepalive_seconds: int = setting(
        15, "A connection silent for one and a half times this long is given up.", ge=1, le=65_535
    )
    session_expiry_seconds: int = setting(
        604_800,
        "How long the broker keeps messages for a daemon that is away (MQTT 5).",
        ge=0,
        le=4_294_967_295,
    )
    receive_maximum: int = setting(
        20_000,
        "How many messages may be under way before they are durable (MQTT 5).",
        ge=1,
        le=65_535,
    )
    max_packet_bytes: int = setting(65_536, "Largest message that is read.", ge=128, le=268_435_455)
    connect_timeout_seconds: float = setting(
        3.0, "How long one attempt to connect may take.", gt=0, le=120
    )
    tls: Tls | None = setting(None, "Encryption; null for none.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A name and a password each have one place, and 3.1.1 knows no password without a name."""
        if self.username is not None and self.username_env is not None:
            yield Contradiction(("username_env",), "stands beside username; give one of the two")
        if self.password_file is not None and self.password_env is not None:
            yield Contradiction(
                ("password_env",), "stands beside password_file; give one of the two"
            )
        password = next((at for at in ("password_file", "password_env") if getattr(self, at)), None)
        if self.protocol == "3.1.1" and password and not (self.username or self.username_env):
            yield Contradiction((password,), "MQTT 3.1.1 needs a user name with a password")


class PairUncertainty(Section):
    """Standard uncertainty of a pairing, in the unit of the series; its parts add in squares."""

    per_sqrt_hour: Annotated[float, Field(ge=0, le=1e15)] = setting(
        0.0, "For each square root of an hour between reading and reference."
    )
    per_hour: Annotated[float, Field(ge=0, le=1e15)] = setting(
        0.0, "For each hour between reading and reference."
    )
    per_km: Annotated[float, Field(ge=0, le=1e15)] = setting(
        0.0, "For each kilometre between sensor and reference."
    )


class Pairing(Section):
    """Which reference belongs to which reading."""

    mode: PairingMode = setting(
        "nearest",
        "nearest: a reference and the reading nearest in time; key: readings and the nearest "
        f"reference of their key; {_words(_MODES)}.",
    )
    candidates: Candidates | None = setting(
        None,
        "Which of several readings that fit one reference (modes nearest and key): "
        f"{_words(_CANDIDATES)}; null for nearest, and for all in mode key.",
    )
    match_on: Annotated[
        tuple[Literal["subject", "key"], ...], Field(max_length=2, strict=False)
    ] = setting(
        ("subject", "key"),
        "What must agree besides the quantity: subject (the reference is about that sensor), key "
        "(both carry the same one, or none).",
    )
    tolerance_seconds: ToleranceSeconds | None = setting(
        None,
        "How far apart in time a reading and its reference may be; null for 60, and for "
        "max_wait_hours in mode key.",
    )
    lag_seconds: Seconds = setting(
        0.0, "How much later than the reference a reading sees the same thing (transport)."
    )
    reading_seconds: Annotated[float, Field(ge=0, le=31_622_400)] = setting(
        0.0, "How long a reading stands for (mean_over_reference_interval)."
    )
    completeness: Annotated[float, Field(gt=0, le=1)] = setting(
        0.75, "Share of a reference's interval that readings must cover."
    )
    correlation: Annotated[float, Field(ge=0, le=1)] = setting(
        1.0, "Between the errors of the readings that one pair is made of."
    )
    uncertainty: PairUncertainty = setting(
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
        """Each thing to agree on is named once; a pairing rule has what it needs."""
        rule = PAIRING_RULES[rule_of(self)]
        yield from (
            Contradiction((name,), what) for name, what in rule.needs if not getattr(self, name)
        )
        if self.candidates is not None and self.mode not in CANDIDATES_OF_MODE:
            yield Contradiction(("candidates",), "means nothing in this mode; take it away")
        if len(set(self.match_on)) < len(self.match_on):
            yield Contradiction(("match_on",), "names the same thing twice")


def rule_of(pairing: Pairing) -> str:
    """Return the name of the pairing rule that mode and candidates choose."""
    usual = CANDIDATES_OF_MODE.get(pairing.mode)
    return pairing.mode if usual is None else pairing.candidates or usual


class Windows(Section):
    """How far back statistics look."""

    pairs: WindowPairs = setting(500, "At most so many of a series' last pairs.")
    days: WindowDays | None = setting(
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
    level: Level = setting(
        0.9,
        "Coverage probability of the interval of a sensor that states u only, and of intervals "
        "that come without p.",
    )
    profile: Profile = setting(
        "balanced",
        "What counts most when sensors are ranked, and which score their pages show: accuracy "
        "(CRPS), coverage (quadratic score) or balanced (interval score).",
    )


class Alerts(Section):
    """When to raise an alert."""

    patience: Patience = setting(
        1000.0,
        "How many pairs an honest sensor goes, on average at least, between two false alarms.",
    )
    reference_stale_hours: ReferenceStaleHours = setting(
        24.0,
        "A series whose readings come and whose last pair is older than this, and than three usual "
        "gaps between its pairs, is no longer judged; references that come late need more.",
    )
    rejected_share: RejectedShare = setting(
        0.05, "An alert when a larger share of a sensor's last messages could not be used."
    )


class Fleet(Section):
    """When the evidence of all sensors together calls for a person (a page)."""

    q: Annotated[float, Field(gt=0, lt=1)] = setting(
        0.1, "Share of the sensors on the list that are honest, at most, on average."
    )
    horizon: Annotated[float, Field(ge=10, le=1e9)] = setting(
        1000.0, "Evidence older than so many pairs hardly counts for the list."
    )
    fdr: Literal["e-bh", "bh"] = setting(
        "e-bh",
        "e-bh: the list holds what q promises however the sensors depend on each other; bh: it is "
        "sooner, and holds it for sensors that err independently.",
    )


class Series(Section):
    """How many series (one sensor's one quantity) there may be, and when one is silent."""

    max: int = setting(10_000, "At most so many series.", ge=1, le=10_000_000)
    max_new_per_minute: int = setting(
        100, "At most so many new series a minute.", ge=1, le=10_000_000
    )
    allow: Globs = setting(("*",), "Patterns of the sensors that may come in.")
    stale_after_seconds: StaleAfterSeconds = setting(
        3600.0, "A series without a reading for so long is withdrawn from the metrics."
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
