"""``monitor certificate write`` and ``verify``: a sensor's record, signed and reproducible."""

from __future__ import annotations

import argparse
import hashlib
import math
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from monitor import __version__
from monitor.commands.options import instant_of
from monitor.config import load
from monitor.config.core_plan import rules_of
from monitor.core.formatting import count_of, instant
from monitor.core.model import Event, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import BAD_INPUT, CannotWriteError, UsageError
from monitor.extensions.certificates.certificate_files import detached_signature, read_whole
from monitor.extensions.certificates.certificate_text import certificate_document
from monitor.extensions.certificates.certified_uncertainty import (
    UnclearQuantityError,
    certified_uncertainty,
)
from monitor.extensions.certificates.dcc import read_certificate
from monitor.extensions.certificates.dsi_units import DsiUnitError, dsi_of_unit, unit_of_dsi
from monitor.extensions.certificates.found_and_left import (
    Issuer,
    RecordScope,
    differences,
    record_of,
    scope_of,
)
from monitor.extensions.certificates.record_files import (
    FORMS,
    Form,
    record_file,
    record_in,
    shows_itself,
)
from monitor.extensions.certificates.signatures import (
    SIGNATURE_BYTES,
    signature_file,
    signature_of,
)
from monitor.extensions.certificates.validity import validity_of
from monitor.files.whole_file import whole_file
from monitor.journal.copying import backup
from monitor.journal.journal import Journal

_COUNTRY = re.compile(r"[A-Z]{2}")
_SHOWN = 10


# -- writing --------------------------------------------------------------------------------------


def write_record(options: argparse.Namespace) -> int:
    """Write a record, and its signature if there is a key."""
    if options.out is None or Path(options.out).suffix[1:] not in FORMS:
        raise UsageError("--out is needed: a file that ends in .xml or .html")
    if not options.laboratory:
        raise UsageError("--laboratory is needed: a record says which organisation issues it")
    out, now = Path(options.out), time.time()
    form: Form = "html" if out.suffix == ".html" else "xml"
    sensor, quantity = options.sensor, options.quantity
    held = _held(options, sensor, quantity)
    asked = RecordScope(
        sensor,
        quantity,
        held.unit,
        _dsi_unit(options, held.unit, needed=form == "xml"),
        -math.inf if options.start is None else instant_of(options.start, "--from"),
        math.floor(now) if options.end is None else instant_of(options.end, "--to"),
        held.rules.level,
        held.rules.patience,
        held.rules.systematic,
        (),
        _issuer(options, needed=form == "xml"),
    )
    asked = _within(asked, held.pairs)
    references = tuple(_reference(each, options, asked) for each in options.reference)
    asked = asked._replace(references=references)
    record = record_of(asked, held.pairs, held.events, now)
    data = record_file(record, form)
    signature = None
    if options.sign is not None:
        signature = signature_of(data, read_whole(Path(options.sign)), options.sign)
    _put(out, data, signature)
    print(record["sentence"])
    for each in references:
        print(f"certificate {each['identifier']}: {each['sentence']}", file=sys.stderr)
    pairs = count_of(record["pairs"], "pair")
    signed = "" if signature is None else f", signed in {signature_file(out).name}"
    print(f"{out}: {pairs}, record {record['identifier']}{signed}", file=sys.stderr)
    return 0


def _put(out: Path, data: bytes, signature: bytes | None) -> None:
    """Write the file and its signature; remove an old signature of other content."""
    beside = signature_file(out)
    try:
        with whole_file(out) as new:
            new.write_bytes(data)
        if signature is not None:
            with whole_file(beside) as new:
                new.write_bytes(signature)
        elif beside.is_file() and beside.stat().st_size == SIGNATURE_BYTES:
            beside.unlink()
    except OSError as error:
        raise CannotWriteError(f"{out}: cannot be written: {error.strerror or error}") from error


def _within(asked: RecordScope, pairs: Records) -> RecordScope:
    """Return the scope with its actual beginning; raises UsageError without pairs."""
    times = pairs["time"]
    inside = times[(times >= asked.start) & (times < asked.end)]
    if not inside.size:
        series = f"{asked.sensor} {asked.quantity}"
        if not times.size:
            raise UsageError(f"{series} has no pairs in the journal; `monitor doctor` says why")
        raise UsageError(
            f"{series} has no pairs in this time, only from {instant(float(times.min()))} to "
            f"{instant(float(times.max()))}; change --from and --to"
        )
    return asked if asked.start > -math.inf else asked._replace(start=math.floor(inside.min()))


def _issuer(options: argparse.Namespace, *, needed: bool) -> Issuer:
    country = options.country or ""
    if (needed or country) and _COUNTRY.fullmatch(country) is None:
        raise UsageError("--country is needed for XML: two letters of ISO 3166-1, such as NZ")
    return Issuer(options.laboratory, options.person or options.laboratory, country)


def _dsi_unit(options: argparse.Namespace, unit: str, *, needed: bool) -> str:
    try:
        if options.dsi_unit:
            unit_of_dsi(options.dsi_unit)
            return str(options.dsi_unit)
        return dsi_of_unit(unit)
    except DsiUnitError as error:
        if not needed and not options.dsi_unit:
            return ""
        hint = "" if options.dsi_unit else r"; state --dsi-unit '\one', say, or write .html"
        raise UsageError(f"{'--dsi-unit ' if options.dsi_unit else ''}{error}{hint}") from error


