"""XML signatures by another implementation: that of Java (``javax.xml.crypto``).

Where there is no Java, tests/small has two files that it signed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.programs import need

SIGN = """
import java.io.*;
import java.security.*;
import java.security.cert.*;
import java.util.*;
import javax.xml.crypto.dsig.*;
import javax.xml.crypto.dsig.dom.DOMSignContext;
import javax.xml.crypto.dsig.keyinfo.*;
import javax.xml.crypto.dsig.spec.*;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.*;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import org.w3c.dom.Document;

public class Sign {
  public static void main(String[] of) throws Exception {
    // keystore, file, signed file, canonical form, method, URI
    KeyStore store = KeyStore.getInstance(new File(of[0]), "changeit".toCharArray());
    PrivateKey key = (PrivateKey) store.getKey("k", "changeit".toCharArray());
    DocumentBuilderFactory documents = DocumentBuilderFactory.newInstance();
    documents.setNamespaceAware(true);
    Document document = documents.newDocumentBuilder().parse(new File(of[1]));
    if (!of[5].isEmpty()) document.getDocumentElement().setIdAttribute("id", true);
    XMLSignatureFactory make = XMLSignatureFactory.getInstance("DOM");
    C14NMethodParameterSpec none = null;
    List<Transform> transforms = List.of(
        make.newTransform(Transform.ENVELOPED, (TransformParameterSpec) null),
        make.newTransform(of[3], none));
    Reference reference = make.newReference(of[5],
        make.newDigestMethod(DigestMethod.SHA256, null), transforms, null, null);
    SignedInfo info = make.newSignedInfo(make.newCanonicalizationMethod(of[3], none),
        make.newSignatureMethod(of[4], null), List.of(reference));
    KeyInfoFactory infos = make.getKeyInfoFactory();
    X509Data data = infos.newX509Data(List.of(store.getCertificate("k")));
    XMLSignature signature = make.newXMLSignature(info, infos.newKeyInfo(List.of(data)));
    signature.sign(new DOMSignContext(key, document.getDocumentElement()));
    Transformer out = TransformerFactory.newInstance().newTransformer();
    out.transform(new DOMSource(document), new StreamResult(new File(of[2])));
  }
}
"""


class XmlSigner:
    """Signs files in a folder with keys of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "Sign.java").write_text(SIGN)

    def sign(
        self, file: Path, canonical: str, method: str, *, key: tuple[str, ...], uri: str = ""
    ) -> bytes:
        """Return a file with an enveloped signature of it; ``key`` is what openssl makes."""
        java = shutil.which("java") or pytest.skip("Java is not installed")
        store = self._store(key)
        signed = self._folder / "signed.xml"
        self._run(
            *(java, str(self._folder / "Sign.java"), str(store), str(file), str(signed)),
            *(canonical, method, uri),
        )
        return signed.read_bytes()

    def _store(self, key: tuple[str, ...]) -> Path:
        """Return a key with a certificate that it signed itself, as Java reads it."""
        store = self._folder / f"{abs(hash(key))}.p12"
        if not store.exists():
            made = [str(self._folder / name) for name in ("key.pem", "cert.pem")]
            subject = ("-subj", "/C=DE/CN=Lab A", "-days", "3650")
            request = ("req", "-x509", "-nodes", "-newkey", *key, *subject)
            self._run(need("openssl"), *request, "-keyout", made[0], "-out", made[1])
            export = ("pkcs12", "-export", "-name", "k", "-passout", "pass:changeit")
            files = ("-inkey", made[0], "-in", made[1], "-out", str(store))
            self._run(need("openssl"), *export, *files)
        return store

    def _run(self, *words: str) -> None:
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if "jdk.compiler" in done.stderr:
            pytest.skip("Java without its compiler; sudo apt-get install openjdk-17-jdk-headless")
        assert done.returncode == 0, done.stderr
