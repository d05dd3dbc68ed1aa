"""Tables of references as the world writes them become the references that people read in them."""

from __future__ import annotations

import gzip
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.errors import BAD_INPUT, USAGE
from monitor.files.layout import typed_number
from monitor.mqtt.publish import BrokerPublisher

SETTINGS = "mqtt: {port: 1}\n"


@pytest.fixture
def told(tmp_path: Path, capsys):
    """Return a function from a table and options to the messages that would be published."""
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)

    def run(content: str | bytes, *options: str) -> list[tuple[str, dict]]:
        table = tmp_path / "table"
        table.write_bytes(content if isinstance(content, bytes) else content.encode())
        words = ["reference", "--config", str(settings), str(table), "--dry-run", *options]
        assert main(words) == 0, capsys.readouterr().err
        lines = capsys.readouterr().out.splitlines()
        return [(line.split(" ", 1)[0], json.loads(line.split(" ", 1)[1])) for line in lines]

    return run


def test_a_plain_table_needs_no_option(told):
    found = told("time,subject,quantity,value,u,unit,key\n2026-03-01T05:00Z,s1,co2,412.5,2,ppm,a\n")
    assert found == [
        (
            "monitor/s1/co2/reference",
            {"time": "2026-03-01T05:00:00Z", "value": 412.5, "u": 2.0, "unit": "ppm", "key": "a"},
        )
    ]


def test_one_number_can_be_tried_without_publishing_it(tmp_path, capsys):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)  # nobody listens on port 1

    words = ["cart-03", "mass", "503,5", "--u", "0.6", "--time", "2026-03-01T05:00Z", "--dry-run"]
    assert main(["reference", "--config", str(settings), *words]) == 0

    topic, payload = capsys.readouterr().out.split(" ", 1)
    assert topic == "monitor/cart-03/mass/reference"
    assert json.loads(payload) == {"time": "2026-03-01T05:00:00Z", "value": 503.5, "u": 0.6}


def test_one_number_can_be_corrected_and_withdrawn(tmp_path, mosquitto, capsys):
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.start()
    words = ["reference", "--config", str(daemon.settings), "AX-1", "pH"]
    try:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as publisher:
            reading = b'{"time": "2026-03-01T05:00:01Z", "value": 7.2, "u": 0.1}'
            publisher.publish("monitor/AX-1/pH/reading", reading)
        for value, more, counts in (
            ("7.35", [], 7.35),
            ("7.15", ["--rev", "1"], 7.15),
            ("7.16", ["--rev", "1", "--status", "final"], 7.16),
            ("7.15", ["--rev", "2", "--status", "void"], None),
        ):
            assert main([*words, value, "--time", "2026-03-01T05Z", *more]) == 0

            def reference_now() -> float | None:
                pairs = daemon.json("/api/v1/series/AX-1/pH/pairs").get("pairs")
                return pairs[0]["reference"] if pairs else None

            until(f"{counts} counts", lambda counts=counts: reference_now() == counts)
        assert "is withdrawn at 2026-03-01T05:00:00Z" in capsys.readouterr().out
    finally:
        daemon.kill()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--duration", "1h"], "--duration is for a TABLE"),
        (["--subject", "AX-2"], "--subject is for a TABLE"),
        (["--stamp", "end"], "--stamp is for a TABLE"),
        (["--time-zone", "UTC"], "--time-zone is for a TABLE"),
        (["--decimal-point"], "--decimal-point is for a TABLE"),
        (["--wide", "pH"], "--wide is for a TABLE"),
        (["--status", "wrong"], "write prelim, final, void"),
        (["--rev", "-1"], "write a whole number from 0"),
    ],
)
def test_an_option_that_one_number_cannot_have_is_refused(tmp_path, capsys, options, says):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)
    words = ["reference", "--config", str(settings), "AX-1", "pH", "7.35", "--dry-run"]
    assert main([*words, *options]) == USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("u", ["0", "0,0"])
