"""How devices and people write units: the one table of spellings before the parser.

Rules of this file: the parser of the unit library knows the SI and many others in their own letters
of upper and lower case, and reads a prefix into what it does not know: ``pct`` as a picocarat. So a
text has readings, the likeliest first. Whichever measures what the other side of a conversion does
counts: ``C`` is a degree beside ``degF``, a coulomb beside ``A s``. ``MISREAD`` has the texts that
the parser would take for something else. Any other is read as it stands, then by ``SPELLINGS``,
whatever its case and points; with blanks, which the parser multiplies, first by ``SPELLINGS``. What
means two units of one kind has no reading, but a sentence that says what to write: nobody may weigh
a gram as a grain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from monitor.decode.checks import UNIT_CHARACTERS_MAX

_MILLI_OR_MEGA: Final = "is milli to some and mega to others; write {} or {}"
_GAUGE: Final = (
    "counts from the pressure of the air around, so no factor and offset makes it absolute; "
    "write {} if all values and references of the series do"
)
_UNCLEAR: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("gr", "Gr", "GR"), "is a gram to some and a grain to others; write g or grain"
    ),
    **dict.fromkeys(
        ("ppt", "PPT", "Ppt"),
        "is a part per thousand to some and per trillion to others; write g/kg or pptv",
    ),
    **dict.fromkeys(
        ("ton", "tons", "Ton", "Tons", "TON", "TONS"),
        "is 1000, 907 or 1016 kg; write t, short_ton or long_ton",
    ),
    "mpa": _MILLI_OR_MEGA.format("mPa", "MPa"),
    "mw": _MILLI_OR_MEGA.format("mW", "MW"),
    "mwh": _MILLI_OR_MEGA.format("mWh", "MWh"),
    "mj": _MILLI_OR_MEGA.format("mJ", "MJ"),
    "mhz": _MILLI_OR_MEGA.format("mHz", "MHz"),
    "Ml": _MILLI_OR_MEGA.format("mL", "ML"),
    "Mm": _MILLI_OR_MEGA.format("mm", "megameter"),
    **dict.fromkeys(("Mbar", "Mbars"), _MILLI_OR_MEGA.format("mbar", "megabar")),
    **dict.fromkeys(("psig", "PSIG", "psi(g)"), _GAUGE.format("psi")),
    **dict.fromkeys(("barg", "bar(g)"), _GAUGE.format("bar")),
    **dict.fromkeys(("EC", "ec"), "is a quantity and no unit; write uS/cm, mS/cm or dS/m"),
}
# What the parser would read as something else, by its exact letters.
MISREAD: Final[Mapping[str, tuple[str, ...]]] = {
    "C": ("degC", "coulomb"),
    "c": ("degC",),
    "F": ("degF", "farad"),
    "k": ("kelvin",),
    "g": ("gram", "standard_gravity"),
    "mg": ("milligram", "millistandard_gravity"),
    "G": ("gauss", "standard_gravity", "gram"),
    **dict.fromkeys(("kn", "KN"), ("knot", "kilonewton")),
    "mb": ("mbar",),
    **dict.fromkeys(("pH", "ph", "PH", "Ph"), ("acidity",)),
    **dict.fromkeys(("rH", "RH", "rh", "Rh", "pct", "%v/v"), ("percent",)),
    **dict.fromkeys(("pa", "PA"), ("pascal",)),
    "db": ("decibel",),
    "cfm": ("cubic_foot/minute",),
    "Nm": ("newton*meter",),
    "kmph": ("kilometer/hour",),
    "MPA": ("megapascal",),
    "MHZ": ("megahertz",),
    "MWH": ("megawatt_hour",),
    "MM": ("millimeter",),
    "MG": ("milligram",),
    "MG/M3": ("milligram/meter^3",),
    # nothing weighs a tonne a litre
    **dict.fromkeys(("MG/L", "Mg/L", "Mg/l"), ("milligram/liter",)),
}
# What of a text that measures something else than the other side does is likely meant.
_HINTS: Final = (
    (
        re.compile(r"(?P<unit>\S+) as \S+|(?P<mass>[a-zµμ]?g)[ -]?[A-Z][\w+-]*(?P<volume>/\S+)"),
        "names the substance too; write {unit}",
    ),
    (re.compile(r"(?P<unit>\S+/\S+) [A-Z]\S*"), "names the substance too; write {unit}"),
    (
        re.compile(r".*\b[NS]m(3|³).*|S(CFM|LPM|CCM)|NLPM|N?l/min\(?[nN]\)?", re.IGNORECASE),
        "counts gas at standard conditions, so no factor makes it a volume at others",
    ),
    (re.compile(r"PCS?|pieces?", re.IGNORECASE), "counts pieces"),
)
# By what the parser reads: spellings without blanks and points, in lower case, "°" being "deg".
SPELLINGS: Final[Mapping[str, str]] = {
    "degC": "c degc degcel degcelsius cel celsius celcius centigrade oc cdeg gradcelsius gradc",
    "degF": "f degf degfahrenheit fahrenheit of fdeg",
    "kelvin": "k degk degkelvin kelvin",
    "percent": "% percent percents %rh rh% %rf %vol vol% %(v/v)",
    "permille": "‰ permille permil",
    "ppm": "ppm ppmv",
    "ppb": "ppb ppbv",
    "pptv": "pptv",
    "kilogram": "kg kgs kilogram kilograms kilogramme kilogrammes",
    "gram": "g gm gms gram grams gramme grammes",
    "milligram": "mg mgs",
    "microgram": "ug mcg",
    "nanogram": "ng",
    "metric_ton": "t te tonne tonnes",
    "pound": "lb lbs pound pounds",
    "ounce": "oz ozs ounce ounces",
    "stone": "st stone stones",
    "pascal": "pa pascal pascals",
    "hectopascal": "hpa hectopascal hectopascals",
    "kilopascal": "kpa kilopascal kilopascals",
    "bar": "bar bars bara bar(a)",
    "mbar": "mb mbar mbars millibar millibars",
    "psi": "psi psia psi(a) lbf/in2",
    "inHg": "inhg inchhg incheshg inchesofmercury",
    "mmHg": "mmhg",
    "torr": "torr",
    "atm": "atm",
    "inch*water_column": "inh2o inwc iwc inwg",
    "millimeter*water_column": "mmh2o mmwc",
    "centimeter*water_column": "cmh2o",
    "watt": "w watt watts",
    "kilowatt": "kw kilowatt kilowatts",
    "watt_hour": "wh",
    "kilowatt_hour": "kwh",
    "joule": "j joule joules",
    "kilojoule": "kj",
    "volt": "v volt volts vdc vac",
    "millivolt": "mv millivolt millivolts",
    "ampere": "a amp amps ampere amperes",
    "milliampere": "ma milliamp milliamps",
    "volt_ampere": "va",
    "kilovolt_ampere": "kva",
    "hertz": "hz hertz",
    "kilohertz": "khz",
    "ohm": "ohm ohms",
    "kiloohm": "kohm kohms",
    "newton": "n newton newtons",
    "meter": "m meter meters metre metres",
    "kilometer": "km kilometer kilometers kilometre kilometres",
    "centimeter": "cm centimeter centimeters centimetre centimetres",
    "millimeter": "mm millimeter millimeters millimetre millimetres",
    "inch": "in inch inches",
    "foot": "ft foot feet",
    "mile": "mi mile miles",
    "second": "s sec secs second seconds",
    "minute": "min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "liter": "l liter liters litre litres ltr",
    "milliliter": "ml milliliter milliliters millilitre millilitres",
    "fluid_ounce": "floz",
    "mole": "mol mole moles",
    "millimole": "mmol",
    "micromole": "umol",
    "nanomole": "nmol",
    "meter/second": "m/s mps ms-1",
    "kilometer/hour": "km/h kmh kmph kph km/hr kmh-1",
    "mph": "mph mi/h",
    "knot": "kn kt kts knot knots",
    "rpm": "rpm",
    "liter/minute": "lpm l/min",
    "liter/hour": "lph l/h",
    "gallon/minute": "gpm gal/min",
    "cubic_foot/minute": "cfm ft3/min",
    "slpm": "slpm slm",
    "sccm": "sccm",
    "milligram/liter": "mgl mg/l mgl-1",
    "microgram/liter": "ugl ug/l ugl-1",
    "microgram/meter^3": "ug/m3 ugm3 ugm-3",
    "milligram/meter^3": "mg/m3 mgm3 mgm-3",
    "microsiemens/centimeter": "us/cm uscm uscm-1",
    "millisiemens/centimeter": "ms/cm mscm mscm-1",
    "decisiemens/meter": "ds/m dsm-1",
    "watt/meter^2": "w/m2 wm2 wm-2",
    "lux": "lx lux",
    "lumen": "lm",
    "becquerel": "bq",
    "sievert": "sv",
    "millisievert": "msv",
    "microsievert": "usv",
    "degree": "deg",
    "decibel": "db",
    "dBA": "dba db(a)",
    "acidity": "ph phunit phunits",
    "NTU": "ntu",
    "FNU": "fnu",
    "PSU": "psu pss-78",
    "UVI": "uvi uvindex",
}
# What the parser does not know: scales that convert to nothing else, and shares.
DEFINITIONS: Final = (
    "ppb = 1e-9",
    "pptv = 1e-12",
    "sccm = 1e-3 slpm",
    "water_column = 9806.65 pascal/meter",
    "acidity = [acidity]",
    "dBA = [weighted_sound_level]",
    "NTU = [white_turbidity]",
    "FNU = [infrared_turbidity]",
    "PSU = [practical_salinity]",
    "UVI = [ultraviolet_index]",
)
_BY_SPELLING: Final = {
    each: read for read, spellings in SPELLINGS.items() for each in spellings.split()
}
# NFKC turns the signs of units that are one character, superscripts and both letters mu into plain
# text; these it would spoil, or leaves.
_BEFORE: Final = str.maketrans("º˚ᵒ", "°°°")
_AFTER: Final = str.maketrans("\u2212·", "-*")
_DEGREE: Final = re.compile(r"degrees?|°")
_LEFT_OUT: Final = re.compile(r"[\s_.\[\]]")
_POINT: Final = re.compile(r"(?<=[A-Za-z\d])\.(?=[A-Za-z])")  # kg.m-3, as UCUM writes a product
_FACTOR: Final = re.compile(r"([^\W\d_]+|%)(?:\^?(-?\d))?")
# m3 is written for m^3 everywhere except in unit libraries.
_POWER: Final = re.compile(r"(?<=[A-Za-z\u03bc])(-?\d)")
# What the expression parser may receive: no towers of powers, nothing long.
_PLAIN: Final = re.compile(
    r"\A(?:[A-Za-z\u03bcΩ°%_]+(?:\^?-?\d)?|1)"
    r"(?:[ */](?:[A-Za-z\u03bcΩ°%_]+(?:\^?-?\d)?)){0,7}\Z"
)


def readings(unit: str) -> tuple[str, ...]:
    """Return what a unit may mean as the parser writes it, the likeliest first."""
    if len(unit) > UNIT_CHARACTERS_MAX or unclear(unit):
        return ()
    text = unicodedata.normalize("NFKC", unit.translate(_BEFORE)).translate(_AFTER).strip()
    if text in MISREAD:
        return MISREAD[text]
    product = _POINT.sub("*", text.replace("**", "^"))
    product = f"1{product.removeprefix('#')}" if text.startswith(("#/", "/")) else product
    as_written = _POWER.sub(r"^\1", product) if _PLAIN.match(product) else ""
    spelled = _BY_SPELLING.get(_key(text), "")
    likely = (spelled, as_written) if " " in text else (as_written, spelled)
    return tuple(dict.fromkeys(filter(None, (*likely, _by_factors(product)))))


def unclear(unit: str) -> str:
    """Return why a unit may mean several, and what to write; empty where it does not."""
    return _UNCLEAR.get(unit.strip(), "")


def hint(unit: str) -> str:
    """Return what a unit that cannot be converted likely is, and what to write; or empty."""
    for pattern, sentence in _HINTS:
        if match := pattern.fullmatch(unit.strip()):
            parts = match.groupdict("")
            plain = parts.get("unit") or parts.get("mass", "") + parts.get("volume", "")
            return sentence.format(unit=plain)
    return ""


def _key(text: str) -> str:
    lower = _DEGREE.sub("deg", text.casefold().replace("\u03bc", "u").replace("^", ""))
    return _LEFT_OUT.sub("", lower)


def _by_factors(text: str) -> str:
    """Return a product or quotient whose factors the table has, as the parser writes it; or ""."""
    parts = re.split(r"([ */]+)", text)
    for at in range(0, len(parts), 2):
        factor = _FACTOR.fullmatch(parts[at])
        known = "" if factor is None else _BY_SPELLING.get(_key(factor[1]), "")
        if factor is None or not known.isidentifier():
            return ""
        parts[at] = known if factor[2] is None else f"{known}^{factor[2]}"
    return "".join(parts)
