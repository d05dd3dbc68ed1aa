"""Which rows of a file of pairs, or of a frame, met the same measurement of their reference."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import monitor
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.files.exporting import FORMS, write_parquet, write_text
from monitor.frames.pair_frames import PairColumns, pairs_of
from monitor.report.recorded import events_of, of_pairs, read

SENSORS, ROUNDS = 6, 200


def pairs() -> pd.DataFrame:
    """Return sensors beside one station that reads 4 low from its 100th measurement on."""
    random = np.random.default_rng(6)
    at = np.repeat(np.arange(ROUNDS), SENSORS)
    truth = random.normal(50.0, 5.0, ROUNDS).round(3)
    return pd.DataFrame(
        {
            "time": 1.7723e9 + 3600.0 * at,
            "sensor": [f"s{each}" for each in np.tile(np.arange(SENSORS), ROUNDS)],
            "value": (truth[at] + random.normal(size=at.size)).round(3),
            "u": 1.0,
            "reference": truth[at] - 4.0 * (at >= 100),
            "u_reference": 0.1,
        }
    )


def named(kind: str) -> pd.DataFrame:
    rows = pairs()
    at = np.arange(len(rows)) // SENSORS
    more = {
        "none": {},
        "station": {"reference_id": "B"},
        "measurement": {"reference_id": [f"B-{each}" for each in at]},
        "number": {"reference_id": 7},
        "moments": {
            "time": rows["time"] + np.arange(len(rows)) % SENSORS,
            "reference_event": [f"B-{each}" for each in at],
        },
    }[kind]
    return rows.assign(**more)


def found(form: str, rows: pd.DataFrame, tmp_path):
    if form == "frame":
        return of_pairs(pairs_of(rows, PairColumns()), SeriesRules())
    path = tmp_path / f"pairs.{form}"
    write = {"csv": rows.to_csv, "parquet": rows.to_parquet}[form]
    write(path, index=False)
    return read(path, SeriesRules())


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *(("station", "csv"), ("measurement", "csv"), ("number", "csv"), ("moments", "csv")),
        *(
            ("number", "parquet"),
            ("moments", "parquet"),
            ("station", "frame"),
            ("moments", "frame"),
        ),
    ],
)
def test_sensors_share_measurements_however_the_reference_is_named(kind, form, tmp_path):
    events = events_of(found(form, named(kind), tmp_path))

    plain = events_of(found(form, named("none"), tmp_path))
    assert np.unique(events).size == ROUNDS
    assert (np.unique(events[:ROUNDS]) == np.unique(events[-ROUNDS:])).all()
    same = np.unique(events, return_inverse=True)[1]
    assert np.unique(np.stack([same, plain]), axis=1).shape[1] == ROUNDS


def test_a_station_that_was_wrong_is_no_fault_of_its_sensors_in_python_too():
    for kind in ("none", "station", "measurement"):
        sentences = monitor.score(named(kind), unit="ug/m3").sentences
        assert all(" pairs left out: either " in each for each in sentences)
        both = monitor.compare(named(kind), "s0", "s1", u_reference="u_reference")
        assert both["sentences"][0].startswith(f"On {ROUNDS} common events")


def test_two_stations_that_read_alike_measured_twice(tmp_path):
    rows = named("none").assign(reference=50.0)
    rows["reference_id"] = np.where(rows["sensor"] < "s3", "A", "B")
    events = events_of(found("frame", rows, tmp_path))

    assert np.unique(events).size == 2 * ROUNDS
    assert np.unique(
        events_of(found("frame", rows.drop(columns="reference_id"), tmp_path))
    ).size == (ROUNDS)
    rows["place"] = rows.pop("reference_id")
    asked = of_pairs(pairs_of(rows, PairColumns(reference_id="place")), SeriesRules())
    assert np.unique(events_of(asked)).size == 2 * ROUNDS


def test_without_times_the_name_and_the_value_are_the_measurement(tmp_path):
    values = np.unique(pairs()["reference"]).size
    for kind, count in (("station", values), ("measurement", ROUNDS)):
        events = events_of(found("csv", named(kind).drop(columns="time"), tmp_path))
        assert np.unique(events).size == count


@pytest.mark.parametrize("form", FORMS)
def test_what_is_exported_has_the_measurements_it_had(form, tmp_path):
    rows = found("frame", named("moments"), tmp_path)
    path = tmp_path / f"again.{form}"
    names = [SeriesName(each.sensor, each.quantity, each.unit) for each in rows.names]
    if form == "parquet":
        write_parquet(path, names, rows.pairs)
    else:
        with path.open("w") as out:
            write_text(out, names, rows.pairs, form)

    again = read(path, SeriesRules())

    assert (events_of(again) == events_of(rows)).all()


@pytest.mark.parametrize("event", [{}, {"reference_event": "round"}])
def test_quantities_with_the_same_numbers_have_no_measurement_in_common(event, tmp_path):
    """Humidities are no witnesses against the reference of a temperature, whose 0 is not theirs."""
    random, at = np.random.default_rng(4), np.tile(np.arange(ROUNDS), 8)
    is_warm = np.repeat([True, False], 4 * ROUNDS)
    rows = pd.DataFrame(
        {
            "time": 1.7723e9 + 3600.0 * at,
            "sensor": [f"s{each}" for each in np.repeat(np.arange(8) % 4, ROUNDS)],
            "quantity": np.where(is_warm, "t", "rh"),
            "value": random.normal(size=at.size) + 4.0 * (is_warm & (at >= 100)),
            "u": 1.0,
            "reference": 0.0,
        }
    )
    rows = rows.assign(**dict.fromkeys(event, at))

    events = events_of(found("frame", rows, tmp_path))
    alone = monitor.score(rows[is_warm]).sentences

    assert np.unique(events).size == 2 * ROUNDS
    assert [each for each in monitor.score(rows).sentences if "its reference" in each] == [
        each for each in alone if "its reference" in each
    ]