def test_a_reference_may_be_stated_as_exact(tmp_path, capsys, told, u):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)

    words = ["cart-03", "mass", "503,5", "--u", u, "--time", "2026-03-01T05:00Z", "--dry-run"]
    assert main(["reference", "--config", str(settings), *words]) == 0

    assert json.loads(capsys.readouterr().out.split(" ", 1)[1])["u"] == 0.0
    rows = "time,subject,quantity,value,u,U\n" + "2026-03-01T05:00Z,s,co2,4,{},{}\n" * 3
    found = told(rows.format("0", "", "", "0", "", ""))
    assert [each.get("u") for _, each in found] == [0.0, 0.0, None]


def test_what_the_daemon_would_reject_is_refused_before_it_is_published(tmp_path, capsys):
    settings, table = tmp_path / "settings.yaml", tmp_path / "table.csv"
    native = "{topic: 'monitor/{subject}/{quantity}/reference', kind: reference, unit: kg}"
    readings = "{topic: 'monitor/{sensor}/{quantity}/reading', kind: reading, unit: kg}"
    settings.write_text(f"{SETTINGS}sources: [{readings}, {native}]\n")
    rows = "time,subject,quantity,value,unit\n2026-03-01T05:00Z,s,mass,{}\n"
    table.write_text(rows.format("1,kg") + "2026-03-01T06:00Z,s,mass,503500,g\n")
    for words in (["s", "mass", "503500", "--unit", "g"], [str(table)]):
        assert main(["reference", "--config", str(settings), *words]) == USAGE
        said = capsys.readouterr().err
        assert "would reject monitor/s/mass/reference" in said
        assert "503500" in said
        assert "is 'g', the source declares 'kg'" in said


@pytest.mark.parametrize(
    ("units", "stated", "said"),
    [
        (("kg",), "gr", "write g or grain"),
        (("",), "gr", "write g or grain"),
        (("kg", "lb"), "K", "'K' is not understood or does not convert to kg or lb"),
        (("kg", "lb"), "furlongs", "does not convert"),
        (("kg",), "K", "'K' cannot be converted to 'kg'"),
        (("kg", "lb"), "G", ""),
        (("kg",), "LBS", ""),
        (("kg", ""), "CFU", ""),
        (("",), "K", ""),
        (("gr",), "gr", ""),
    ],
)
def test_a_unit_that_no_readings_are_kept_in_is_refused_before_it_is_published(
    units, stated, said, tmp_path, capsys
):
    sources = "".join(
        f"  - {{topic: '{at}/{{sensor}}/mass', kind: reading, decoder: json, map: {{time: arrival, "
        f"series: [{{quantity: mass, value: v, u: 1, unit: '{unit}'}}]}}}}\n"
        for at, unit in enumerate(units)
    )
    settings, table = tmp_path / "settings.yaml", tmp_path / "table.csv"
    settings.write_text(f"{SETTINGS}sources:\n{sources}")
    table.write_text(f"time,subject,quantity,value,unit\n2026-03-01T05:00Z,s,mass,1,{stated}\n")
    for words in (["s", "mass", "1", "--unit", stated], [str(table)]):
        code = main(["reference", "--config", str(settings), *words, "--dry-run"])
        told = capsys.readouterr()
        assert code == (USAGE if said else 0), told.err
        assert said in told.err
        assert bool(told.out) != bool(said)


def test_points_that_separate_thousands_are_asked_about(tmp_path, capsys):
    settings, table = tmp_path / "settings.yaml", tmp_path / "table.csv"
    settings.write_text(SETTINGS)
    table.write_text("time;subject;quantity;value\n2026-03-01T05:00Z;s;mass;1.021,5\n")
    for words in ([str(table)], ["s", "mass", "1.021,5", "--time", "2026-03-01T05:00Z"]):
        told = ["reference", "--config", str(settings), *words, "--dry-run"]
        assert main(told) in (BAD_INPUT, USAGE)
        assert "give --decimal-comma" in capsys.readouterr().err
        assert main([*told, "--decimal-comma"]) == 0
        assert '"value":1021.5' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "number"),
    [("-18,5", -18.5), ("-18.5", -18.5), ("-1e-3", -0.001), ("-,5", -0.5), ("-7", -7.0)],
)
def test_a_number_below_zero_is_no_option(tmp_path, capsys, typed, number):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)
    words = ["freezer", "temperature", typed, "--dry-run", "--unit", "degC"]

    assert main(["reference", "--config", str(settings), *words]) == 0
    assert json.loads(capsys.readouterr().out.split(" ", 1)[1])["value"] == number


