"""Whose uncertainty is wrong: command, page and document of the same pairs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from monitor.cli import main
from monitor.core.columns import columns
from monitor.core.registry import SeriesName
from monitor.core.snapshot.details import Contenders, Contest
from monitor.extensions.budget.documents import budget_bars
from monitor.extensions.budget.pages import budget_of
from tests.http.test_service import get, page, service

__all__ = ["service"]
HOSTILE = "<b>&\"'"


def streams(events: int):
    random = np.random.default_rng(2)
    truth = 20.0 + random.normal(size=events)
    reference = truth + 0.3 * random.normal(size=events)
    return reference, {
        "good": truth + random.normal(size=events),
        HOSTILE: truth + 3.0 * random.normal(size=events),
    }


@pytest.fixture
def file(tmp_path):
    reference, values = streams(150)
    rows = ["time,sensor,quantity,value,sigma,reference,reference_sigma"]
    for name, value in values.items():
        quoted = name.replace('"', '""')
        for at, (v, r) in enumerate(zip(value, reference, strict=True)):
            when = datetime.fromtimestamp(1.77e9 + 60 * at, UTC).isoformat()
            rows.append(f'{when},"{quoted}",t,{v:.5f},1,{r:.5f},0.3')
    path = tmp_path / "pairs.csv"
    path.write_text("\n".join(rows))
    return path


def contenders(sensors: int) -> Contenders:
    reference, values = streams(150)
    value = np.concatenate([*values.values()][:sensors])
    nothing = np.full(value.size, np.nan)
    pairs = columns(
        np.arange(sensors) * 150,
        time=np.tile(1.77e9 + 60.0 * np.arange(150), sensors),
        value=value,
        reference=np.tile(reference, sensors),
        u=np.ones(value.size),
        lower=nothing,
        upper=nothing,
        p=nothing,
        u_ref=np.full(value.size, 0.3),
        level=0.9,
    )
    names = tuple(SeriesName(name, "t", "K") for name in [*values][:sensors])
    event = np.tile(np.arange(150), sensors)
    return Contenders(1.77e9, Contest("t"), names, pairs, event, "normal", 0)


def test_the_command_names_who_understates(file, capsys):
    assert main(["budget", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    told = {each["name"]: each["verdict"] for each in found["views"]}
    assert told == {"good": "", HOSTILE: "understated", "reference": ""}
    assert main(["budget", str(file)]) == 0
    assert "its uncertainty is understated" in capsys.readouterr().out


def test_what_of_the_file_is_not_used_is_said_beside_the_answer(file, tmp_path, capsys):
    head, *rows = file.read_text().splitlines()
    path = tmp_path / "noted.csv"
    path.write_text("\n".join([f"{head},note", *(f"{row},x" for row in rows)]) + "\n")

    assert main(["budget", str(path)]) == 0
    assert f"{path}: columns not used: note" in capsys.readouterr().err


def test_one_sensor_is_told_that_it_takes_three_views(file, capsys):
    assert main(["budget", str(file), "--sensors", "good"]) == 0
    assert "three are needed" in capsys.readouterr().out


@pytest.mark.parametrize("options", [["--sensors", "nobody"], ["--quantity", "mass"]])
def test_who_is_not_there_is_told(file, capsys, options):
    assert main(["budget", str(file), *options]) == 2
    assert "good (t)" in capsys.readouterr().err


def test_the_bar_is_a_picture_whose_parts_fill_it():
    found = budget_of(contenders(2))
    drawing = ET.fromstring(str(budget_bars(found)))  # noqa: S314 - our own
    bars = [
        each for each in drawing.iter() if each.tag == "rect" and each.find("title") is not None
    ]
    assert len(bars) == 10
    wide = float(drawing.get("viewBox", "").split()[2])
    for row in (bars[:5], bars[5:]):
        assert sum(float(each.get("width", "nan")) for each in row) == pytest.approx(wide, abs=0.5)
    words = [each.text for each in drawing.iter() if each.tag == "text"]
    assert HOSTILE in words
    assert budget_of(contenders(1))["views"] == []
    assert budget_of(contenders(1))["unit"] == "K"


def test_page_and_document_tell_the_same(service):
    made = contenders(2)
    shown = replace(page("good"), contenders={Contest("t"): made})
    service.publish(shown)
    found = json.loads(get(service, "/api/v1/budget?quantity=t")[1])
    assert found == json.loads(json.dumps(budget_of(made)))
    text = get(service, "/budget?quantity=t")[1].decode()
    assert "<b>&" not in text
    assert "its uncertainty is understated" in text
    assert text.count("<svg") == 1
    assert get(service, "/api/v1/budget?quantty=t")[0] == 422
