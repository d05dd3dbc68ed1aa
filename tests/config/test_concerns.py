"""Which references concern a sensor: by pattern, by site, by distance; and the places' file."""

from __future__ import annotations

import pytest

from monitor.cli import main
from monitor.config import SettingsError, parse
from monitor.config.concerns import concerns_of, great_circle_km, read_places
from monitor.config.core_plan import plan_of
from monitor.core.pairing.join_index import Concern

AREAS = """
areas:
  - {subject: S1, sensors: ["n0*"], distance_km: 0.5}
  - {subject: S2, site: harbour}
  - {subject: S3, radius_km: 2.0, latitude: -45.87, longitude: 170.5}
places:
  - {sensor: n01, latitude: -45.88, longitude: 170.5, site: harbour}
  - {sensor: m02, latitude: -45.90, longitude: 170.5}
  - {sensor: m03, site: harbour}
"""


def subjects(text: str, sensor: str) -> dict[str, float]:
    found = concerns_of(parse(text.encode(), "f"))(sensor)
    return {concern.subject: concern.distance_km for concern in found}


def test_an_area_holds_what_fits_all_that_it_says():
    assert subjects(AREAS, "n01") == {"S1": 0.5, "S2": 0.0, "S3": pytest.approx(1.112, abs=1e-3)}
    assert subjects(AREAS, "n09") == {"S1": 0.5}
    assert subjects(AREAS, "m02") == {}
    assert subjects(AREAS, "m03") == {"S2": 0.0}
    both = AREAS.replace(
        "site: harbour}\n  - {subject: S3", 'site: harbour, sensors: ["m*"]}\n  - {subject: S3'
    )
    assert "S2" not in subjects(both, "n01")


@pytest.mark.parametrize(
    ("one", "other", "km"),
    [
        ((0.0, 0.0), (0.0, 180.0), 20015.115),  # half the circumference of the mean sphere
        ((90.0, 12.0), (-90.0, -80.0), 20015.115),
        ((0.0, 179.5), (0.0, -179.5), 111.195),  # over the date line
        ((0.0, 359.5), (0.0, 0.5), 111.195),
        ((50.066389, -5.714722), (58.643889, -3.07), 968.854),  # Land's End to John o' Groats
        ((-45.87, 170.5), (-45.87, 170.5), 0.0),
    ],
)
def test_distances_are_along_the_great_circle(one, other, km):
    assert great_circle_km(one, other) == pytest.approx(km, abs=1e-2)
    assert great_circle_km(other, one) == pytest.approx(km, abs=1e-2)


def test_places_come_from_a_file_too(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("\ufeffsensor, longitude,latitude,site\nn77,170.5,-45.87,\n\nn78,,,harbour\n")
    text = f"{AREAS}places_file: {path}\n"

    assert subjects(text, "n77") == {"S3": 0.0}
    assert subjects(text, "n78") == {"S2": 0.0}


def test_every_mistake_in_the_file_is_said_with_its_line(tmp_path, capsys):
    path = tmp_path / "places.csv"
    path.write_text(
        "sensor,latitude,longitude,site\nn1,95,170,\nn+2,1,2,\nn3,north,2,\nn4,1,,\nn5\nn6,nan,1,\n"
    )
    with pytest.raises(SettingsError) as caught:
        read_places(path)

    assert [mistake.line for mistake in caught.value.mistakes] == [2, 3, 4, 5, 6, 7]
    told = caught.value.lines()
    assert "latitude" in told[0]
    assert "is not a name" in told[1]
    assert "must be numbers" in told[2]
    assert "both latitude and longitude" in told[3]
    assert "4 cells" in told[4]

    settings = tmp_path / "settings.yaml"
    settings.write_text(f"{AREAS}places_file: {path}\n")
    assert main(["check-config", str(settings)]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 6


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"a,b\n", "must name columns"), (b"\xff\xfe", "cannot be read"), (None, "cannot be read")],
)
def test_a_file_that_is_no_list_of_places_is_refused(tmp_path, content, says):
    path = tmp_path / "places.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=says):
        read_places(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("areas: [{subject: S1}]", "would select every sensor"),
        ("areas: [{subject: S1, radius_km: 1}]", "needs both latitude and longitude"),
        ("places: [{sensor: a, latitude: 1.0}]", "needs both latitude and longitude"),
        (
            'areas: [{subject: S1, sensors: ["*"]}]\npairing: {match_on: [key]}',
            "need `subject` in pairing.match_on",
        ),
    ],
)
def test_what_does_not_go_together_is_said(text, says):
    with pytest.raises(SettingsError, match=says):
        parse(text.encode(), "f")


def test_concerns_are_remembered_by_value():
    of = concerns_of(parse(AREAS.encode(), "f"))
    assert of("n09") == (Concern("S1", distance_km=0.5),)


def test_series_have_the_site_of_their_sensor_and_the_severity_that_settings_mark():
    groups = "groups: [{name: pier, sensors: ['m*'], alerts: {severity: critical}}]"
    rules = plan_of(parse((AREAS + groups).encode(), "f")).rules_of

    marks = [(of.group, of.site, of.severity) for of in (rules(s, "x") for s in ("n01", "m02"))]
    assert marks == [("", "harbour", ""), ("pier", "", "critical")]