LIMS = """\
Probe;Parameter;Messwert;U (k=2);Einheit;Probenahme;Auftrag
AX-1;pH;7,21;0,1;;28.02.2026 18:30;"A;17"
AX-1;Leitf;1.021,5;20;µS/cm;29.03.2026 03:30;A18
AX-2;pH;n/a;;;28.02.2026 18:30;A19
"""
COLUMNS = (
    "subject=Probe,quantity=Parameter,value=Messwert,U=U (k=2),unit=Einheit,"
    "time=Probenahme,key=Auftrag"
)


def test_a_laboratorys_export_with_semicolons_decimal_commas_and_local_times(told):
    layout = ("--time-zone", "Europe/Berlin", "--time-format", "%d.%m.%Y %H:%M")
    found = told("\ufeff" + LIMS, "--columns", COLUMNS, "--decimal-comma", *layout)
    assert [topic for topic, _ in found] == [
        "monitor/AX-1/pH/reference",
        "monitor/AX-1/Leitf/reference",
    ]
    first, second = (message for _, message in found)
    assert first == {"time": "2026-02-28T17:30:00Z", "value": 7.21, "u": 0.05, "key": "A;17"}
    assert (second["value"], second["u"], second["unit"]) == (1021.5, 10.0, "µS/cm")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_header_tells_the_separator(told, separator):
    rows = [["time", "subject", "quantity", "value"], ["2026-03-01T05:00Z", "s", "x", '"1,5"']]
    found = told("\r\n".join(separator.join(row) for row in rows))
    assert [message["value"] for _, message in found] == [1.5]


def test_json_as_a_station_answers(told):
    answer = {
        "station": {"id": "S3"},
        "data": {"values": [{"at": 1772341200, "v": {"pm25": 13.0, "u": 1.3}}, {"at": 1, "v": {}}]},
    }
    options = ("--records", "data.values", "--columns", "time=at,value=v.pm25,u=v.u")
    named = ("--subject", "S3", "--quantity", "pm25", "--unit", "ug/m3")
    expected = [
        (
            "monitor/S3/pm25/reference",
            {"time": "2026-03-01T05:00:00Z", "value": 13.0, "u": 1.3, "unit": "ug/m3"},
        )
    ]
    answer["data"]["values"].pop()
    assert told(json.dumps(answer), *options, *named) == expected
    packed = gzip.compress(json.dumps(answer).encode())
    assert told(packed, *options, *named) == expected
    assert told(json.dumps(answer), *options, *named, "--decimal-comma") == expected
    lines = "\n".join(json.dumps(each) for each in answer["data"]["values"])
    assert told(lines, *options[2:], *named) == expected
    assert told(json.dumps(answer["data"]["values"]), *options[2:], *named) == expected


