"""Messages as ten families of devices send them, after the documentation of each project.

All devices of the mixed broker measure one room at 21 degC and 45 %; two references stand in it.
Times are handed in, s since 1970 UTC.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple


class Sent(NamedTuple):
    """A message, and whether the broker keeps it."""

    topic: str
    payload: bytes
    retain: bool = False


def at(time: float, zone: str = "Z") -> str:
    """Return a time as RFC 3339 has it, or without a zone."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S") + zone


def sent(topic: str, content: Any, *, retain: bool = False) -> Sent:
    """Return a message; a text or bytes are sent as they are, all else as JSON."""
    if isinstance(content, bytes):
        return Sent(topic, content, retain)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Sent(topic, text.encode(), retain)


def zigbee2mqtt(time: float) -> list[Sent]:
    """Friendly names with blanks and umlauts; one device without humidity; a bridge."""
    body = {"battery": 97, "linkquality": 120, "voltage": 2995}
    device = {"identifiers": ["zigbee2mqtt_0x00158d"], "name": "Küche Süd", "model": "WSDCGQ11LM"}
    return [
        sent("zigbee2mqtt/bridge/state", {"state": "online"}, retain=True),
        sent("zigbee2mqtt/bridge/info", {"version": "1.40.0", "permit_join": False}, retain=True),
        sent(
            "zigbee2mqtt/Küche Süd",
            {**body, "temperature": 21.2, "humidity": 44.1, "pressure": 1001},
        ),
        sent("zigbee2mqtt/Bad (oben)", {**body, "temperature": 20.7, "humidity": 46.0}),
        sent("zigbee2mqtt/Tür", {"battery": 91, "contact": True, "linkquality": 80}),
        sent("zigbee2mqtt/Küche Süd/availability", {"state": "online"}, retain=True),
        sent(
            "homeassistant/sensor/0x00158d/temperature/config",
            {
                "device": device,
                "device_class": "temperature",
                "enabled_by_default": True,
                "state_class": "measurement",
                "state_topic": "zigbee2mqtt/Küche Süd",
                "unique_id": "0x00158d_temperature_zigbee2mqtt",
                "unit_of_measurement": "°C",
                "value_template": "{{ value_json.temperature }}",
            },
            retain=True,
        ),
    ]


def tasmota(time: float) -> list[Sent]:
    """The telemetry of a board with a BME280: local time without a zone."""
    body = {
        "Time": at(time, ""),
        "BME280": {"Temperature": 21.4, "Humidity": 44.0, "DewPoint": 8.7, "Pressure": 1001.3},
        "PressureUnit": "hPa",
        "TempUnit": "C",
    }
    state = {"Time": at(time, ""), "Uptime": "0T01:10:13", "UptimeSec": 4213, "Heap": 27}
    return [
        sent("tele/tasmota_4F2A/LWT", "Online", retain=True),
        sent("tele/tasmota_4F2A/SENSOR", body),
        sent("tele/tasmota_4F2A/STATE", state),
    ]


def esphome(time: float) -> list[Sent]:
    """A topic a value, each a text; a sensor of its own health."""
    return [
        sent("livingroom/status", "online", retain=True),
        sent("livingroom/sensor/living_room_temperature/state", "21.1", retain=True),
        sent("livingroom/sensor/living_room_humidity/state", "45.2", retain=True),
        sent("livingroom/sensor/wifi_signal/state", "-61", retain=True),
        sent("livingroom/sensor/uptime/state", "81234", retain=True),
    ]


def shelly_first(time: float) -> list[Sent]:
    """A Shelly H&T of the first generation."""
    prefix = "shellies/shellyht-6A1B2C/sensor"
    return [
        sent("shellies/announce", {"id": "shellyht-6A1B2C", "model": "SHHT-1", "fw_ver": "1.14"}),
        sent(f"{prefix}/temperature", "20.88"),
        sent(f"{prefix}/humidity", "46.5"),
        sent(f"{prefix}/battery", "88"),
    ]


