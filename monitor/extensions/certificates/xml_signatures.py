"""The XML signature within a certificate (XMLDSig, XAdES): intact, broken, or unchecked.

Rules of this file: a signature counts as intact only if it covers the whole file, every digest
agrees, and its value is by the key of the X.509 certificate that it carries. Whose certificate that
is cannot be known here: no trust list is kept. An algorithm that is not in the tables below makes a
signature unchecked, never good.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from monitor.extensions.certificates.canonical_xml import (
    PrefixedDocument,
    PrefixedElement,
    canonical_document,
    canonical_part,
    read_prefixed,
)
from monitor.extensions.certificates.signatures import CertifiedKey, SignatureError, certified_key

SIGNATURES: Final = "http://www.w3.org/2000/09/xmldsig#"
_ENVELOPED: Final = f"{SIGNATURES}enveloped-signature"
# By the name of the algorithm: whether it is exclusive. Comments are never part of a signature of
# the same document.
_CANONICAL: Final[Mapping[str, bool]] = {
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315": False,
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments": False,
    "http://www.w3.org/2006/12/xml-c14n11": False,
    "http://www.w3.org/2006/12/xml-c14n11#WithComments": False,
    "http://www.w3.org/2001/10/xml-exc-c14n#": True,
    "http://www.w3.org/2001/10/xml-exc-c14n#WithComments": True,
}
_DIGESTS: Final[Mapping[str, str]] = {
    "http://www.w3.org/2001/04/xmlenc#sha256": "sha256",
    "http://www.w3.org/2001/04/xmldsig-more#sha384": "sha384",
    "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
}
_IDENTIFIERS: Final = ("Id", "ID", "id")
_REFERENCES_MAX: Final = 20
_NAMESPACES_MAX: Final = 200


class XmlSignature(NamedTuple):
    """A sentence on a signature; ``is_broken``: it does not fit the content."""

    sentence: str
    is_broken: bool = False


class _UncheckedError(Exception):
    """A signature cannot be checked here; the message says why."""


class _BrokenError(Exception):
    """A signature does not fit the content; the message says why."""


def xml_signature_of(data: bytes) -> XmlSignature | None:
    """Return what is known of the signature in a document, None if it has none.

    ``data`` has been read by :func:`monitor.extensions.certificates.safe_xml.read_xml`.
    """
    document = read_prefixed(data)
    elements = [each for each in document.root.named("Signature") if each.namespace == SIGNATURES]
    if not elements:
        return None
    try:
        _refuse_too_many(document.declared, len(elements))
        keys = [_checked(document, each) for each in elements]
    except _UncheckedError as error:
        return XmlSignature(
            f"it has an XML signature that is not checked here ({error}): check it with the "
            "laboratory's own tool"
        )
    except _BrokenError as error:
        return XmlSignature(
            f"its XML signature is broken ({error}): ask the laboratory for the file as it was "
            "signed",
            is_broken=True,
        )
    return XmlSignature(
        "its XML signature matches this content and the certificate of "
        f"{'; '.join(each.owner for each in keys)} in the file; this program cannot tell whether "
        "that certificate is the laboratory's"
    )


def _refuse_too_many(namespaces: int, signatures: int) -> None:
    """Keep the work within bounds, whatever the document contains."""
    if namespaces > _NAMESPACES_MAX or signatures > _REFERENCES_MAX:
        raise _UncheckedError("there are too many namespaces or signatures")


def _checked(document: PrefixedDocument, signature: PrefixedElement) -> CertifiedKey:
    info, value = signature.first("SignedInfo"), signature.first("SignatureValue")
    references = [] if info is None else list(info.named("Reference"))
    if info is None or value is None or not value.text or not references:
        raise _BrokenError("it has no SignatureValue or no Reference")
    if len(references) > _REFERENCES_MAX:
        raise _UncheckedError(f"it has more than {_REFERENCES_MAX} references")
    covered = [_agrees(document, signature, each) for each in references]
    if not any(covered):
        raise _BrokenError("it covers only part of the file")
    key = signature.first("KeyInfo", "X509Data", "X509Certificate")
    if key is None:
        raise _UncheckedError("it carries no certificate")
    try:
        owner = certified_key(_bytes(key.text))
    except SignatureError as error:
        raise _UncheckedError(str(error)) from error
    method = info.first("SignatureMethod")
    name = "" if method is None else method.get("Algorithm")
    is_good = owner.has_signed(name, _signed_info(info), _bytes(value.text))
    if is_good is None:
        raise _UncheckedError(f"its algorithm {name[:100]!r} is not known")
    if not is_good:
        raise _BrokenError("its value was not made with the key of its certificate")
    return owner


def _signed_info(info: PrefixedElement) -> bytes:
    exclusive, prefixes = _canonical_by(info.first("CanonicalizationMethod"))
    return canonical_part(info, exclusive=exclusive, prefixes=prefixes)


def _agrees(
    document: PrefixedDocument, signature: PrefixedElement, reference: PrefixedElement
) -> bool:
    """Return whether a reference covers the whole file; raises _BrokenError if it differs."""
    target = _target(document, reference.get("URI"))
    without, exclusive, prefixes = None, False, frozenset[str]()
    for each in reference.named("Transforms", "Transform"):
        if each.get("Algorithm") == _ENVELOPED:
            without = signature
        else:
            exclusive, prefixes = _canonical_by(each)
    if target is document.root:
        form = canonical_document(document, exclusive=exclusive, without=without, prefixes=prefixes)
        if reference.get("URI"):
            form = canonical_part(
                document.root, exclusive=exclusive, without=without, prefixes=prefixes
            )
    else:
        form = canonical_part(target, exclusive=exclusive, without=without, prefixes=prefixes)
    method, stated = reference.first("DigestMethod"), reference.first("DigestValue")
    name = "" if method is None else method.get("Algorithm")
    if name not in _DIGESTS:
        raise _UncheckedError(f"its digest {name[:100]!r} is not known, or not trusted any more")
    digest = hashlib.new(_DIGESTS[name], form).digest()
    if stated is None or _bytes(stated.text) != digest:
        raise _BrokenError("the content was changed after it was signed")
    return target is document.root


def _target(document: PrefixedDocument, uri: str) -> PrefixedElement:
    if not uri:
        return document.root
    if not uri.startswith("#"):
        raise _UncheckedError(f"it refers to another file, {uri[:100]!r}")
    matches = list(_identified(document, uri[1:]))
    if len(matches) != 1:
        raise _BrokenError(f"it refers to {uri[:100]!r}, which {len(matches)} elements match")
    return matches[0]


def _identified(document: PrefixedDocument, name: str) -> Iterator[PrefixedElement]:
    for each in document.root.elements():
        if any(each.get(key) == name for key in _IDENTIFIERS):
            yield each


def _canonical_by(method: PrefixedElement | None) -> tuple[bool, frozenset[str]]:
    """Return whether a form is exclusive, and which prefixes it treats as inclusive."""
    name = "" if method is None else method.get("Algorithm")
    if method is None or name not in _CANONICAL:
        raise _UncheckedError(f"its transform {name[:100]!r} is not known")
    inclusive = method.first("InclusiveNamespaces")
    names = [] if inclusive is None else inclusive.get("PrefixList").split()
    return _CANONICAL[name], frozenset("" if each == "#default" else each for each in names)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _BrokenError("it holds what is not base64") from error