def test_a_record_of_json_without_the_value_is_left_out_and_counted(tmp_path, capsys):
    settings, table = tmp_path / "settings.yaml", tmp_path / "hours.json"
    settings.write_text(SETTINGS)
    hours = [{"at": 1772341200, "pm25": {"v": 13.0}}, {"at": 1772344800, "pm25": None}]
    table.write_text(json.dumps(hours))
    named = ("--subject", "S3", "--quantity", "pm25", "--columns", "time=at,value=pm25.v")
    assert main(["reference", "--config", str(settings), str(table), *named, "--dry-run"]) == 0
    assert "1 reference to be published; 1 row without a value left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "options", "says"),
    [
        ("a,b\n1,2\n", (), "table:1:subject: there is no such column for subject; there are a, b"),
        (
            "t,value\n1,2\n",
            ("--columns", "time=T2"),
            "t2: there is no such column (is it t?)",
        ),
        ("t,value\n1,2\n", (), "there are t, value. Name it with --columns time=COLUMN"),
        (
            "time,value\n2026-03-01T05:00Z,<0.5\n",
            (),
            "table:2:value: '<0.5' is a limit, not",
        ),
        ("time,value\n2026-03-01T05:00,1\n", (), "table:2:time: '2026-03-01T05:00' has no zone"),
        ("time,value\n01.03.2026,1\n", (), "table:2:time"),
        ("time,value,u\n2026-03-01T05:00Z,1,-2\n", (), "table:2:u"),
        ("time,value,k,U\n2026-03-01T05:00Z,1,0,1\n", (), "table:2:k: is not above 0"),
        ("time,value,rev\n2026-03-01T05:00Z,1,x\n", (), "table:2:rev"),
        ("time,value\n2126-03-01T05:00Z,1\n", (), "ahead of this machine's clock"),
        (
            "time,value\n2026-03-01T05:00Z,1,5\n",
            (),
            "has 3 cells, the header has 2; make",
        ),
        ("time,value,value\n", (), "table:1:value: this column appears twice"),
        ('{"time": 1, "value": 2}\n{"time":', (), "table:2: is not JSON"),
        (
            '[\n  {"time": 1,\n   "value": 2,}\n]',
            (),
            "table: is not JSON: a comma before a closing bracket; remove it (line 3 column 14,",
        ),
        ("[]", ("--records", "a.b"), "there is nothing at --records a.b"),
        (
            '[{"time": 1, "v": 2}]',
            (),
            "table:1:value: there is no such column for value",
        ),
        ('[{"value": 1}]', ("--columns", "time=at"), "table:1:at: there is nothing at this path"),
        (b"time,value\n\xff", (), "is not UTF-8 text: invalid start byte; name its encoding"),
    ],
)
def test_a_table_with_a_mistake_is_refused_whole_with_its_place(
    tmp_path, capsys, monkeypatch, table, options, says
):
    monkeypatch.chdir(tmp_path)
    Path("settings.yaml").write_text(SETTINGS)
    Path("table").write_bytes(table if isinstance(table, bytes) else table.encode())
    named = ("--subject", "s", "--quantity", "x") if "for subject" not in says else ()
    words = ["reference", "--config", "settings.yaml", "table", *named, *options]
    assert main(words) == BAD_INPUT
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a", "b"], "write SUBJECT QUANTITY VALUE"),
        (["table", "--columns", "Value=x"], "write FIELD=COLUMN, where FIELD is one of subject"),
        (["table", "--columns", "value"], "write FIELD=COLUMN"),
        (["json", "--columns", "value=pH [-]"], "--columns value: 'pH [-]' is not a path; write"),
        (["json", "--records", "a..b"], "--records: 'a..b' is not a path"),
        (["table", "--time-zone", "Mars"], "--time-zone: 'Mars' is not a time zone"),
        (["table", "--time-format", "dd.mm.yyyy"], "--time-format: not a layout of strptime"),
    ],
)
def test_words_that_cannot_be_meant_are_refused(tmp_path, capsys, words, says):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)
    tables = {"table": "time,value\n", "json": "[{}]"}
    for name, content in tables.items():
        (tmp_path / name).write_text(content)
    words = [str(tmp_path / each) if each in tables else each for each in words]
    assert main(["reference", "--config", str(settings), *words]) == USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "comma", "number"),
    [
        ("21.5", False, 21.5),
        ("21,5", False, 21.5),
        ("1 021,5", False, 1021.5),
        ("1'021.5", False, 1021.5),
        ("-3e-2", False, -0.03),
        ("1.021,5", True, 1021.5),
        ("1.021", True, 1021.0),
        ("-1.021.000,5", True, -1021000.5),
    ],
)
def test_a_number_is_read_as_it_is_written(text, comma, number):
    assert typed_number(text, decimal_comma=comma) == number


@pytest.mark.parametrize("text", ["21.5", "1,021.5", "1.0215", "1_0", "x", "inf"])
def test_a_point_before_other_than_three_digits_separates_no_thousands(text):
    with pytest.raises(ValueError, match=r"is not a number; write 1\.021,5"):
        typed_number(text, decimal_comma=True)


