"""Units as devices write them: converted as the library converts what they mean, or refused."""

from __future__ import annotations

import pint
import pytest

from monitor.decode import Rejected
from monitor.decode.unit_spellings import MISREAD, unclear
from monitor.decode.unit_spellings import SPELLINGS as ROWS
from monitor.decode.units import components, conversion

# What the spellings in a row mean: a size and a unit of the library, and another to convert to.
SPELLINGS = [
    (1.0, "degree_Celsius", "kelvin", (
        "degC|C|c|Cel|oC|ºC|˚C|°C|° C|C°|℃|deg C|degrees C|Deg. C|DEGC|Celsius|CELSIUS|"
        "degrees celsius|degree_Celsius|[degC]| degC |degree C"
    )),
    (1.0, "degree_Fahrenheit", "degree_Celsius", (
        "degF|F|f|oF|°F|℉|deg F|Degrees F|Fahrenheit|[degF]"
    )),
    (1.0, "kelvin", "degree_Celsius", "K|k|°K|Kelvin|KELVIN|deg K"),
    (1.0, "kilogram", "gram", "kg|Kg|KG|kgs|Kgs|KGS|Kilogram|㎏|kg "),
    (1.0, "gram", "kilogram", "g|G|gm|gms|Gram|GRAMS"),
    (1.0, "milligram", "kilogram", "mg|MG|㎎"),
    (1.0, "pound", "kilogram", "lb|LB|lbs|LBS|Lbs|pounds|Pounds"),
    (1.0, "ounce", "gram", "oz|OZ|Oz|ounces"),
    (1.0, "stone", "kilogram", "st|ST|stone|Stone"),
    (1.0, "metric_ton", "kilogram", "t|T|tonne|Tonnes"),
    (1.0, "pound/foot**3", "kilogram/meter**3", "lb/ft3|LB/FT3|lb ft-3"),
    (1.0, "hectopascal", "pascal", "hPa|hpa|HPA|Hpa|mb|MB|mbar|MBAR|millibar|Millibars"),
    (1.0, "kilopascal", "pascal", "kPa|kpa|KPA|KPa"),
    (1.0, "pascal", "hectopascal", "Pa|PA|pa|Pascal"),
    (1.0, "inch_Hg", "hectopascal", "inHg|inhg|INHG|in Hg|in. Hg|inches Hg|inches of mercury"),
    (1.0, "mmHg", "hectopascal", "mmHg|mm Hg|mm[Hg]|MMHG"),
    (1.0, "psi", "hectopascal", "psi|PSI|psia|Psi"),
    (9.80665, "pascal", "pascal", "mmH2O|mm H2O"),
    (249.08891, "pascal", "pascal", "inH2O|in H2O|inWC"),
    (1e-09, "", "ppm", "ppb|PPB|ppbv|PPBV|[ppb]|nmol/mol"),
    (1e-12, "", "ppm", "pptv|PPTV"),
    (1e-06, "", "percent", "ppm|PPM|ppmv|PPMV|Ppm|[ppm]|umol/mol"),
    (1.0, "percent", "ppm", "%|\uff05|percent|PERCENT|pct|%RH|% RH|%rH|% r.h.|rH|RH|%vol|vol%"),
    (1.0, "permille", "percent", "‰|permille|g/kg|G/KG"),
    (1.0, "microgram/meter**3", "milligram/meter**3", (
        "ug/m3|UG/M3|µg/m³|μg/m³|ug m-3|µg/m^3|ug/m**3|㎍/㎥|mcg/m3|ugm3|Ug/m3|ug.m-3|"
        "µg m⁻³"
    )),
    (1.0, "milligram/liter", "gram/liter", "mg/L|mg/l|MG/L|Mg/L|mgl|mg L-1"),
    (1.0, "kilowatt_hour", "joule", "kWh|kwh|KWH|KWh|kW h"),
    (1.0, "kilowatt", "watt", "kW|KW|kw"),
    (1.0, "watt", "kilowatt", "W|w|Watts"),
    (1.0, "watt/meter**2", "kilowatt/meter**2", "W/m2|W/m²|w/m2|W/M2|WATTS/M2|W m-2|watt/m^2"),
    (1.0, "liter/minute", "meter**3/hour", "L/min|l/min|L/MIN|lpm|LPM|liters/minute"),
    (1.0, "gallon/minute", "liter/minute", "gpm|GPM"),
    (1.0, "foot**3/minute", "meter**3/hour", "cfm|CFM"),
    (1.0, "meter/second", "kilometer/hour", "m/s|M/S|mps|m s-1|m.s-1|meters/second|METERS/SECOND"),
    (1.0, "kilometer/hour", "meter/second", "km/h|KM/H|kmh|kph|KPH|km/hr|kmph"),
    (1.0, "mile/hour", "meter/second", "mph|MPH|mi/h"),
    (1.0, "knot", "meter/second", "kn|kt|kts|knots|KNOTS|Knot"),
    (1.0, "microsiemens/centimeter", "siemens/meter", "uS/cm|µS/cm|us/cm|US/CM|uS cm-1"),
    (1.0, "millisiemens/centimeter", "siemens/meter", "mS/cm|ms/cm|MS/CM|dS/m"),
    (1.0, "millivolt", "volt", "mV|mv"),
    (1.0, "volt", "millivolt", "V|v|Volts|VOLT"),
    (1.0, "ampere", "milliampere", "A|Amps|amp"),
    (1.0, "kilohertz", "hertz", "kHz|khz|KHZ"),
    (1.0, "megapascal", "bar", "MPa|MPA"),
    (1.0, "millimeter", "meter", "mm|MM|㎜"),
    (1.0, "1/centimeter**3", "1/meter**3", "1/cm3|#/cm3|/cm3|cm-3|#/cm³"),
    (1.0, "standard_gravity", "meter/second**2", "g|G"),
    (0.001, "standard_gravity", "meter/second**2", "mg"),
    (1.0, "newton*meter", "joule", "Nm|N m|N.m|N·m"),
    (1.0, "coulomb", "ampere*hour", "C"),
    (1.0, "farad", "coulomb/volt", "F"),
    (1.0, "kilonewton", "newton", "kN|kn"),
    (1.0, "degree_Celsius", "kelvin", "celcius|Grad Celsius"),
    (1.0, "percent", "1", "% r.F."),
    (1.0, "lux", "lumen/meter**2", "lx|lux|LUX|Lux"),
]  # fmt: skip
# Scales of their own: spellings of one are one unit.
ALIKE = [
    ("pH", "ph", "PH", "[pH]", "pH units"),
    ("NTU", "ntu", "Ntu"),
    ("FNU", "fnu"),
    ("PSU", "psu"),
    ("dB(A)", "dBA", "dba"),
    ("slpm", "SLPM"),
    ("UVI", "UV index"),
    ("kg", " kg", "kg\u00a0"),
]
REFUSED = [
    ("gr", "kg", "write g or grain"),
    ("GR", "g", "write g or grain"),
    ("ppt", "g/kg", "write g/kg or pptv"),
    ("ton", "kg", "write t, short_ton or long_ton"),
    ("Mbar", "hPa", "write mbar or megabar"),
    ("mw", "kW", "write mW or MW"),
    ("mhz", "Hz", "write mHz or MHz"),
    ("Mm", "m", "write mm or megameter"),
    ("Ml", "L", "write mL or ML"),
    ("psig", "hPa", "write psi"),
    ("EC", "uS/cm", "write uS/cm"),
    ("ppm CO2", "ppm", "is not understood"),
    ("C", "kg", "cannot be converted"),
    ("G", "T", "cannot be converted"),
    ("pct", "kg", "cannot be converted"),
    ("pH", "H", "cannot be converted"),
    ("Nm", "m", "cannot be converted"),
    ("NTU", "FNU", "cannot be converted"),
    ("dBA", "dB", "cannot be converted"),
    ("SLPM", "L/min", "cannot be converted"),
    ("ppb", "ug/m3", "cannot be converted"),
    ("mg/L as N", "mg/L", "write mg/L"),
    ("mg N/L", "mg/L", "write mg/L"),
    ("mg/L NO3-N", "mg/L", "write mg/L"),
    ("ug/m3 PM10", "ug/m3", "write ug/m3"),
    ("µg/Nm³", "ug/m3", "gas at standard conditions"),
    ("Nm3/h", "m3/h", "gas at standard conditions"),
    ("SCFM", "L/min", "gas at standard conditions"),
    ("PCS", "kg", "counts pieces"),
]