def _reference(file: str, options: argparse.Namespace, asked: RecordScope) -> Mapping[str, Any]:
    """Return what a record keeps of a reference's certificate."""
    data = read_whole(Path(file))
    certificate = read_certificate(data, file)
    if certificate.signature is not None and certificate.signature.is_broken:
        raise UsageError(f"--reference {file}: {certificate.signature.sentence}")
    try:
        u = certified_uncertainty(certificate, options.reference_quantity, asked.unit)
        validity = validity_of(
            certificate.performed, certificate.recalibration, valid_for=options.valid_for
        )
    except ValueError as error:
        hint = " (--reference-quantity)" if isinstance(error, UnclearQuantityError) else ""
        raise UsageError(f"--reference {file}: {error}{hint}") from error
    document = certificate_document(certificate, validity)
    until = document["valid_until"]
    ending = f"valid until {until}" if until else "no end of validity is stated"
    if validity is not None and validity.expiry < asked.end:
        ending = f"was valid until {until}, and expired before the end of this record's time"
    copied = {key: document[key] for key in ("identifier", "laboratory", "items", "performed")}
    stated = {"u": u.u, "quantity": u.name, "valid_until": until, "sentence": ending}
    return {**copied, **stated, "sha256": hashlib.sha256(data).hexdigest()}


# -- the journal ----------------------------------------------------------------------------------


class _Held(NamedTuple):
    """The journal's content on a series, and the rules by which it is judged."""

    unit: str
    pairs: Records
    events: Sequence[Event]
    rules: SeriesRules


def _held(options: argparse.Namespace, sensor: str, quantity: str) -> _Held:
    """Return the content of a verified copy of the journal, which a daemon may be writing."""
    rules = SeriesRules()
    if options.config is not None:
        settings = load(options.config)
        path, rules = Path(settings.journal.path), rules_of(settings, sensor, quantity)
    elif options.journal is not None:
        path = Path(options.journal)
    else:
        raise UsageError("--journal PATH or --config FILE is needed: where the pairs are")
    with tempfile.TemporaryDirectory(prefix="monitor-certificate.") as folder:
        copy = Path(folder, "copy.sqlite")
        backup(path, copy)
        journal = Journal(copy)
        try:
            known = {(each.sensor, each.quantity): each for each in journal.series()}
            series = known.get((sensor, quantity))
            if series is None:
                some = ", ".join(f"{each[0]} {each[1]}" for each in sorted(known)[:_SHOWN])
                raise UsageError(
                    f"{path}: has no {sensor} {quantity}; it has {some or 'no series'}"
                    f"{' and others' if len(known) > _SHOWN else ''}"
                )
            pairs = journal.pairs_of(series.row)
            return _Held(rules.unit or series.unit, pairs, journal.events(), rules)
        finally:
            journal.close()


# -- checking -------------------------------------------------------------------------------------


def verify_record(options: argparse.Namespace) -> int:
    """Print what is right of a record, and on standard error what is not."""
    path = Path(options.file)
    data = read_whole(path)
    record, form = record_in(data, options.file)
    signed = _signature(path, data, options.key)
    is_proven = options.key is not None and signed[0]
    checks = [signed, _words(record, form, data, is_proven=is_proven)]
    if options.journal is not None or options.config is not None:
        checks.append(_again(options, record))
    else:
        checks.append((True, "the pairs were not checked: give --journal to make the record again"))
    for is_good, sentence in checks:
        print(f"{path}: {sentence}", file=sys.stdout if is_good else sys.stderr)
    return 0 if all(is_good for is_good, _ in checks) else BAD_INPUT


def _signature(path: Path, data: bytes, key: str | None) -> tuple[bool, str]:
    name = signature_file(path).name
    match detached_signature(path, data, key):
        case "none":
            return True, "it has no detached signature"
        case "unchecked":
            return True, f"its signature {name} was not checked: give --key with the public key"
        case "missing":
            return False, f"the signature {name} is missing; ask its issuer for it"
        case "good":
            return True, f"is signed by the holder of {key}, and unchanged"
        case "broken":
            return False, (
                f"its signature {name} is broken: the file was changed, or not signed by the "
                f"holder of {key}; ask its issuer for both again"
            )


def _words(
    record: Mapping[str, Any], form: Form, data: bytes, *, is_proven: bool
) -> tuple[bool, str]:
    """Return whether a file shows its record's content; of other versions only if signed."""
    if record.get("monitor") != __version__:
        return is_proven, (
            f"was made by monitor {str(record.get('monitor'))[:40]}, this is {__version__}, which "
            "cannot say whether its text matches its record"
            f"{'' if is_proven else ': give --key, because its signature can'}"
        )
    if shows_itself(record, form, data):
        return True, "its text matches its record"
    return False, "its text does not match its record: the file was changed by hand"


def _again(options: argparse.Namespace, record: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether the journal gives the same record."""
    try:
        asked = scope_of(record)
    except ValueError as error:
        return False, f"its record is incomplete ({error}); ask its issuer for the file again"
    held = _held(options, asked.sensor, asked.quantity)
    again = record_of(asked, held.pairs, held.events, 0.0)
    differing = differences(record, again)
    if not differing:
        pairs = record["pairs"]
        return True, f"the journal gives the same record: {pairs} pairs, the same in every figure"
    more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
    return False, f"the journal gives another record: {'; '.join(differing[:_SHOWN])}{more}"