def shelly_rpc(time: float) -> list[Sent]:
    """A Shelly Plus H&T: notifications and the status of its components."""
    name = "shellyplusht-b8d61a8b17cc"
    body = {
        "src": name,
        "dst": f"{name}/events",
        "method": "NotifyFullStatus",
        "params": {
            "ts": round(time, 2),
            "devicepower:0": {"id": 0, "battery": {"V": 5.1, "percent": 88}},
            "humidity:0": {"id": 0, "rh": 45.9},
            "temperature:0": {"id": 0, "tC": 20.9, "tF": 69.6},
            "wifi": {"sta_ip": "192.168.3.183", "status": "got ip", "rssi": -60},
        },
    }
    return [
        sent(f"{name}/online", "true", retain=True),
        sent(f"{name}/events/rpc", body),
        sent(f"{name}/status/temperature:0", {"id": 0, "tC": 20.9, "tF": 69.6}),
        sent(f"{name}/status/humidity:0", {"id": 0, "rh": 45.9}),
    ]


def things_stack(time: float) -> list[Sent]:
    """An uplink of The Things Stack, version 3."""
    body = {
        "end_device_ids": {
            "device_id": "attic-1",
            "application_ids": {"application_id": "house"},
            "dev_eui": "0004A30B001C0530",
            "dev_addr": "00BCB929",
        },
        "correlation_ids": ["as:up:01E0WZGT6Y7657CPFPE5WEYDSQ"],
        "received_at": at(time).replace("Z", ".785787890Z"),
        "uplink_message": {
            "session_key_id": "AXBSH1Pk6Z0G166",
            "f_port": 1,
            "f_cnt": 117,
            "frm_payload": "AQ==",
            "decoded_payload": {"temperature": 21.3, "humidity": 45.0, "battery": 3.4},
            "rx_metadata": [{"gateway_ids": {"gateway_id": "gtw1"}, "rssi": -35, "snr": 5}],
            "settings": {"data_rate": {"lora": {"bandwidth": 125000}}, "frequency": "868300000"},
            "received_at": at(time).replace("Z", ".582012789Z"),
            "consumed_airtime": "0.056576s",
        },
    }
    return [sent("v3/house@ttn/devices/attic-1/up", body)]


def chirpstack(time: float) -> list[Sent]:
    """An uplink event of ChirpStack, version 4."""
    application = "4b0d9f4a-6b0f-4f1f-9d19-0e0e6a2f7a10"
    body = {
        "deduplicationId": "3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
        "time": at(time).replace("Z", ".775023242+00:00"),
        "deviceInfo": {
            "tenantId": "52f14cd4-c6f1-4fbd-8f87-4025e1d49242",
            "tenantName": "ChirpStack",
            "applicationId": application,
            "applicationName": "house",
            "deviceName": "cellar",
            "devEui": "0101010101010101",
        },
        "devAddr": "00189440",
        "dr": 1,
        "fPort": 1,
        "fCnt": 3,
        "data": "qg==",
        "object": {"temperature": 20.6, "humidity": 46.8},
        "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57, "snr": 10}],
    }
    return [sent(f"application/{application}/device/0101010101010101/event/up", body)]


def airgradient(time: float) -> list[Sent]:
    """An AirGradient ONE: no time in its payload."""
    body = {
        "wifi": -46, "serialno": "ecda3b1eaaaf", "rco2": 447, "pm01": 3, "pm02": 7, "pm10": 8,
        "pm003Count": 442, "atmp": 21.6, "atmpCompensated": 21.0, "rhum": 43, "rhumCompensated": 45,
        "tvocIndex": 100, "tvocRaw": 33051, "noxIndex": 1, "noxRaw": 16307, "boot": 6,
        "bootCount": 6, "ledMode": "pm", "firmware": "3.1.3", "model": "I-9PSL",
    }  # fmt: skip
    return [sent("airgradient/readings/ecda3b1eaaaf", body)]


def sensorthings(time: float) -> list[Sent]:
    """Observations of a FROST server, and the Datastream that says what they are."""
    stream = {
        "@iot.id": 1,
        "name": "Temperature in the laboratory's window",
        "observationType": "http://www.opengis.net/def/observationType/OGC-OM/2.0/OM_Measurement",
        "unitOfMeasurement": {"name": "degree Celsius", "symbol": "°C", "definition": "ucum:Cel"},
    }
    body = {
        "@iot.id": 4711,
        "phenomenonTime": at(time),
        "resultTime": None,
        "result": 21.2,
        "Datastream@iot.navigationLink": "http://frost/v1.1/Observations(4711)/Datastream",
    }
    return [
        sent("v1.1/Datastreams(1)", stream, retain=True),
        sent("v1.1/Datastreams(1)/Observations", body),
    ]


