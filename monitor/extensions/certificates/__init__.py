"""Calibration certificates: what a DCC states of a reference, and how a record is signed.

A digital calibration certificate is XML after PTB's schema (https://ptb.de/dcc, versions 3.x are
read) with quantities in D-SI. ``dcc`` and ``certified_values`` turn it into plain values,
``dsi_units`` converts its units, ``validity`` finds its last day; ``certified_uncertainty`` is the
u that a reference gets from it. ``signatures`` signs files with Ed25519, in a file beside them.

Invariants
    * Untrusted bytes give values or sentences with a line and what to do, never another error. No
      entity is expanded, no other file or address is opened.
    * Nothing is assumed: no unit, no coverage factor, no end of validity.
    * Nothing here opens a file or reads a clock.

Tried and rejected
    * lxml or defusedxml: expat, which Python includes anyway, refuses a document type in one
      handler, and reports the line of every element, which ElementTree does not.
    * Validation against PTB's XSD: it would have to be shipped in each of its versions, and words
      its errors for XML experts. The required parts of a certificate are checked by name.
    * An enveloped XML signature of own records: checking it needs canonical XML. A detached
      Ed25519 signature can be checked with ``openssl`` alone. XML signatures of others are checked
      (``xml_signatures``, ``canonical_xml``), compared with Java's implementation.

What breaks first: certificates whose only content is a PDF or free text, and uncertainties that are
stated as formulas or relative to the value. They are reported, not read.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="certificates",
    summary="calibration certificates of references, and signed records of sensors",
    page="certificates.md",
    settings={
        "sources.certificate": "monitor.extensions.certificates.settings:SourceWithCertificate"
    },
    checks="monitor.extensions.certificates.certified:certified_sources",
    remarks="monitor.extensions.certificates.certified:remarks",
    router="monitor.extensions.certificates.certified:supplement",
    commands={
        "certificate": Command(
            "show a calibration certificate; write or verify a sensor's signed record",
            "monitor.extensions.certificates.command",
            "more",
        ),
    },
    listener="monitor.extensions.certificates.certified:certificates_listener",
    families="monitor.extensions.certificates.certified:EVERY_FAMILY",
)
