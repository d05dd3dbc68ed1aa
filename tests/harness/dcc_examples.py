"""Digital calibration certificates, written by hand after PTB's public schema."""

from __future__ import annotations

D_SI_1 = """<si:real>
  <si:value>{value}</si:value><si:unit>{unit}</si:unit>
  <si:expandedUnc>
    <si:uncertainty>{U}</si:uncertainty>
    <si:coverageFactor>{k}</si:coverageFactor>
    <si:coverageProbability>0.95</si:coverageProbability>
  </si:expandedUnc>
</si:real>"""
D_SI_2 = """<si:real>
  <si:value>{value}</si:value><si:unit>{unit}</si:unit>
  <si:measurementUncertaintyUnivariate>
    <si:expandedMU>
      <si:valueExpandedMU>{U}</si:valueExpandedMU>
      <si:coverageFactor>{k}</si:coverageFactor>
      <si:coverageProbability>0.95</si:coverageProbability>
    </si:expandedMU>
  </si:measurementUncertaintyUnivariate>
</si:real>"""
LISTS_1 = """<si:realListXMLList>
  <si:valueXMLList>0.072 0.089 -0.009</si:valueXMLList>
  <si:unitXMLList>\\kelvin</si:unitXMLList>
  <si:expandedUncXMLList>
    <si:uncertaintyXMLList>0.06 0.08 0.1</si:uncertaintyXMLList>
    <si:coverageFactorXMLList>2</si:coverageFactorXMLList>
    <si:coverageProbabilityXMLList>0.95</si:coverageProbabilityXMLList>
  </si:expandedUncXMLList>
</si:realListXMLList>"""
LISTS_2 = """<si:realListXMLList>
  <si:valueXMLList>0.072 0.089 -0.009</si:valueXMLList>
  <si:unitXMLList>\\kelvin</si:unitXMLList>
  <si:measurementUncertaintyUnivariateXMLList>
    <si:expandedMUXMLList>
      <si:valueExpandedMUXMLList>0.06 0.08 0.1</si:valueExpandedMUXMLList>
      <si:coverageFactorXMLList>2</si:coverageFactorXMLList>
      <si:coverageProbabilityXMLList>0.95</si:coverageProbabilityXMLList>
    </si:expandedMUXMLList>
  </si:measurementUncertaintyUnivariateXMLList>
</si:realListXMLList>"""
HYBRID = """<si:hybrid>
  <si:realListXMLList>
    <si:valueXMLList>306.248 373.121</si:valueXMLList>
    <si:unitXMLList>\\kelvin</si:unitXMLList>
  </si:realListXMLList>
  <si:realListXMLList>
    <si:valueXMLList>33.098 99.971</si:valueXMLList>
    <si:unitXMLList>\\degreecelsius</si:unitXMLList>
    <si:expandedUncXMLList>
      <si:uncertaintyXMLList>0.02</si:uncertaintyXMLList>
      <si:coverageFactorXMLList>2</si:coverageFactorXMLList>
      <si:coverageProbabilityXMLList>0.95</si:coverageProbabilityXMLList>
    </si:expandedUncXMLList>
  </si:realListXMLList>
</si:hybrid>"""
RECALIBRATION = """<dcc:statements>
  <dcc:statement refType="basic_recalibration">
    <dcc:declaration><dcc:content lang="en">Calibrate by:</dcc:content></dcc:declaration>
    {until}
  </dcc:statement>
</dcc:statements>"""
SIGNATURE = """<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#">
  <ds:SignedInfo>
    <ds:Reference URI=""><ds:DigestValue>AA==</ds:DigestValue></ds:Reference>
  </ds:SignedInfo>
  {value}
  <ds:KeyInfo><ds:X509Data>
    <ds:X509SubjectName>CN=Example Lab</ds:X509SubjectName>
  </ds:X509Data></ds:KeyInfo>
</ds:Signature>"""


def real(form: str = D_SI_2, **stated: str) -> str:
    """Return a number with its uncertainty, 20.0005 kg with U = 0.001 kg, k = 2 by default."""
    return form.format(
        **{"value": "20.0005", "unit": "\\kilogram", "U": "0.001", "k": "2", **stated}
    )