def test_a_table_reaches_a_daemon_once_however_often_it_is_published(tmp_path, mosquitto, capsys):
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.start()
    table = tmp_path / "lab.csv"
    rows = ["time;subject;quantity;value;u"]
    try:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for minute in range(5):
                at = f"2026-01-01T00:{minute:02}:00Z"
                reading = {"time": at, "value": 5.0, "u": 0.5}
                out.publish("monitor/s/x/reading", json.dumps(reading).encode())
                rows.append(f"{at};s;x;4,{minute};0,1")
        table.write_text("\n".join(rows))
        pairs = 'monitor_window_pairs{sensor="s",quantity="x"}'
        for _ in range(2):
            assert main(["reference", "--config", str(daemon.settings), str(table)]) == 0
            assert "5 references published, all acknowledged" in capsys.readouterr().err
        until("they are in", lambda: daemon.value(pairs) == 5)
        until("once", lambda: daemon.value("monitor_messages_duplicate_total") == 5)
        found = daemon.json("/api/v1/series/s/x/pairs")["pairs"]
        assert [each["reference"] for each in found] == [4.4, 4.3, 4.2, 4.1, 4.0]
    finally:
        daemon.kill()


def test_rows_that_replace_each_other_are_told_before_anything_is_published(tmp_path, capsys):
    settings, table = tmp_path / "settings.yaml", tmp_path / "table.csv"
    settings.write_text(SETTINGS)
    days = [f"2026-03-0{1 + at // 15},s,co2,{at % 15},{{}}\n" for at in range(30)]
    words = ["reference", "--config", str(settings), str(table), "--dry-run"]
    words += ["--columns", "time=Date", "--time-format", "%Y-%m-%d", "--time-zone", "UTC"]
    for key, is_warned in (("", True), ("{}", False)):
        rows = [row.format(key.format(at)) for at, row in enumerate(days)]
        table.write_text("Date,subject,quantity,value,key\n" + "".join(rows))
        assert main(words) == 0
        warning = "warning: 28 of 30 rows repeat the subject, quantity, time and key"
        assert (warning in capsys.readouterr().err) is is_warned


# -- tables of stations and laboratories ----------------------------------------------------------

STATION = """\
Agency;Site;Param;Method;Duration;Date (UTC);Time (UTC);Value;Unit;QC Code
AG;Creek;NO2;599;1 Hr;3/1/2026;5:00;3;PPB;0
AG;Creek;NO2;599;1 Hr;3/1/2026;6:00;5,5;PPB;0
AG;Creek;NO2;599;1 Hr;3/1/2026;7:00;7;PPB;9
AG;Creek;TEMP;61;1 Hr;3/1/2026;5:00;11,2;C;0
"""
NAMED = "subject=Site,quantity=Param,value={},time=Date (UTC)+Time (UTC)"
IN_HOURS = ("--duration", "1h", "--stamp", "start")
AMERICAN = ("--time-format", "%m/%d/%Y %H:%M")
FIVE, SIX, SEVEN = (f"2026-03-01T0{hour}:00:00Z" for hour in (5, 6, 7))


@pytest.mark.parametrize("value", ["Value", "8", '"Value"'])
def test_a_regulators_table_is_published_as_means_by_its_quality_code(told, value):
    options = ("--columns", NAMED.format(value), "--where", "QC Code=0", *IN_HOURS, *AMERICAN)
    found = told(STATION, *options)

    assert [(topic.split("/")[2], each["value"], each["unit"]) for topic, each in found] == [
        ("NO2", 3.0, "PPB"),
        ("NO2", 5.5, "PPB"),
        ("TEMP", 11.2, "C"),
    ]
    spans = [(each["time"], each["start"], each["end"]) for _, each in found]
    assert spans == [(FIVE, FIVE, SIX), (SIX, SIX, SEVEN), (FIVE, FIVE, SIX)]
    ends = told(STATION, *options[:-3], "end", *AMERICAN)
    assert [each["end"] for _, each in ends] == [FIVE, SIX, FIVE]


def test_encodings_quotes_numbers_of_columns_and_lines_above_the_header(told):
    head = 'Station München\n\n"Zeit";"PM2,5 [µg/m³]";"PM2,5 [µg/m³]"\n'
    text = f'{head}01.03.2026 05:00;"1.021,5";7\n'
    usual = ("--subject", "s", "--quantity", "pm25", "--decimal-comma", "--time-zone", "UTC")
    usual += ("--time-format", "%d.%m.%Y %H:%M", "--skip-lines", "2")
    first = ("--columns", "time=Zeit,value=2")
    for raw, options in (
        (text.encode("cp1252"), (*first, "--encoding", "cp1252")),
        (text.encode("utf-16"), first),
        (gzip.compress(text.encode("utf-16-be")), (*first, "--encoding", "utf-16-be")),
        (text.encode("utf-8-sig"), ("--columns", "time=1,value=2")),
        (
            text.replace(';"PM2,5 [µg/m³]"\n', ";x\n").encode(),
            ("--columns", 'time=Zeit,value="PM2,5 [µg/m³]"'),
        ),
    ):
        assert told(raw, *usual, *options) == [
            ("monitor/s/pm25/reference", {"time": FIVE, "value": 1021.5, "unit": "µg/m³"})
        ]


