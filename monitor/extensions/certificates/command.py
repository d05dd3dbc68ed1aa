"""``monitor certificate``: show a certificate; write or verify a sensor's signed record."""

from __future__ import annotations

import argparse
from typing import Final

from monitor.extensions import imported

_EPILOG = """\
"As found" is the sensor before the first event in that time (`monitor event SENSOR adjusted`), "as
left" after the last one. FILE.xml has the shape of a DCC, FILE.html is for printing. --sign writes
FILE.sig beside it, which openssl can check too. docs/certificates.md says what a record proves.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their arguments."""
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, (summary, add_arguments, _) in _ACTIONS.items():
        description = f"{summary[0].upper()}{summary[1:]}."
        add_arguments(actions.add_parser(name, help=summary, description=description))


def run(options: argparse.Namespace) -> int:
    """Run the action; only its own module is imported."""
    _, _, function = _ACTIONS[options.action]
    return int(imported(f"monitor.extensions.certificates.{function}")(options))


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="certificate: XML of PTB's DCC schema 3.x")
    valid = parser.add_mutually_exclusive_group()
    valid.add_argument(
        "--valid-for", metavar="TIME", help="validity after its calibration: 12mo, 1y, 26w, 90d"
    )
    valid.add_argument("--valid-until", metavar="DATE", help="its last day, such as 2027-03-01")
    parser.add_argument(
        "--quantity",
        default="",
        metavar="NAME",
        help="quantity of the reference: its name in the certificate, or its type (refType)",
    )
    parser.add_argument("--unit", default="", help="unit of the series (default: as certified)")
    parser.add_argument(
        "--key", metavar="PEM", help="public Ed25519 key: check the signature in FILE.sig"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print everything as JSON")
    form.add_argument(
        "--settings", action="store_true", help="print the reference's settings instead"
    )


def _write_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("sensor", metavar="SENSOR", help="which sensor")
    parser.add_argument("quantity", metavar="QUANTITY", help="which of its quantities")
    _journal_options(parser)
    parser.add_argument("--from", dest="start", metavar="TIME", help="start, ISO 8601")
    parser.add_argument("--to", dest="end", metavar="TIME", help="end (default: now)")
    parser.add_argument("--laboratory", metavar="NAME", help="organisation that issues the record")
    parser.add_argument("--person", metavar="NAME", help="who is responsible for it")
    parser.add_argument("--country", metavar="CC", help="its country, ISO 3166-1: required for XML")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="DCC",
        help="certificate of a reference that was used; may be repeated",
    )
    parser.add_argument(
        "--reference-quantity", default="", metavar="NAME", help="quantity of those certificates"
    )
    parser.add_argument(
        "--valid-for", metavar="TIME", help="validity of those that state none: 12mo"
    )
    parser.add_argument(
        "--dsi-unit", default="", metavar="UNIT", help=r"unit in D-SI, such as \kilogram"
    )
    parser.add_argument("--out", metavar="FILE", help="file to write: .xml or .html")
    parser.add_argument("--sign", metavar="PEM", help="private Ed25519 key: write FILE.sig too")


def _verify_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="record: .xml or .html")
    parser.add_argument("--key", metavar="PEM", help="public Ed25519 key: check its signature")
    _journal_options(parser)


def _journal_options(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--journal", metavar="PATH", help="path of the journal; also while it runs")
    where.add_argument(
        "--config", metavar="FILE", help="settings that name the journal, level and u_systematic"
    )


# Each action: what it does, what adds its arguments, and the function that runs it.
_ACTIONS: Final = {
    "show": (
        "show what a digital calibration certificate (DCC) states: value, u, k, validity",
        _show_arguments,
        "show_command:show_certificate",
    ),
    "write": (
        "write a sensor's as-found / as-left record, and sign it",
        _write_arguments,
        "record_commands:write_record",
    ),
    "verify": (
        "verify such a record: its signature, its words, its figures by the journal",
        _verify_arguments,
        "record_commands:verify_record",
    ),
}