def statestream(time: float) -> list[Sent]:
    """Home Assistant's statestream: a topic each attribute."""
    base = "statestream/sensor/bedroom_temperature"
    return [
        sent(f"{base}/state", "20.8", retain=True),
        sent(f"{base}/unit_of_measurement", '"°C"', retain=True),
        sent(f"{base}/device_class", '"temperature"', retain=True),
        sent(f"{base}/friendly_name", '"Bedroom Temperature"', retain=True),
        sent(f"{base}/last_updated", f'"{at(time, "+00:00")}"', retain=True),
    ]


def dragino(time: float) -> list[Sent]:
    """An uplink of a Dragino LHT65 by The Things Stack: names of chips and units in its fields."""
    uplink = things_stack(time)[0]
    body = json.loads(uplink.payload)
    body["end_device_ids"]["device_id"] = "shed-1"
    body["uplink_message"]["decoded_payload"] = {
        "BatV": 3.043, "Bat_status": 3, "Ext_sensor": "No external sensor", "Hum_SHT": 44.9,
        "TempC_SHT": 21.1,
    }  # fmt: skip
    return [sent("v3/house@ttn/devices/shed-1/up", body)]


def rtl_433(time: float) -> list[Sent]:
    """Two weather stations that a receiver with rtl_433 hears: as events, and a topic a value."""
    found = []
    for number, channel in ((11524, "A"), (4711, "B")):
        body = {
            "time": at(time, ""), "model": "Acurite-Tower", "id": number, "channel": channel,
            "battery_ok": 1, "temperature_C": 21.2, "humidity": 45, "mic": "CHECKSUM",
        }  # fmt: skip
        found.append(sent("rtl_433/pi/events", body))
        base = f"rtl_433/pi/devices/Acurite-Tower/{channel}/{number}"
        found += [sent(f"{base}/{name}", str(body[name])) for name in ("temperature_C", "humidity")]
        found.append(sent(f"{base}/battery_ok", "1"))
    return found


def theengs(time: float) -> list[Sent]:
    """Thermometers by Bluetooth, decoded by OpenMQTTGateway: degrees of both scales."""
    return [
        sent(
            f"home/OpenMQTTGateway/BTtoMQTT/{mac}",
            {
                "id": ":".join(mac[at : at + 2] for at in range(0, 12, 2)), "rssi": -70,
                "brand": "Xiaomi", "model": "TH Sensor", "tempc": 21.3, "tempf": 70.34,
                "hum": 45.2, "batt": 79, "volt": 2.9,
            },
        )
        for mac in ("A4C138AABBCC", "A4C138AABBDD")
    ]  # fmt: skip


def shelly_switch(time: float) -> list[Sent]:
    """The status of a Shelly Plus 1PM without notifications: how warm the relay is itself."""
    body = {
        "id": 0, "source": "WS_in", "output": True, "apower": 8.9, "voltage": 237.5,
        "current": 0.048, "aenergy": {"total": 6.532, "minute_ts": int(time)},
        "temperature": {"tC": 54.3, "tF": 129.7},
    }  # fmt: skip
    return [sent("shellyplus1pm-a8032abe54dc/status/switch:0", body)]


def wiren_board(_time: float) -> list[Sent]:
    """The convention of Wiren Board: a first level that is empty, a number alone, no time."""
    return [
        sent(f"/devices/{name}/controls/{quantity}", value)
        for name in ("wb-msw-v3_21", "wb-msw-v3_22")
        for quantity, value in (("Temperature", "21.31"), ("Humidity", "45.22"))
    ]


def ruuvi(time: float) -> list[Sent]:
    """A Ruuvi tag by its gateway: pressure in Pa."""
    return [
        sent(
            f"ruuvi/C8:25:2D:8E:9C:2C/{mac}",
            {
                "gw_mac": "C8:25:2D:8E:9C:2C", "rssi": -50, "gwts": int(time), "ts": int(time),
                "dataFormat": 5, "temperature": 21.25, "humidity": 45.4, "pressure": 100130,
                "accelX": 0.01, "movementCounter": 12, "voltage": 2.9, "txPower": 4,
                "measurementSequenceNumber": 100, "id": mac,
            },
        )
        for mac in ("F4:1F:0C:28:CB:D6", "F4:1F:0C:28:CB:D7")
    ]  # fmt: skip


