"""``monitor certificate show``: what a digital calibration certificate states of a reference."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from monitor.errors import BAD_INPUT, UsageError
from monitor.extensions.certificates.certificate_files import detached_signature, read_whole
from monitor.extensions.certificates.certificate_text import (
    certificate_document,
    certificate_text,
    settings_lines,
    shortcomings,
    signature_sentence,
)
from monitor.extensions.certificates.certified_uncertainty import (
    NoUncertaintyError,
    certified_uncertainty,
)
from monitor.extensions.certificates.dcc import Certificate, read_certificate
from monitor.extensions.certificates.signatures import signature_file
from monitor.extensions.certificates.validity import Validity, ValidityError, validity_of


def show_certificate(options: argparse.Namespace) -> int:
    """Print the content of the certificate, and on standard error why it cannot be used."""
    path, now = Path(options.file), time.time()
    data = read_whole(path)
    certificate = read_certificate(data, options.file)
    validity = _validity(certificate, options)
    wrong = shortcomings(certificate, validity, now, options.file)
    signed, broken = _signed(path, data, options.key)
    wrong += broken
    if options.json:
        print(json.dumps(certificate_document(certificate, validity), allow_nan=False))
    elif options.settings:
        wrong += _print_settings(certificate, options)
    else:
        for line in certificate_text(certificate, validity, now):
            print(line)
        print(f"{signature_sentence(certificate)}{signed}")
        wrong += _print_u(certificate, options) if options.quantity or options.unit else []
    for each in wrong:
        print(each, file=sys.stderr)
    return BAD_INPUT if wrong else 0


def _validity(certificate: Certificate, options: argparse.Namespace) -> Validity | None:
    try:
        return validity_of(
            certificate.performed,
            certificate.recalibration,
            valid_for=options.valid_for,
            valid_until=options.valid_until,
        )
    except ValidityError as error:
        name = "--valid-for" if options.valid_for is not None else "--valid-until"
        raise UsageError(f"{name} {error}") from error


def _signed(path: Path, data: bytes, key: str | None) -> tuple[str, list[str]]:
    """Return the sentence on the signature beside a file, and what is wrong with it."""
    beside = signature_file(path)
    match detached_signature(path, data, key):
        case "none":
            return f", and no detached one ({beside.name})", []
        case "unchecked":
            return f"; the detached one ({beside.name}) is not checked without --key", []
        case "missing":
            reason = f"{beside}: does not exist; ask for the signature, or leave --key out"
            return f"; the detached one ({beside.name}) is missing", [reason]
        case "good":
            return f"; {beside.name} is its signature by the holder of {key}", []
        case "broken":
            reason = (
                f"{path}: the signature {beside.name} does not match this content and the key "
                f"{key}: the file was changed, or another key signed it; ask its issuer for both "
                "again"
            )
            return f"; the detached one ({beside.name}) is broken", [reason]


def _print_settings(certificate: Certificate, options: argparse.Namespace) -> list[str]:
    try:
        largest = certified_uncertainty(certificate, options.quantity, options.unit)
    except NoUncertaintyError as error:
        return [f"{options.file}: {error}{_hint(options)}"]
    print("\n".join(settings_lines(largest, certificate)))
    return []


def _print_u(certificate: Certificate, options: argparse.Namespace) -> list[str]:
    try:
        largest = certified_uncertainty(certificate, options.quantity, options.unit)
    except NoUncertaintyError as error:
        return [f"{options.file}: {error}{_hint(options)}"]
    unit = "" if largest.unit == "1" else f" {largest.unit}"
    print(f"the largest u of {largest.name} is {largest.u:.4g}{unit}")
    return []


def _hint(options: argparse.Namespace) -> str:
    return "" if options.quantity else " (--quantity)"
