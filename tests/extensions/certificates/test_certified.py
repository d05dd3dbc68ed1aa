"""References of a source that names a certificate: their u, and when it ends."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from harness.daemon import Daemon
from harness.dcc_examples import SIGNATURE, certificate, quantity, real
from harness.programs import until

from monitor.cli import main
from monitor.config import parse
from monitor.config.core_plan import router_of, units_of
from monitor.core.model import Reference
from monitor.daemon.assembly import assemble
from monitor.daemon.examination import examined
from monitor.daemon.publisher import Publisher
from monitor.explain.doctor import doctor_report
from monitor.extensions.certificates.certified import certified_sources
from monitor.http.telemetry import families
from tests.daemon.test_publisher import CONNECTED, Screen

SOURCES = """
sources:
  - {{topic: "monitor/{{sensor}}/{{quantity}}/reading", kind: reading}}
  - topic: "monitor/{{subject}}/{{quantity}}/reference"
    kind: {kind}
    {source}
    certificate: {{path: "{path}", {more}}}
"""
NATIVE = "unit: kg"
MAPPED = "unit: kg\n    decoder: json\n    map: {series: [{value: value}]}"
LAST_DAY = datetime(2027, 3, 2, tzinfo=UTC).timestamp()
DAY = 86_400.0


def text(path, *, kind="reference", source=NATIVE, more="") -> str:
    return SOURCES.format(kind=kind, source=source, path=path, more=more)


def settings_of(path, **how):
    return parse(text(path, **how).encode(), "monitor.yaml")


# -- u --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [NATIVE, MAPPED])
@pytest.mark.parametrize("count", [1, 300])
def test_references_that_state_no_u_have_that_of_the_certificate(file, source, count):
    settings = settings_of(file, source=source)
    router = router_of(settings, units=units_of(settings))
    bodies = [{"time": f"2026-03-01T00:{at // 60:02}:{at % 60:02}Z"} for at in range(count)]
    topics = ["monitor/a/mass/reference"] * count
    payloads = [json.dumps({**body, "value": 20.0}).encode() for body in bodies]

    found = router.decode_all(topics, payloads, 1.78e9).observations.others

    assert [each.u for each in found] == [0.4] * count
    assert all(isinstance(each, Reference) for each in found)


def test_a_stated_u_counts_and_u_is_in_the_unit_of_the_series(file):
    settings = settings_of(file)
    router = router_of(settings, units=units_of(settings))

    def u_of(sensor: str, **body: object) -> float:
        message = json.dumps({"time": "2026-03-01T00:00:00Z", "value": 20.0, **body}).encode()
        (found,) = router.decode(f"monitor/{sensor}/mass/reference", message, 1.78e9)
        return found.u

    assert u_of("a", u=0.1) == 0.1
    assert u_of("a", u=0.0) == 0.0
    assert u_of("a", U=0.1, k=2) == 0.05
    reading = {"time": "2026-03-01T00:00:00Z", "value": 20_000.0, "u": 1.0, "unit": "g"}
    router.decode("monitor/b/mass/reading", json.dumps(reading).encode(), 1.78e9)
    assert u_of("b") == pytest.approx(400.0)


def test_explain_says_where_u_is_from(file, tmp_path, capsys):
    settings = tmp_path / "monitor.yaml"
    settings.write_text(text(file))
    message = '{"time": "2026-03-01T00:00:00Z", "value": 20.0}'
    topic = "monitor/a/mass/reference"
    assert main(["explain", "--config", str(settings), topic, message]) == 0

    assert "none is stated: that of the source's certificate" in capsys.readouterr().out


def test_a_reference_by_hand_says_whose_u_it_has(file, tmp_path, mosquitto, capsys):
    settings = tmp_path / "monitor.yaml"
    broker = f"mqtt: {{port: {mosquitto.port}}}\n"
    settings.write_text(text(file) + broker)
    words = ["reference", "--config", str(settings), "a", "mass", "20"]
    assert main(words) == 0
    assert "20 at " in (told := capsys.readouterr().out)
    assert ", with the u of its certificate; published on monitor/a/mass/reference" in told
    assert main([*words, "--u", "0.1"]) == 0
    assert "(u 0.1)" in capsys.readouterr().out
    table = tmp_path / "table.csv"
    table.write_text("time,subject,quantity,value\n2026-03-01T00:00Z,a,mass,20\n")
    assert main(["reference", "--config", str(settings), str(table)]) == 0
    assert "1 with the u of the certificate" in capsys.readouterr().err


# -- until when -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (LAST_DAY - 60 * DAY, ""),
        (LAST_DAY - 29 * DAY, "valid until 2027-03-02, as the certificate says: 30 days left"),
        (LAST_DAY + 0.5 * DAY, "valid until 2027-03-02, as the certificate says: 1 day left"),
        (LAST_DAY + DAY, "was valid until 2027-03-02, as the certificate says, and has expired"),
    ],
)
def test_metric_page_and_doctor_tell_when_it_ends(file, tmp_path, now, said):
    settings = settings_of(file)
    journal = {"path": str(tmp_path / "journal.sqlite")}
    given = settings.model_dump(mode="json") | {"journal": journal}
    parts = assemble(type(settings).model_validate(given), now)
    try:
        screen = Screen()
        Publisher(parts, screen).publish(now, SimpleNamespace(**CONNECTED))
        report = doctor_report(examined(parts, now), None)
    finally:
        parts.journal.close()

    (page,) = screen.pages
    whole = f"certificate EX-2026-0815 of the references on {settings.sources[1].topic}: {said}"
    assert [each.startswith(whole) for each in page.notices] == ([True] if said else [])
    assert any(each.startswith(whole) for each in report.findings) == bool(said)
    samples = {each.name: each.samples for each in families(page.figures)}
    metric = samples["monitor_certificate_expiry_timestamp_seconds"]
    assert metric == {("EX-2026-0815",): LAST_DAY + DAY}


def test_the_owner_counts_before_the_certificate(file, tmp_path, capsys):
    settings = tmp_path / "monitor.yaml"
    settings.write_text(text(file, more="valid_until: 2020-01-31"))
    assert main(["check-config", str(settings)]) == 0

    told = capsys.readouterr().out
    assert "no mistakes" in told
    assert (
        "was valid until 2020-01-31, as the settings say, and has expired: have the reference"
        in told
    )


def test_a_running_daemon_shows_it(file, tmp_path, mosquitto):
    daemon = Daemon(tmp_path, mosquitto.port, text(file, more="valid_until: 2020-01-31"))
    daemon.start()
    try:
        name = 'monitor_certificate_expiry_timestamp_seconds{certificate="EX-2026-0815"}'
        until("the metric", lambda: name in daemon.metrics())
        assert daemon.metrics()[name] == datetime(2020, 2, 1, tzinfo=UTC).timestamp()
        page = daemon.get("/")[1].decode()
        assert "was valid until 2020-01-31, as the settings say" in page
    finally:
        daemon.stop()


# -- mistakes -------------------------------------------------------------------------------------


UNUSABLE = {
    "none": (None, "", "cannot be read: No such file"),
    "no certificate": (b"<a/>", "", "is not a digital calibration certificate"),
    "no end": (certificate(until=""), "", "add valid_for or valid_until"),
    "unit": (certificate(quantity(real(unit="\\kelvin"))), "", "cannot be converted to 'kg'"),
    "unknown unit": (certificate(quantity(real(unit="\\foo"))), "", "\\foo is not a unit known"),
    "result": (
        certificate(),
        "result: Error",
        "has no quantity 'Error' with an uncertainty; it has 'Indication'",
    ),
    "several": (
        certificate(quantity(real(), "A", "x_y"), quantity(real(), "B", "x_y")),
        "",
        "has several quantities: 'A', 'B'; choose one (result)",
    ),
    "one point unread": (
        certificate(quantity(real(), "A", "x_y"), quantity(real(unit="\\foo"), "A", "x_y")),
        "",
        "\\foo is not a unit known",
    ),
    "all of it unread": (
        certificate(quantity(real(), "A", "x_y"), quantity(real(unit="\\foo"), "B", "x_y")),
        "result: B",
        "this value of 'B' may have the largest uncertainty",
    ),
    "signature": (certificate(signature=SIGNATURE.format(value="")), "", "signature is broken"),
    "far": (certificate(until=""), "valid_for: 99999y", "ends after the year 9999"),
}


def test_what_is_unread_of_another_quantity_does_not_matter(tmp_path):
    scale = certificate(quantity(real(), "A", "x_y"), quantity(real(unit="\\foo"), "B", "x_y"))
    path = tmp_path / "scale.xml"
    path.write_bytes(scale)
    (source,) = certified_sources(settings_of(path, more="result: A")).values()

    assert source.u == pytest.approx(0.0005)


@pytest.mark.parametrize("which", UNUSABLE)
def test_check_config_and_run_refuse_a_certificate_that_cannot_be_used(tmp_path, capsys, which):
    data, more, sentence = UNUSABLE[which]
    path = tmp_path / "scale.xml"
    if data is not None:
        path.write_bytes(data)
    settings = tmp_path / "monitor.yaml"
    settings.write_text(text(path, more=more) + f"journal: {{path: '{tmp_path}/j.sqlite'}}\n")

    assert main(["check-config", str(settings)]) == 2
    told = capsys.readouterr().out
    assert told.startswith(f"{path}:1:1: sources[1].certificate: ")
    assert sentence in told
    assert main(["run", "--config", str(settings)]) == 2
    assert sentence in capsys.readouterr().err