def sensor_community(time: float) -> list[Sent]:
    """An airrohr of sensor.community: a list of names and texts of numbers."""
    values = {"SDS_P1": "12.4", "SDS_P2": "7.1", "BME280_temperature": "21.2", "samples": "50"}
    listed = [{"value_type": name, "value": value} for name, value in values.items()]
    return [sent("sensors/airrohr-123/state", {"esp8266id": "123", "sensordatavalues": listed})]


def native(time: float) -> list[Sent]:
    """The project's own payload, which states its uncertainty."""
    body = {"time": at(time), "value": 21.05, "u": 0.2, "unit": "degC"}
    return [sent("monitor/probe-1/temperature/reading", body)]


def references(time: float) -> list[Sent]:
    """A calibrated thermometer and a hygrometer, which name the place they stand in."""
    return [
        sent(
            "reference/hall/temperature", {"time": at(time), "value": 21.0, "u": 0.05, "unit": "°C"}
        ),
        sent("lab/hygrometer", {"sampled_at": at(time), "humidity": 45.0, "u": 0.5}, retain=True),
    ]


FAMILIES = {
    "zigbee2mqtt": zigbee2mqtt,
    "tasmota": tasmota,
    "esphome": esphome,
    "shelly-1": shelly_first,
    "shelly-rpc": shelly_rpc,
    "things-stack": things_stack,
    "chirpstack": chirpstack,
    "airgradient": airgradient,
    "sensorthings": sensorthings,
    "statestream": statestream,
    "native": native,
}


def displays(time: float) -> list[Sent]:
    """Lines as displays show them: thermometers in two units, scales with flags and without."""
    return [
        sent("panel/p1", "   21.3 °C"),
        sent("panel/p2", "70.1F"),
        sent("scales/s1", "ST,NT,+   1.234kg\r\n"),
        sent("scales/s2", f"{'US' if time % 60 else 'ST'},GS,+  12.34 g\r\n"),
        sent("weigher/net", "S S     12.34 kg\r\n"),
    ]


def texts(time: float) -> list[Sent]:
    """Numbers as texts, with their units and decimal commas; the time is a text of seconds."""
    return [
        sent(
            f"rooms/{name}/climate",
            {"taken": f"{time:.0f}", "temperature": "21,3 °C", "humidity": f"{humidity} %"},
        )
        for name, humidity in (("r1", 44), ("r2", 46))
    ]


def embedded(time: float) -> list[Sent]:
    """JSON in a text of JSON, as some bridges pass it on."""
    body = json.dumps({"ts": time, "temperature": 21.3, "humidity": 44.5})
    return [
        *(sent(f"mesh/{name}/up", {"rssi": -70, "payload": body}) for name in ("m1", "m2")),
        *(sent(f"relay/{name}/up", json.dumps(body)) for name in ("m3", "m4")),
    ]


def units_in_names(time: float) -> list[Sent]:
    """Devices of two makers, whose fields name their units."""
    return [
        sent("nodes/f1/climate", {"ts": time, "temp_f": 70.2, "barometer_inhg": 29.9}),
        sent("nodes/f2/climate", {"ts": time, "temp_f": 69.9, "barometer_inhg": 29.9}),
        sent("nodes/c1/climate", {"ts": time, "temp_c": 21.2}),
    ]


def senml_bridge(time: float) -> list[Sent]:
    """Packs of several devices on one topic, and names with the device in them."""
    packs = [
        [
            {"bn": f"urn:dev:mac:{name}:", "bt": time, "n": "temperature", "u": "Cel", "v": 21.2},
            {"n": "humidity", "u": "%RH", "v": 44.0},
        ]
        for name in ("b1", "b2")
    ]
    named = [
        (f"house/{name}/senml", [{"n": f"{name}/temp", "bt": time, "u": "K", "v": 294.2}])
        for name in ("n1", "n2")
    ]
    return [*(sent("gateway/senml", each) for each in packs), *(sent(*each) for each in named)]


MORE_FAMILIES = {
    "dragino": dragino,
    "rtl_433": rtl_433,
    "rtl_433-events": lambda time: [each for each in rtl_433(time) if "events" in each.topic],
    "theengs": theengs,
    "shelly-switch": shelly_switch,
    "ruuvi": ruuvi,
    "wiren-board": wiren_board,
    "displays": displays,
    "texts": texts,
    "embedded": embedded,
    "units-in-names": units_in_names,
    "senml-bridge": senml_bridge,
}
