"""Options that several commands share: one spelling, one help text, one way to read each."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.config import Settings

_RECORDED: Final = "pairs or a stream: CSV, JSON lines or Parquet, also gzipped"
_COVARIATES: Final = (
    "report where each sensor is wrong, by hour of day (hour), level of the value (level) or "
    "columns of a file of pairs: numbers, or categories such as an operator"
)


def config_option(
    parser: argparse.ArgumentParser, text: str = "settings file (YAML)", *, required: bool = True
) -> None:
    """Add ``--config FILE``, which must be given unless another option may hold it."""
    parser.add_argument("--config", required=required, metavar="FILE", help=text)


def recorded_argument(parser: argparse.ArgumentParser) -> None:
    """Add FILE, a recorded stream or its pairs."""
    parser.add_argument("file", metavar="FILE", help=_RECORDED)


def recorded_or_daemon(parser: argparse.ArgumentParser, daemon: str) -> None:
    """Add FILE and ``--config FILE`` of a ``daemon``, of which one must be given."""
    of = parser.add_mutually_exclusive_group(required=True)
    of.add_argument("file", metavar="FILE", nargs="?", help=_RECORDED)
    of.add_argument("--config", metavar="FILE", help=daemon)


def json_option(parser: argparse.ArgumentParser, text: str = "everything") -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"print {text} as JSON")


def density_option(parser: argparse.ArgumentParser, usual: str | None = None) -> None:
    """Add ``--density``; ``usual`` is what it is if it is not given."""
    parser.add_argument(
        "--density",
        choices=("normal", "tophat"),
        default=usual,
        help="distribution assumed for a stated u (default: normal)",
    )


def alpha_option(parser: argparse.ArgumentParser, usual: float | None = None) -> None:
    """Add ``--alpha``; ``usual`` is what it is if it is not given."""
    parser.add_argument(
        "--alpha", type=float, default=usual, help="miss probability (default: 0.1)"
    )


def covariates_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--covariates``."""
    parser.add_argument("--covariates", metavar="NAME,...", default="", help=_COVARIATES)


def connection_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a broker with passwords or TLS; :func:`connected` reads them."""
    broker = parser.add_argument_group(
        "a broker with passwords or TLS", "Each replaces what the settings' section mqtt says."
    )
    broker.add_argument("--username", metavar="NAME", help="user name at the broker")
    broker.add_argument("--password-file", metavar="FILE", help="its first line is the password")
    broker.add_argument("--ca", metavar="FILE", help="CA certificates to trust; implies TLS")
    broker.add_argument("--cert", metavar="FILE", help="client certificate, if required")
    broker.add_argument("--cert-key", metavar="FILE", help="private key of that certificate")


def connected(settings: Settings, options: argparse.Namespace) -> Settings:
    """Return the settings with the connection that :func:`connection_arguments` gave.

    Files are relative to the working directory, so that the settings name them in full.
    """
    mqtt, keys = settings.mqtt, dict[str, object]()
    if options.username is not None:
        keys.update(username=options.username, username_env=None)
    if options.password_file is not None:
        keys.update(password_file=_in_full(options.password_file), password_env=None)
        if not (options.username or mqtt.username or mqtt.username_env):
            raise UsageError("--password-file needs the user name; give --username too")
    if (options.cert is None) != (options.cert_key is None):
        raise UsageError("--cert and --cert-key belong together; give both")
    given = {"ca_file": options.ca, "cert_file": options.cert, "key_file": options.cert_key}
    if files := {key: _in_full(file) for key, file in given.items() if file is not None}:
        from monitor.mqtt.connection import Tls  # noqa: PLC0415 - only where TLS is asked for

        keys["tls"] = (mqtt.tls or Tls())._replace(**files)
    return settings.model_copy(update={"mqtt": mqtt.model_copy(update=keys)})


def _in_full(file: str) -> str:
    return str(Path(file).absolute())


def instant_of(text: str, option: str) -> float:
    """Return the time (s since 1970 UTC) that a person wrote for an option; raises UsageError."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: write ISO 8601, such as 2026-03-01T06:00Z") from error
    if instant.tzinfo is None:
        raise UsageError(f"{option} {text}: has no zone; add Z or an offset such as +13:00")
    return instant.timestamp()