def quantity(number: str, name: str = "Indication", types: str = "basic_measuredValue") -> str:
    return f"""<dcc:quantity refType="{types}">
  <dcc:name><dcc:content lang="de">Anzeige</dcc:content>
    <dcc:content lang="en">{name}</dcc:content></dcc:name>
  {number}
</dcc:quantity>"""


def certificate(
    *quantities: str,
    until: str = "<dcc:date>2027-03-02</dcc:date>",
    version: str = "3.3.0",
    performed: str = "<dcc:endPerformanceDate>2026-03-02</dcc:endPerformanceDate>",
    identifier: str = "<dcc:uniqueIdentifier>EX-2026-0815</dcc:uniqueIdentifier>",
    head: str = "",
    signature: str = "",
) -> bytes:
    """Return a certificate of a reference scale with its results."""
    statements = RECALIBRATION.format(until=until) if until else ""
    air = quantity(real(value="21", unit="\\degreecelsius"), "Air temperature")
    results = "\n".join(quantities or (quantity(real()),))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
{head}<dcc:digitalCalibrationCertificate xmlns:dcc="https://ptb.de/dcc" xmlns:si="https://ptb.de/si"
    schemaVersion="{version}">
  <dcc:administrativeData>
    <dcc:dccSoftware><dcc:software><dcc:name><dcc:content>by hand</dcc:content></dcc:name>
      <dcc:release>1</dcc:release></dcc:software></dcc:dccSoftware>
    <dcc:coreData>
      <dcc:countryCodeISO3166_1>DE</dcc:countryCodeISO3166_1>
      <dcc:usedLangCodeISO639_1>en</dcc:usedLangCodeISO639_1>
      <dcc:mandatoryLangCodeISO639_1>en</dcc:mandatoryLangCodeISO639_1>
      {identifier}
      <dcc:beginPerformanceDate>2026-03-01</dcc:beginPerformanceDate>
      {performed}
      <dcc:performanceLocation>laboratory</dcc:performanceLocation>
    </dcc:coreData>
    <dcc:items><dcc:item>
      <dcc:name><dcc:content lang="en">Reference scale</dcc:content></dcc:name>
      <dcc:identifications><dcc:identification><dcc:issuer>manufacturer</dcc:issuer>
        <dcc:value>SN 4711</dcc:value></dcc:identification></dcc:identifications>
    </dcc:item></dcc:items>
    <dcc:calibrationLaboratory><dcc:contact>
      <dcc:name><dcc:content>Example Lab</dcc:content></dcc:name>
      <dcc:location><dcc:countryCode>DE</dcc:countryCode></dcc:location>
    </dcc:contact></dcc:calibrationLaboratory>
    <dcc:respPersons><dcc:respPerson><dcc:person>
      <dcc:name><dcc:content>A. Person</dcc:content></dcc:name></dcc:person></dcc:respPerson>
    </dcc:respPersons>
    <dcc:customer><dcc:name><dcc:content>Farm</dcc:content></dcc:name>
      <dcc:location><dcc:countryCode>NZ</dcc:countryCode></dcc:location></dcc:customer>
    {statements}
  </dcc:administrativeData>
  <dcc:measurementResults><dcc:measurementResult>
    <dcc:name><dcc:content lang="en">Results</dcc:content></dcc:name>
    <dcc:influenceConditions><dcc:influenceCondition refType="basic_temperature">
      <dcc:name><dcc:content lang="en">Air</dcc:content></dcc:name>
      <dcc:data>{air}</dcc:data>
    </dcc:influenceCondition></dcc:influenceConditions>
    <dcc:results><dcc:result>
      <dcc:name><dcc:content lang="en">Mass</dcc:content></dcc:name>
      <dcc:data><dcc:list>
{results}
      </dcc:list></dcc:data>
    </dcc:result></dcc:results>
  </dcc:measurementResult></dcc:measurementResults>
  {signature}
</dcc:digitalCalibrationCertificate>
""".encode()
