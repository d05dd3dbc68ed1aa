"""Calibration certificates: what a DCC says of a reference, and how a record is signed.

A digital calibration certificate is XML after PTB's schema (https://ptb.de/dcc, versions 3.x are
read) with quantities in D-SI. ``dcc`` and ``certified_values`` make plain values of it,
``dsi_units`` its units, ``validity`` the day it ends; ``certified_uncertainty`` is the u that a
reference gets from it. ``signatures`` signs files with Ed25519 beside them.

Invariants
    * Bytes of strangers give values or sentences with a line and what to do, never another error.
      No entity is expanded, no other file or address is opened.
    * Nothing is assumed: no unit, no coverage factor, no end of validity.
    * Nothing here opens a file or reads a clock.

Tried and rejected
    * lxml or defusedxml: expat, which Python has anyway, refuses a document type in one handler,
      and tells the line of every element, which ElementTree does not.
    * Validation against PTB's XSD: it would have to be shipped in each of its versions, and says
      in its words what is wrong. What is needed of a certificate is checked by name.
    * An enveloped XML signature of own records: whoever checks it needs canonical XML. A detached
      Ed25519 signature is checked by ``openssl`` alone. Those of others are checked
      (``xml_signatures``, ``canonical_xml``), held against Java's implementation.

What breaks first: certificates whose only content is a PDF or free text, and uncertainties that
are stated as formulas or relative to the value. They are named, not read.
"""