MEGA = {"Mg", "MV", "MA", "ML", "Mmol", "Mg/m3"}  # M is mega where that is a usual unit


@pytest.fixture(scope="module")
def library() -> pint.UnitRegistry:
    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


@pytest.mark.parametrize(
    ("size", "unit", "wanted", "spelling"),
    [(*of, each) for *of, spellings in SPELLINGS for each in spellings.split("|")],
)
def test_a_spelling_converts_as_what_it_means(library, size, unit, wanted, spelling):
    zero, one = (
        library.Quantity(number * size, unit).to(wanted).magnitude for number in (0.0, 1.0)
    )
    scale, offset = conversion(spelling, wanted)
    back = conversion(wanted, spelling)

    assert (scale, offset) == pytest.approx((one - zero, zero), rel=1e-9, abs=1e-12)
    assert back == pytest.approx((1 / scale, -offset / scale), rel=1e-9, abs=1e-9)
    assert components(spelling)


def test_each_of_two_letters_means_what_the_other_can():
    assert conversion("C", "F") == pytest.approx((1.8, 32.0))
    assert conversion("f", "k") == pytest.approx((1 / 1.8, 459.67 / 1.8))
    assert conversion("A h", "C") == pytest.approx((3600.0, 0.0))
    assert conversion("Mg", "mg") == pytest.approx((1e9, 0.0))  # no case is changed without need


@pytest.mark.parametrize("spellings", ALIKE)
def test_a_scale_of_its_own_may_be_spelled_as_people_do(spellings):
    for one in spellings:
        assert conversion(one, spellings[0]) == conversion(spellings[0], one) == (1.0, 0.0)


@pytest.mark.parametrize(("stated", "wanted", "advice"), REFUSED)
def test_what_means_several_or_another_quantity_is_refused_with_what_to_write(
    stated, wanted, advice
):
    for units in ((stated, wanted), (wanted, stated)):
        with pytest.raises(Rejected) as caught:
            conversion(*units)
        assert caught.value.reason == "unit"
        assert advice in caught.value.detail
        assert repr(stated) in caught.value.detail


def test_each_spelling_of_the_table_means_what_its_row_does_in_any_usual_case():
    """Also where the library understands it itself, as kmph: a thousand miles an hour."""
    known = {spelling: row for row, all_ in ROWS.items() for spelling in all_.split()}
    assert len(known) == sum(len(all_.split()) for all_ in ROWS.values())
    for spelling, row in known.items():
        for each in {spelling, spelling.upper(), spelling.capitalize()}.difference(MEGA):
            if not unclear(each):
                assert conversion(each, row) == pytest.approx((1.0, 0.0)), each
    for each, meanings in MISREAD.items():
        assert [conversion(each, row) for row in meanings] == [(1.0, 0.0)] * len(meanings)
