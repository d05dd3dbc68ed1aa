"""Covariates in the daemon: where numbers come from, what they are beside, and what is found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness.programs import until
from harness.publishing import Said

from monitor.cli import main
from monitor.config import Settings, SettingsError, parse
from monitor.config.extended import model_of
from monitor.core.analysis.where_words import where_sentence
from monitor.daemon.assembly import Parts, assemble
from monitor.extensions.where.covariate_keeper import Where

START = 1_767_225_600.0
OWN = [{"name": "temp", "unit": "C", "topic": "site/{sensor}/temp", "max_age_seconds": 600}]


def settings_of(folder: Path, covariates: Sequence[dict]) -> Settings:
    values = {
        "journal": {"path": str(folder / "journal.sqlite")},
        "series": {"max_new_per_minute": 1000, "stale_after_seconds": 1e7},
        "covariates": list(covariates),
    }
    return model_of(values).model_validate(values)


def where_of(parts: Parts) -> Where:
    (listener,) = parts.listeners
    assert isinstance(listener, Where)
    return listener


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def reading(at: float, value: float, sensor: str = "a", **more: object) -> Said:
    body = {"time": stamp(at), "value": value, "u": 1.0, **more}
    return Said(f"monitor/{sensor}/x/reading", json.dumps(body).encode())


def reference(at: float, value: float, sensor: str = "a") -> Said:
    body = {"time": stamp(at), "value": value}
    return Said(f"monitor/{sensor}/x/reference", json.dumps(body).encode())


def take(parts: Parts, said: Sequence[Said], now: float) -> None:
    parts.intake.commit(parts.intake.prepare(said, now))


def looked(parts: Parts) -> None:
    """Wait until every series was looked at."""
    ticks = iter(range(10**9))

    def done() -> bool:
        where_of(parts).check.work(1e9 * next(ticks))
        return not where_of(parts).keeper.changed and where_of(parts).check._look is None

    until("every series was looked at", done)


# -- numbers beside pairs -------------------------------------------------------------------------


def test_a_number_that_never_came_is_told(tmp_path):
    parts = assemble(settings_of(tmp_path, OWN), START)
    assert not [*where_of(parts).keeper.notices()]
    take(parts, [reading(START, 1.0), reference(START, 1.0)], START + 1)

    assert [*where_of(parts).keeper.notices()] == [
        "covariate temp: none of its numbers has come yet"
    ]
    looked(parts)
    (found,) = where_of(parts).check.found[0]
    assert where_sentence(found) == "cannot be judged by temp: no pair has it"


@pytest.mark.parametrize(
    ("topic", "payload", "told"),
    [
        ("site/a/temp", "20.5", ["covariates[1], site/{sensor}/temp", "temp = 20.5 for a, 2026-"]),
        ("site/a/temp", '"warm"', ["rejected: bad_"]),
        (
            "monitor/a/x/reading",
            '{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 1, "rh": 81.5}',
            ["rh = 81.5 for a, x, 2026-01-01T00:00:00", "would be used: 1 reading"],
        ),
        (
            "monitor/a/x/reading",
            '{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 1, "rh": "wet"}',
            ["covariate    rh: none, ", "(bad_field); the reading is used"],
        ),
    ],
)
def test_explain_shows_covariates(tmp_path, capsys, topic, payload, told):
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        "covariates:\n  - {name: rh, field: rh}\n  - {name: temp, topic: 'site/{sensor}/temp'}\n"
    )
    now = ["--now", "2026-01-01T01:00:00Z"]
    main(["explain", "--config", str(settings), *now, topic, payload])
    out = " ".join(capsys.readouterr().out.split())

    for words in told:
        assert " ".join(words.split()) in out
    assert "not read" not in out


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        ("[{name: rh}]", "does not say where its number is; add field, or topic"),
        ("[{name: hour, field: h}]", "means nothing for hour, which comes from the pairs"),
        ("[{name: RH, field: rh}]", "covariates[0].name"),
        ("[{name: rh, field: rh}, {name: rh, field: x}]", "is the name of covariates[0] too"),
        ("[{name: rh, field: rh, time: t}]", "is for a topic of its own"),
        ("[{name: rh, topic: 'a/{sensor}/{place}'}]", "which nothing reads"),
        ("[{name: rh, topic: 'a/+/rh'}]", "matches several topics that apply to all sensors"),
        ("[{name: rh, topic: 'monitor/{sensor}/x/reading'}]", "a message is read by one of them"),
        ("[{name: rh, field: 'a['}]", "covariates[0].field"),
        ("[{name: op, topic: a/b, categories: [A]}]", "come with readings only"),
        ("[{name: op, field: op, categories: [A, A]}]", "names a text twice"),
        ("[{name: rh, field: rh, max_age_seconds: -1}]", "covariates[0].max_age_seconds"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(covariates, said):
    sources = (
        "sources:\n"
        "  - {topic: 'monitor/{sensor}/{quantity}/reading', kind: reading}\n"
        "  - {topic: 'monitor/{subject}/{quantity}/reference', kind: reference}\n"
    )
    with pytest.raises(SettingsError) as caught:
        parse(f"covariates: {covariates}\n{sources}".encode(), "settings.yaml")

    assert said in str(caught.value)