def test_the_layout_of_times_is_found_where_one_alone_reads_them_all(told, tmp_path, capsys):
    rows = "time;subject;quantity;value\n{};s;x;1\n{};s;x;2\n"
    found = ("--time-format", "auto", "--time-zone", "UTC")
    for times, wanted in (
        (("03/01/2026 05:00", "03/13/2026 05:00"), ("2026-03-01T05", "2026-03-13T05")),
        (("1.3.26 5:00 AM", "13.3.26 5:00 PM"), ("2026-03-01T05", "2026-03-13T17")),
        (("2026-03-01 05:00", "2026-03-02T05:00Z"), ("2026-03-01T05", "2026-03-02T05")),
        (("46082.5", "46083.5"), ("2026-03-01T12", "2026-03-02T12")),
    ):
        assert [each["time"][:13] for _, each in told(rows.format(*times), *found)] == [*wanted]
    table, settings = tmp_path / "table", tmp_path / "settings.yaml"
    for times, says in (
        (
            ("03/01/2026", "03/02/2026"),
            ("1 March 2026 or 3 January", "'%m/%d/%Y' or '%d/%m/%Y'"),
        ),
        (("03/13/2026", "13/03/2026"), ("table:3:time: no known layout reads '13/03/2026' and",)),
    ):
        table.write_text(rows.format(*times))
        words = ["reference", "--config", str(settings), str(table), "--dry-run", *found]
        assert main(words) == BAD_INPUT
        said = capsys.readouterr().err
        assert all(each in said for each in says), said


def test_a_column_for_each_quantity_a_loggers_file_and_a_row_of_units(told):
    logger = (
        '"TOA5","CR1000"\n"TIMESTAMP","RECORD","NO2","O3"\n"TS","RN","ppb","ppb"\n"","","Avg","Avg"\n'
        '"2026-03-01 05:00:00",0,3.5,"NAN"\n"2026-03-01 06:00:00",1,4.5,30\n'
    )
    wide = ("--subject", "creek", "--wide", "NO2,O3", "--time-zone", "UTC", "--unit", "ppb")
    assert [(topic, each["time"], each["value"]) for topic, each in told(logger, *wide)] == [
        ("monitor/creek/NO2/reference", FIVE, 3.5),
        ("monitor/creek/NO2/reference", SIX, 4.5),
        ("monitor/creek/O3/reference", SIX, 30.0),
    ]
    units = f"time;NO2\n[-];ppb\n{FIVE};3\n"
    named = ("--subject", "s", "--quantity", "no2", "--columns", "value=NO2")
    assert told(units, *named)[0][1] == {"time": FIVE, "value": 3.0, "unit": "ppb"}


