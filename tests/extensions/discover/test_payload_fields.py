"""The meaning of a payload's fields, or a question."""

from __future__ import annotations

import re

import pytest
from harness.device_messages import at, sent

from monitor.config import parse
from monitor.core.model import Reading
from monitor.extensions.discover.trial import content_of
from tests.extensions.discover.test_proposal import NOW, heard, proposed


def readings_of(text: str, body: object) -> list[Reading]:
    """Return what a changed proposal reads on the topic of its only device."""
    changed = parse(text.encode(), "changed.yaml")
    found = content_of(changed, heard(sent("shed/a1/up", body)))
    return [reading for readings in found.readings.values() for reading in readings]


@pytest.mark.parametrize(
    ("name", "key"),
    [("sigma", "u"), ("std", "u"), ("err", "u"), ("U95", "U"), ("accuracy", "plus_minus")],
)
def test_an_uncertainty_beside_several_quantities_is_a_question(name, key):
    body = {"temperature": 21.0, "humidity": 45.0, name: 0.4}
    found = proposed(heard(sent("shed/a1/up", body)))

    text = " ".join(found.text.replace("#", " ").split())
    assert f"QUESTION: is {name} the {key} of temperature or of humidity?" in text
    assert f"Then write {key}: {name} into its line in place of assumed" in text
    assert "1 question in the file, marked QUESTION" in found.findings
    changed = re.sub(r', assumed: "0.5"', f", {key}: {name}", found.text)
    (reading, *_) = readings_of(changed, body)
    assert (reading.quantity, reading.assumed) == ("temperature", False)


def test_a_word_that_may_be_an_error_code_is_a_question_beside_one_quantity_too():
    found = proposed(heard(sent("shed/a1/up", {"temperature": 21.0, "err": 0})))

    assert "QUESTION: is err the u of temperature?" in found.text
    ((reading,),) = found.trial.content.readings.values()
    assert reading.assumed


@pytest.mark.parametrize(
    ("quantity", "code", "values"),
    [
        ("temperature", -127, (21.0, 21.5)),
        ("temperature", 85.0, (-9.5, 30.0)),
        ("temperature", 327.67, (21.0, 21.5)),
        ("co2", 65535, (420, 512)),
        ("temperature", "850.0", ("21.0", "20.5")),
    ],
)
def test_a_number_that_says_there_is_no_value_is_no_reading(quantity, code, values):
    found = proposed(heard(*(sent("shed/a1/up", {quantity: each}) for each in (*values, code))))

    ((*readings,),) = found.trial.content.readings.values()
    assert [each.value for each in readings] == [float(each) for each in values]
    assert f"error_values: [{float(code)}]" in found.text
    assert not any("refused" in each for each in found.missing)


@pytest.mark.parametrize(
    ("quantity", "values"),
    [
        ("temperature", (71.0, 85.0)),
        ("co2", (420, 850)),
        ("humidity", (40, 85)),
        ("temperature", (85.0,)),
    ],
)
def test_a_number_among_others_of_its_size_is_a_reading(quantity, values):
    found = proposed(heard(*(sent("shed/a1/up", {quantity: each}) for each in values)))

    ((*readings,),) = found.trial.content.readings.values()
    assert [each.value for each in readings] == [float(each) for each in values]


def test_numbers_that_are_left_over_are_a_question():
    body = {"temperature": 21.0, "zaehlrate": 31.5, "battery": 97}
    found = proposed(heard(sent("shed/a1/up", body)))

    text = " ".join(found.text.replace("#", " ").split())
    assert "QUESTION: is a measurement among zaehlrate? Then give it a line of its own" in text
    assert "* numbers left out: battery" in found.text


