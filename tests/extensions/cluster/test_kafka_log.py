"""The log: what it takes, what it refuses and what it no longer has."""

from __future__ import annotations

import contextlib
import json
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from harness.programs import written

from monitor.config import parse
from monitor.extensions.cluster.kafka_log import (
    Appender,
    LogError,
    MissingLibraryError,
    TopicReader,
    batch_ends,
    properties,
)


class RefusalError(Exception):
    """An error of the log's client, with its code."""

    def code(self):
        return self.args[1]


class Sent(NamedTuple):
    """A record that the client tells of."""

    body: bytes

    def value(self):
        return self.body


class FakeProducer:
    """A client that takes records of up to its limit, for a log that takes less."""

    def __init__(self, options):
        self.limit = int(options["message.max.bytes"])
        self.told = []

    def produce(self, _topic, *, value, partition, on_delivery):
        del partition
        if len(value) > self.limit:
            raise RuntimeError(RefusalError("too large for the client", 10))
        error = None
        if value.startswith(b"away"):
            error = RefusalError("not there", 3)
        elif len(value) > 1_500_000 or value.startswith(b"batch"):
            error = RefusalError("too large for the topic", 10)
        self.told.append((on_delivery, error, Sent(value)))

    def flush(self, _seconds):
        for tell, error, message in self.told:
            tell(error, message)
        self.told = []
        return 0

    def purge(self):
        pass


def test_records_too_large_for_client_or_topic_are_told_of_and_others_tried_again(monkeypatch):
    """Of a batch of small ones that the topic does not take, none is given up."""
    names = SimpleNamespace(topics={"monitor": SimpleNamespace(partitions=range(8))})
    admin = SimpleNamespace(list_topics=lambda **_: names)
    library = SimpleNamespace(
        Producer=FakeProducer,
        KafkaException=RuntimeError,
        KafkaError=SimpleNamespace(MSG_SIZE_TOO_LARGE=10),
    )
    library.admin = SimpleNamespace(AdminClient=lambda _: admin)
    monkeypatch.setitem(sys.modules, "confluent_kafka", library)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", library.admin)
    settings = parse(b"mqtt: {max_packet_bytes: 2000000}", "t")
    with contextlib.closing(Appender(settings, properties(settings))) as out:
        assert out.append([(0, b"x" * 1_400_000)]) == 0
        assert out.append([(0, b"a"), (0, b"x" * 1_600_000), (0, b"x" * 2_500_000)]) == 2
        for body in (b"away", b"batch"):
            with pytest.raises(LogError, match="did not accept 1 of 1"):
                out.append([(0, body)])


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(MissingLibraryError, match=r"pip install '\.\[cluster\]'"):
        TopicReader({}, "t", 1)


def test_properties_come_from_a_file_and_a_mistake_has_its_line(tmp_path):
    given = written(tmp_path, "p", "# to the log\nsecurity.protocol=SSL\n\nnonsense\n")
    settings = parse(f"cluster: {{log: {{properties_file: {given}}}}}".encode(), "t")
    with pytest.raises(
        Exception,
        match=r"p:4:1: cluster.log.properties_file: is not of the form "
        r"key=value",
    ):
        properties(settings)
    given.write_text("a=b=c\n")

    assert properties(settings)["a"] == "b=c"


def test_a_message_of_two_megabytes_goes_through_a_topic_that_the_bridge_made(log):
    section = {"servers": log.servers, "topic": "large", "partitions": 1}
    text = {"cluster": {"log": section}, "mqtt": {"max_packet_bytes": 3_000_000}}
    settings = parse(json.dumps(text).encode(), "t")
    body = b"x" * 2_000_000
    with contextlib.closing(Appender(settings, properties(settings))) as out:
        assert out.append([(0, b"a"), (0, body), (0, b"b")]) == 0
    reader = TopicReader(properties(settings), "large", 1)

    assert list(reader.read(0, 0, 3)) == [b"a", body, b"b"]
    reader.close()


def test_a_topic_with_other_partitions_and_records_that_are_gone_are_errors(log):
    one = parse(_log_text(log, "small", 2), "t")
    with contextlib.closing(Appender(one, properties(one))) as out:
        out.append([(0, b"a"), (0, b"b"), (1, b"c")])
    with pytest.raises(LogError, match="has 2 partitions"):
        Appender(parse(_log_text(log, "small", 4), "t"), properties(one))
    reader = TopicReader(properties(one), "small", 2)
    found = list(reader.read(0, 0, 2))
    ends = reader.ends()
    reader.close()

    assert found == [b"a", b"b"]
    assert ends == {0: 2, 1: 1}


def _log_text(log, topic: str, partitions: int) -> bytes:
    section = {"servers": log.servers, "topic": topic, "partitions": partitions}
    return json.dumps({"cluster": {"log": section}}).encode()


def test_a_batch_has_so_many_records_and_a_topic_that_was_made_anew_is_an_error():
    start, ends = {"0": 5, "1": 7}, {"0": 90, "1": 8}

    assert batch_ends(start, ends, 20) == {"0": 15, "1": 8}
    assert batch_ends(start, ends, None) == ends
    assert batch_ends({}, ends, 2) == {"0": 1, "1": 1}
    with pytest.raises(LogError, match="partition 1 of the log ends at 6"):
        batch_ends(start, {"0": 90, "1": 6}, None)
