"""The proposed settings, run on the messages."""

from __future__ import annotations

from harness.device_messages import sent

from tests.extensions.discover.test_proposal import heard, proposed


def test_advice_for_a_format_is_given_where_a_proposed_source_refuses_it():
    senml = sent("nodes/n2", [{"n": "kg", "v": 512}])
    found = proposed(heard(sent("nodes/n1", {"temperature": 21.0}), senml))

    assert {each.topic for each in found.trial.content.refused} == {"nodes/n2"}
    assert any(each.startswith("not read: nodes/n2 carries SenML") for each in found.missing)


def test_a_sensor_that_says_it_has_no_value_is_not_told_as_refused():
    found = proposed(heard(*(sent("n1/sensor/co2/state", each) for each in ("nan", "612"))))

    assert set(found.trial.content.readings) == {("n1", "co2")}
    assert not any("refused" in each for each in found.missing)
