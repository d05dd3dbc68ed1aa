"""What takes sensors of several blocks: the driver says of it what one daemon says."""

from __future__ import annotations

import random
from itertools import groupby
from operator import attrgetter

import msgspec
import numpy as np
import pytest
from harness.fleet_messages import START, reading, reference

from monitor.alerts.dispatch import Dispatch
from monitor.alerts.ledger import View
from monitor.config import parse
from monitor.config.core_plan import plan_of
from monitor.daemon.assembly import assemble
from monitor.extensions.cluster import results
from monitor.extensions.cluster.block import Block
from monitor.extensions.cluster.fleet_snapshot import series_name
from monitor.extensions.cluster.fleet_verdicts import Fleet
from monitor.extensions.cluster.log_records import LogMessage
from monitor.extensions.cluster.placing import Placing, block_of
from monitor.extensions.cluster.recipes import recipe_of
from monitor.extensions.cluster.sink import NOTE, ClusterSink
from monitor.journal import Journal
from tests.extensions.cluster.test_sink import Recorder

BLOCKS = 6
SENSORS = [f"near-{at}" for at in range(12)]
TEXT = """
series: {max_new_per_minute: 100000}
windows: {pairs: 60}
pairing: {tolerance_seconds: 5, max_wait_hours: 1}
fleet: {horizon: 100}
cluster: {blocks: 6, history_pairs: 64, log: {partitions: 2}}
areas: [{subject: station, sensors: ["near-*"]}]
thresholds:
  - {name: odd, statistic: score_crps_mean, against: fleet_median, above: 2, pairs_min: 20}
"""


def met_by_many(rounds: int, seed: int = 3, until: int = 1000) -> list[LogMessage]:
    """Return readings of one station by twelve sensors: it is off from a third on, one more so.

    The station is right again from round ``until`` on.
    """
    chance, made = random.Random(seed), []
    for at in range(rounds):
        truth = chance.uniform(400.0, 600.0)
        off = 2.5 if rounds // 3 < at < until else 0.0
        came = START + at * 30 + 2
        for sensor in SENSORS:
            own = 9.0 if sensor == "near-7" and at > rounds // 2 else 0.0
            made.append(reading(sensor, at, truth + own + chance.gauss(0.0, 1.0), came))
        named = {"identity": f"station-{at}"}
        made.append(reference("station", at, truth + off, came + 1, **named))
    return made


def told_of_many(rounds: int) -> list[LogMessage]:
    """Return the same, the measurement told of under each sensor's own subject, by its name."""
    made = []
    for message in met_by_many(rounds):
        if "/station/" not in message.topic:
            made.append(message)
            continue
        body = msgspec.json.decode(message.payload) | {"reference_id": "S1"}
        for sensor in SENSORS:
            body["identity"] = f"{sensor}-{body['time']}"
            topic = message.topic.replace("station", sensor)
            made.append(LogMessage(message.received, topic, msgspec.json.encode(body)))
    return made


class Cluster:
    """Blocks as bytes and a driver, in one process."""

    def __init__(self, text: str, folder) -> None:
        self._settings = parse(text.encode(), "t")
        self._recipe, self._placing = recipe_of(self._settings), Placing(self._settings)
        self._states: dict[int, bytes] = {}
        self._folder = folder
        self.heard: list = []
        self.start()

    def start(self) -> None:
        plan = plan_of(self._settings)
        self.journal = Journal(self._folder / "driver.sqlite")
        noted = self.journal.note(NOTE)
        self.outlet = Recorder()
        self.sink = ClusterSink(
            self.journal, Fleet(10, plan.fleet, plan.thresholds, noted), [self.outlet]
        )

    def stop(self) -> None:
        self.heard += [each for each in self.outlet.got if each is not None]
        self.sink.close()
        self.journal.close()

    def apply(self, messages: list[LogMessage], *, twice: bool = False) -> dict:
        waiting: dict[int, list[LogMessage]] = {}
        for message in messages:
            topics, received = [message.topic], float(message.received)
            decoded = self._placing.router.decode_all(topics, [message.payload], received)
            (blocks,) = self._placing.places(topics, decoded)
            for number in blocks or range(BLOCKS):
                waiting.setdefault(number, []).append(message)
        said, heard = [], []
        for number, those in waiting.items():
            block = Block(self._recipe, self._states.get(number), number)
            found = block.apply(those)
            body = results.dump(results.block_report(found, 5, 0))
            heard.append(results.load_changed(results.dump(results.changed(found))))
            self._states[number] = block.dump()
            said.append((number, results.load_report(body)))
        self.lines = [line for each in heard for line in each.lines]
        right = self.sink.publish(said)
        if twice:
            assert self.sink.publish(said) == right
        return {line.sensor: (*right.of(line),) for each in heard for line in each.lines}


