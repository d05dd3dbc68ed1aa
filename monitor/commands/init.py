"""``monitor init``: a commented settings file to start from, for a trade or for kinds of devices.

The trade's own part is ``configs/NAME.yaml``, which an installed package includes.
"""

from __future__ import annotations

import argparse
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

from monitor.errors import CannotWriteError

TRADES: Final = {
    "weighing": "walk-over weighing; references are static weighings, paired by ear tag",
    "air": "air quality; references are hourly means of reference stations",
    "process": "analysers in a plant; references are laboratory samples",
}
_DOORS: Final = {
    "weighing": "docs/scales.md",
    "air": "docs/air.md",
    "process": "docs/process.md",
}
DEVICES: Final = {
    "zigbee2mqtt": "Zigbee devices through Zigbee2MQTT",
    "esphome": "nodes with ESPHome",
    "lorawan": "LoRaWAN through The Things Stack or ChirpStack",
    "scales": "scales and balances that send the lines of their display",
    "sensorthings": "OGC SensorThings, as FROST publishes it",
}
STARTERS: Final = {**TRADES, **DEVICES}
_BROKER: Final = """\
# Settings of monitor: {trade}.
# EDIT marks what to change first. Every key is in docs/settings.md.

# EDIT: your broker. Passwords belong in a file of their own.
mqtt:
  host: 127.0.0.1
  port: 1883
#  username: monitor
#  password_file: mqtt-password
#  tls: {{}}

# Accepted messages are kept here; the folder is created.
journal:
  path: state/journal.sqlite

# Page and metrics: http://127.0.0.1:9108
http:
  port: 9108

# EDIT: your topics, and where the fields are in a message. docs/formats.md has all formats.
"""
_NEXT: Final = """\
{out}: settings for {trade}

edit   mqtt.host, and user name and password if your broker asks for them
       sources: your topics and fields; above each is a message that it reads

then   monitor check-config {out}                      reports every mistake
       monitor explain --config {out} TOPIC PAYLOAD    what becomes of one of your messages
       monitor run --config {out}                      page: http://127.0.0.1:9108/
       monitor doctor --config {out}                   why there are no pairs
       monitor reference --config {out} SUBJECT QUANTITY VALUE    a reference by hand
       monitor event --config {out} SENSOR adjusted               a sensor was adjusted

"""
_NEXT_OF_TRADE: Final = """\
to try it without sensors, while it runs: monitor simulate --trade {name} --broker 127.0.0.1:1883
step by step: {door}
"""
_NEXT_OF_DEVICES: Final = """\
if your devices already send, monitor discover proposes settings from what it hears:
docs/discover.md
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "trade",
        choices=tuple(STARTERS),
        metavar="NAME",
        help="what to start from: " + "; ".join(f"{name}: {of}" for name, of in STARTERS.items()),
    )
    parser.add_argument(
        "--out",
        default="monitor.yaml",
        metavar="FILE",
        help="file to write, - for stdout (default: monitor.yaml); an existing file is kept",
    )


def run(options: argparse.Namespace) -> int:
    """Write the settings, and print what to edit and what to run next."""
    text = starter(options.trade)
    if options.out == "-":
        sys.stdout.write(text)
        return 0
    try:
        with Path(options.out).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise CannotWriteError(
            f"{options.out}: already exists and was not changed; give another name with --out"
        ) from error
    except OSError as error:
        raise CannotWriteError(f"{options.out}: cannot be written: {error.strerror}") from error
    name = options.trade
    more = _NEXT_OF_TRADE if name in TRADES else _NEXT_OF_DEVICES
    door = _DOORS.get(name, "")
    print(
        (_NEXT + more).format(out=options.out, name=name, trade=STARTERS[name], door=door), end=""
    )
    return 0


def starter(trade: str) -> str:
    """Return the settings to start from: broker, journal and page, and the trade's own part."""
    _, _, own = _shipped(trade).partition("\nsources:\n")
    head = _BROKER.format(trade=STARTERS[trade])
    return f"{head}sources:\n{own}"


def _shipped(trade: str) -> str:
    """Return ``configs/TRADE.yaml`` of the installed package, or of the checkout."""
    installed = files("monitor") / "starters" / f"{trade}.yaml"
    if installed.is_file():
        return installed.read_text(encoding="utf-8")
    checkout = Path(__file__).parents[2] / "configs" / f"{trade}.yaml"
    return checkout.read_text(encoding="utf-8")
