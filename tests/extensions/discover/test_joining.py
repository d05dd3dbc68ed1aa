"""Names and keys in common join references to readings."""

from __future__ import annotations

from harness.device_messages import FAMILIES, at, references, sent

from monitor.config import parse
from monitor.extensions.discover.proposal import propose
from tests.extensions.discover.test_proposal import BROKER, NOW, heard, proposed, twice


def test_names_of_sensors_in_references_and_keys_are_found():
    tags = ["982 000412", "982 000413", "982 000414"]
    messages = []
    for n, tag in enumerate(tags):
        moment = NOW + 40.0 * n
        reading = {"ts": at(moment), "animal": tag, "kg": 500.0 + n, "kg_sd": 5.0}
        truth = {"when": "", "ts": at(moment + 600.0), "chip": tag.replace(" ", ""), "kg": 501.0}
        messages += heard(sent("farm/scale-3/weighing", reading), time=moment)
        messages += heard(sent("farm/static/result", {**truth, "device": "scale-3"}), time=moment)

    found = propose(messages, NOW + 1000.0, BROKER)

    source, other, *_ = parse(found.text.encode(), "p").sources
    maps = {each.kind: each.map for each in (source, other)}
    assert maps["reading"].key == "animal"
    assert maps["reference"].key == "chip"
    assert maps["reference"].names == {"device": "{subject}"}
    assert found.trial.pairs == {("scale-3", "mass"): 3}
    assert {each.u for each in found.trial.content.readings["scale-3", "mass"]} == {5.0}


def test_a_tag_that_readings_state_too_is_the_key_and_no_subject():
    messages = []
    for n, tag in enumerate(("982 000412", "982 000413")):
        moment = NOW + 40.0 * n
        body = {"tag": tag, "ts": moment, "kg": 500.0, "sd": 5.0}
        truth = {"tag": tag, "ts": moment + 300.0, "kg": 501.0}
        messages += heard(sent("wow/race/p03", body), time=moment)
        messages += heard(sent("wow/static", truth), time=moment + 300.0)

    found = propose(messages, NOW + 1000.0, BROKER)

    parse(found.text.encode(), "proposal.yaml")
    assert found.trial.pairs == {("p03", "mass"): 2}
    assert {key.sensor for key in found.trial.content.references} == {"static"}


def test_references_over_an_interval_are_held_against_the_mean_of_the_readings():
    messages = [
        each
        for n in range(12)
        for each in heard(
            sent("air/node-1/obs", {"ts": NOW + 600.0 * n, "pm25": {"v": 10.0, "u": 1.0}}),
            time=NOW + 600.0 * n,
        )
    ]
    hour = {"start": at(NOW), "end": at(NOW + 3600.0), "pm25": 9.0, "u": 0.5, "rev": 1}
    messages += heard(sent("official/S3/hourly", hour), time=NOW + 7200.0)

    found = propose(messages, NOW + 7200.0, BROKER)

    assert "reading_seconds: 600.0" in found.text
    assert found.trial.pairs == {("node-1", "pm25"): 1}


def test_a_reference_that_is_too_old_is_told():
    old = [each._replace(time=NOW) for each in heard(*references(NOW - 7200.0))]
    found = proposed([*twice(FAMILIES["tasmota"]), *old])

    assert not any(found.trial.pairs.values())
    told = " ".join(found.missing)
    assert "no pair of temperature yet: readings and references are too far apart in time" in told
    assert at(NOW - 7200.0) in told


def test_a_reference_whose_topic_names_no_subject_is_read_and_stands_beside_all():
    truth = {"time": at(NOW), "value": 20.0, "u": 0.05}
    found = proposed(
        [
            *heard(
                *(sent(f"zigbee2mqtt/{n}", {"temperature": 20.1, "linkquality": 9}) for n in "ab")
            ),
            *heard(sent("reference/temperature", truth)),
        ]
    )

    assert found.trial.pairs == {("a", "temperature"): 1, ("b", "temperature"): 1}
    ((subject, _),) = found.trial.content.references
    assert subject == "reference"