class One:
    """One daemon's own parts, and what it tells."""

    def __init__(self, text: str, folder) -> None:
        journal = f"journal: {{path: {folder}/one.sqlite}}\n"
        self.parts = assemble(parse((text + journal).encode(), "t"), 0.0)
        self._outlet = Recorder()
        self._dispatch = Dispatch(self.parts.journal.alerts, [self._outlet])

    def apply(self, messages: list[LogMessage]):
        for came, those in groupby(messages, key=attrgetter("received")):
            self.parts.intake.commit(self.parts.intake.prepare(list(those), float(came)))
        network = self.parts.network
        snapshot = network.evaluate(float(messages[-1].received))
        taken_back = network.drain_taken_back()
        self._dispatch.notify(View(snapshot, network.drain_transitions(), taken_back))
        return snapshot

    def stop(self) -> list:
        self._dispatch.close()
        self.parts.journal.close()
        return [each for each in self._outlet.got if each is not None]


def rows_of(snapshot) -> dict:
    return {
        name.sensor: (
            [alert for alert, active in snapshot.alerts.items() if active[row]],
            snapshot.sentences[row],
            bool(snapshot.paged[row]),
        )
        for row, name in enumerate(snapshot.names)
    }


def story(told) -> set:
    """Return what was told, but for numbers that count how much was told before."""
    return {
        (each.sensor, each.alert, each.before, each.after, each.time, each.sentence)
        for each in told
    }


@pytest.mark.parametrize(
    ("messages", "is_repaired"),
    [(met_by_many(160), False), (told_of_many(160), False), (met_by_many(200, until=130), True)],
    ids=["area", "name", "repaired"],
)
def test_suspects_lists_and_medians_over_blocks_are_those_of_one_daemon(
    messages, is_repaired, tmp_path
):
    assert len({block_of(each, BLOCKS) for each in SENSORS}) >= 4
    text = (
        TEXT
        if "/station/" in messages[12].topic
        else TEXT.replace("subject: station", "subject: other")
    )
    one, cluster = One(text, tmp_path), Cluster(text, tmp_path)
    seen, was_repaired = set(), False
    for at in range(0, len(messages), 390):
        some = messages[at : at + 390]
        snapshot = one.apply(some)
        was_repaired |= bool(snapshot.former_suspects)
        rows = cluster.apply(some, twice=True)
        assert rows == rows_of(snapshot)
        found = cluster.sink.fleet.suspects()
        assert [each.reference for each in found] == [each.reference for each in snapshot.suspects]
        found += cluster.sink.fleet.references.former()
        both = (*snapshot.suspects, *snapshot.former_suspects)
        for mine, theirs in zip(found, both, strict=True):
            assert mine.estimate == pytest.approx(theirs.estimate, rel=1e-12)
            assert (mine.since, mine.until, mine.sensors, mine.agree) == (
                theirs.since,
                theirs.until,
                theirs.sensors,
                theirs.agree,
            )
        for alert, active in snapshot.alerts.items():
            assert cluster.sink.fleet.counted("alerts")[alert] == active.sum(), alert
        seen |= {alert for alerts, _, _ in rows.values() for alert in alerts}
        seen |= {"page" for _, _, page in rows.values() if page}
    cluster.stop()

    assert seen >= {"reference_suspect", "offset", "odd", "page"}
    assert was_repaired is is_repaired
    assert story(cluster.heard) == story(one.stop())
    assert len(cluster.heard) == len(story(cluster.heard))