def test_an_uncertainty_may_be_a_text_too():
    body = {"ts": NOW, "kg": 512.5, "kg_sd": "5,5"}
    found = proposed(heard(sent("farm/scale-3/weighing", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert (reading.u, reading.assumed) == (5.5, False)


@pytest.mark.parametrize(
    ("level", "p", "told"),
    [
        ({}, 0.9, "ASSUMED p = 0.9, because no level is stated: put yours here"),
        ({"confidence": 95}, 0.95, "confidence says 95 %"),
        ({"kg_p": 95}, 0.95, "kg_p says 95 %"),
        ({"p": 0.8}, 0.8, "p the coverage probability"),
        ({"level": 99}, 0.99, "level says 99 %"),
        ({"level": 0.6827}, 0.6827, "level the coverage probability"),
    ],
)
def test_the_level_of_an_interval_is_that_stated_or_marked_as_assumed(level, p, told):
    limits = {"kg_lo": 500.0, "kg_hi": 525.0} if "kg_p" in level else {"lo": 500.0, "hi": 525.0}
    body = {"ts": NOW, "kg": 512.5, **limits, **level}
    found = proposed(heard(sent("farm/scale-3/weighing", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert (reading.lower, reading.upper, reading.p) == (500.0, 525.0, p)
    assert told in " ".join(found.text.replace("#", " ").split())


@pytest.mark.parametrize(
    ("values", "u_at_0"),
    [
        ((0.0, 3.25), 0.01),
        ((0, 400), 1.0),
        ((0.0, 33.333333333333336), 0.003),
        (("0,0", "0,5"), 0.1),
    ],
    ids=["hundredths", "whole", "computed", "texts"],
)
def test_an_assumed_share_of_the_value_has_the_last_digit_heard_as_its_least(values, u_at_0):
    found = proposed(heard(*(sent("mill/drain/flow", {"value": each}) for each in values)))

    (at_0, *_) = found.trial.content.readings["drain", "flow"]
    assert (at_0.value, at_0.u) == (0.0, u_at_0)
    assert "no unit is stated: if it has one, write it here as unit" in " ".join(
        found.text.replace("#", " ").split()
    )


def test_numbers_in_a_payload_that_are_no_measurement_are_told_in_a_comment():
    body = {"temperature": 21.0, "battery": 97, "serial": "4711", "ok": True}

    assert "  # * numbers left out: battery\n" in proposed(heard(sent("shed/a1/up", body))).text


def test_an_uncertainty_is_joined_to_a_value_whose_name_has_its_unit():
    body = {"temp_f": 70.1, "temp_std": 0.4, "pm2_5_ugm3": 12.5, "pm2_5_sigma": 1.5}
    found = proposed(heard(sent("shed/a1/up", body), sent("shed/a2/up", body)))

    read = {key: each[0] for key, each in found.trial.content.readings.items()}
    assert read["a1", "temperature"].u == pytest.approx(0.4 / 1.8)
    assert (read["a1", "pm25"].value, read["a1", "pm25"].u) == (12.5, 1.5)
    assert not any(each.assumed for each in read.values())


@pytest.mark.parametrize(
    ("beside", "u", "told"),
    [
        (
            {"uncertainty": 0.4, "coverage_factor": 2},
            0.2,
            "uncertainty is its expanded uncertainty",
        ),
        ({"kg_unc": 0.6, "k": 3}, 0.2, "kg_unc is its expanded uncertainty"),
        ({"U": 0.6, "confidence": 99.73}, 0.2, "confidence says 99.73 %"),
        ({"U": 0.6, "level": 99.73}, 0.2, "level says 99.73 %"),
        ({"uncertainty": 0.6, "p": 0.9973}, 0.2, "p the coverage probability"),
        ({"u": 0.4, "k": 2}, 0.4, "k is left out: it would belong to an expanded uncertainty"),
        ({"sigma": 0.4, "confidence": 95}, 0.4, "confidence is left out"),
        ({"standard_uncertainty": 0.4, "k": 2}, 0.4, "is its standard uncertainty"),
    ],
)
@pytest.mark.parametrize("topic", ["farm/scale-3/weighing", "ref/scale-3/weighing"])
def test_an_uncertainty_beside_a_factor_or_a_level_is_expanded(topic, beside, u, told):
    found = proposed(heard(sent(topic, {"ts": NOW, "kg": 512.5, **beside})))

    content = found.trial.content
    ((stated,),) = (*content.readings.values(), *content.references.values())
    assert stated.u == pytest.approx(u, rel=1e-3)
    text = " ".join(found.text.replace("#", " ").split())
    assert told in text
    assert "QUESTION" not in text


def test_an_uncertainty_and_a_factor_beside_several_quantities_are_one_question():
    body = {"temperature": 21.0, "humidity": 45.0, "uncertainty": 0.4, "coverage_factor": 2}
    found = proposed(heard(sent("shed/a1/up", body)))

    text = " ".join(found.text.replace("#", " ").split())
    written = "U: uncertainty, k: coverage_factor"
    assert (
        f"QUESTION: is uncertainty the U of temperature or of humidity? Then write {written} "
        in (text)
    )
    assert "1 question in the file, marked QUESTION" in found.findings
    changed = re.sub(r', assumed: "0.5"', f", {written}", found.text)
    (reading, *_) = readings_of(changed, body)
    assert (reading.quantity, reading.u) == ("temperature", 0.2)


@pytest.mark.parametrize("value", [21.25, 21])
def test_a_level_beside_limits_is_theirs_and_the_value_is_the_measurement(value):
    body = {"time": at(NOW), "value": value, "lower": 20, "upper": 23, "level": 95}
    found = proposed(heard(*(sent(f"m/{name}/r", body) for name in "ab")))

    assert set(found.trial.content.readings) == {("a", "value"), ("b", "value")}
    reading = found.trial.content.readings["a", "value"][0]
    assert (reading.value, reading.lower, reading.upper, reading.p) == (value, 20, 23, 0.95)
    assert "QUESTION" not in found.text


@pytest.mark.parametrize("levels", [(95.0, 12.5), (71.5, 71.5)], ids=["varies", "is unusual"])
def test_a_level_that_is_no_usual_one_of_coverage_is_a_quantity(levels):
    bodies = [{"ts": NOW, "level": each, "lower": 0.0, "upper": 100.0} for each in levels]
    found = proposed(heard(*(sent("mill/tank-3/up", body) for body in bodies)))

    readings = found.trial.content.readings["tank-3", "level"]
    assert [each.value for each in readings] == list(levels)