def test_words_for_the_status_and_means_that_have_not_ended(told, tmp_path, capsys):
    rows = "time,subject,quantity,value,QC,rev\n" + "".join(
        f"{time},s,x,{value},{word},{rev}\n"
        for time, value, word, rev in (
            *((FIVE, 1, "P", ""), (FIVE, 2, "r", ""), (SIX, "", "V", 1), (SEVEN, "<3", "P", "")),
        )
    )
    words = ("--columns", "status=QC", "--status-words", "P=prelim,R=final,V=void")
    assert [each for _, each in told(rows, *words)] == [
        {"time": FIVE, "value": 1.0},
        {"time": FIVE, "value": 2.0, "status": "final"},
        {"time": SIX, "rev": 1, "status": "void"},
    ]
    table, settings = tmp_path / "table", str(tmp_path / "settings.yaml")
    publish = ["reference", "--config", settings, str(table), "--dry-run"]
    assert main([*publish, "--columns", "status=QC"]) == BAD_INPUT
    assert "table:2:QC: 'P' is none of prelim, final, void" in capsys.readouterr().err
    table.write_text(rows.replace("QC", "status"))
    assert main(publish) == 0
    out, err = capsys.readouterr()
    assert "its column status is not used: 'p' is none of" in err
    assert "1 row with a limit in place of a value left out" in err
    assert "status" not in out
    assert main([*publish, "--where", "Status=P|r"]) == 0  # of which --where makes use
    assert "not used" not in capsys.readouterr().err
    now = datetime.now(UTC).replace(microsecond=0)
    table.write_text(
        "time,subject,quantity,value\n"
        f"{now - timedelta(hours=2):%Y-%m-%dT%H:%M:%SZ},s,x,1\n{now:%Y-%m-%dT%H:%M:%SZ},s,x,2\n"
    )
    assert main([*publish, *IN_HOURS]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert "1 row whose mean has not ended left out" in err
    assert "the settings pair by the mode nearest, so the values meet single readings" in err


def test_a_mean_by_hand_meets_the_mean_of_the_readings_of_its_hour(tmp_path, mosquitto, capsys):
    pairing = "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}\n"
    daemon = Daemon(tmp_path, mosquitto.port, pairing)
    daemon.start()
    where = f"http: {{port: {daemon.url.rpartition(':')[2].strip('/')}}}"
    settings = daemon.settings.with_name("told.yaml")
    settings.write_text(daemon.settings.read_text().replace("http: {port: 0}", where))
    table = tmp_path / "hours.csv"
    values = [3.0, 4.0, 8.0, 1.0, 2.0, 6.0]
    try:
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for at, value in enumerate(values):
                reading = {"time": f"2026-03-01T05:{at}5:00Z", "value": value, "u": 0.5}
                out.publish("monitor/s/x/reading", json.dumps(reading).encode())
        until("the readings are in", lambda: daemon.value("monitor_messages_committed_total") == 6)
        table.write_text(
            "time,subject,quantity,value\n2026-03-01T05:00Z,s,x,3\n2026-03-01T05:00Z,z,x,3\n"
        )
        words = ["reference", "--config", str(settings), *IN_HOURS]
        assert main([*words, str(table)]) == 0
        err = capsys.readouterr().err
        assert "knows no sensor 'z'" in err
        assert "warning: the settings pair" not in err
        table.write_text("time,subject,quantity,value\n2026-03-01T05:00Z,s,PM,3\n")
        assert main([*words, str(table)]) == 0
        assert "knows no 'PM' of 's' (it has x)" in capsys.readouterr().err
        pairs = 'monitor_window_pairs{sensor="s",quantity="x"}'
        until("it is in", lambda: daemon.value(pairs) == 1)
        (pair,) = daemon.json("/api/v1/series/s/x/pairs")["pairs"]
        assert pair["value"] == pytest.approx(sum(values) / 6)
    finally:
        daemon.kill()


def test_a_table_on_standard_input_is_named_so(tmp_path, capsys, monkeypatch):
    settings = tmp_path / "settings.yaml"
    settings.write_text(SETTINGS)
    words = ["reference", "--config", str(settings), "-", "--dry-run"]
    for text, code, says in (
        ("time,subject,quantity,value\nx,s,q,1\n", BAD_INPUT, "monitor: -:2:time: 'x' is not"),
        (
            "TOA5,x\ntime,subject,quantity,value\n-,,,\n-,,,\n2026-03-01T05:00Z,s,q,1\n",
            0,
            "-: is a table of",
        ),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(words) == code
        assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--duration", "1h"], "--duration and --stamp belong together"),
        (["--duration", "an hour", "--stamp", "end"], "write a length such as 15min, 1h or 1d"),
        (["--status-words", "P=good"], "STATUS is one of prelim, final, void"),
        (["--status", "good"], "--status good: write prelim, final, void"),
        (["--encoding", "latin-77"], "is no encoding such as cp1252"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(tmp_path, capsys, options, says):
    settings, table = tmp_path / "settings.yaml", tmp_path / "table"
    settings.write_text(SETTINGS)
    table.write_text("time,subject,quantity,value\n")
    assert main(["reference", "--config", str(settings), str(table), *options]) == USAGE
    assert says in capsys.readouterr().err