def test_a_driver_that_starts_anew_tells_nothing_again_and_forgets_no_suspect(tmp_path):
    messages = met_by_many(200)
    one, cluster = One(TEXT, tmp_path), Cluster(TEXT, tmp_path)
    for at in range(0, len(messages), 260):
        some = messages[at : at + 260]
        one.apply(some)
        cluster.apply(some)
        cluster.stop()
        cluster.start()
        suspects = one.parts.network.evaluate(float(some[-1].received)).suspects
        kept = cluster.sink.fleet.references.suspects()
        assert [each.key[1] for each in kept] == [each.reference for each in suspects]
    alone = [each for each in messages[-260:] if "near-3/" in each.topic][-1:]
    cluster.apply(alone)  # one block speaks: nobody else's references are over
    # All blocks speak, of sensors that the station does not concern.
    others = {block_of(name, BLOCKS): name for name in (f"far-{at}" for at in range(100))}
    came = messages[-1].received
    cluster.apply([reading(name, 199, 1.0, came) for name in others.values()])
    left = cluster.sink.fleet.references.suspects()
    cluster.stop()

    assert suspects
    assert [each.key[1] for each in left] == [each.reference for each in suspects]
    assert story(cluster.heard) == story(one.stop())
    assert len(cluster.heard) == len(story(cluster.heard))


def test_a_driver_that_dies_while_it_tells_of_a_suspect_knows_it_when_it_starts_anew(tmp_path):
    messages = met_by_many(100)
    cluster = Cluster(TEXT, tmp_path)

    def die(_, each):
        if each is not None and each.alert == "reference_suspect":
            raise RuntimeError("killed")

    cluster.outlet.offer = die
    with pytest.raises(RuntimeError, match="killed"):
        cluster.apply(messages)
    cluster.stop()
    cluster.start()

    assert [each.key[1] for each in cluster.sink.fleet.references.suspects()] == ["station"]
    cluster.stop()


def test_parts_of_one_unit_are_judged_together_where_blocks_have_learned_several(tmp_path):
    """The sensors of two blocks say grams, all others and the station kilograms."""
    in_grams = {sensor for sensor in SENSORS if block_of(sensor, BLOCKS) < 2}
    assert 0 < len(in_grams) < len(SENSORS) / 2
    messages = []
    for message in met_by_many(100):
        body = msgspec.json.decode(message.payload) | {"unit": "kg"}
        if message.topic.split("/")[1] in in_grams:
            body |= {"unit": "g", "value": 1000.0 * body["value"], "u": 1000.0 * body["u"]}
        messages.append(LogMessage(message.received, message.topic, msgspec.json.encode(body)))
    cluster = Cluster(TEXT, tmp_path)
    cluster.apply(messages[:650])
    cluster.apply(messages[650:])
    (found,) = cluster.sink.fleet.suspects()
    units = {series_name(line).unit for line in cluster.lines}
    cluster.stop()

    assert units == {"g", "kg"}
    assert found.unit == "kg"
    assert found.estimate.value == pytest.approx(2.5, abs=0.5)
    assert {each.sensor for each in cluster.heard if each.alert == "odd"} <= {"near-7"}


def test_what_blocks_know_is_small_and_a_calm_fleet_costs_the_driver_nothing(tmp_path):
    text = TEXT.split("thresholds:", maxsplit=1)[0].replace("near-*", "none-*")
    cluster = Cluster(text, tmp_path)
    messages = []
    chance = random.Random(1)
    for at in range(40):
        for sensor in SENSORS:
            truth, came = chance.uniform(0, 1), START + 30 * at
            messages.append(reading(sensor, at, truth + chance.gauss(0.0, 1.0), came))
            messages.append(reference(sensor, at, truth, came))
    cluster.apply(messages)
    shown = cluster.sink.fleet.shown()
    cluster.stop()

    assert shown is not None
    assert len(shown.names) == 10  # the worst
    assert not np.any([active.any() for active in shown.alerts.values()])
    assert cluster.sink.fleet.references.suspects() == []
    assert cluster.heard == []
