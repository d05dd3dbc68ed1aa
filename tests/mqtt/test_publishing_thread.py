"""A thread that publishes goes on after lost connections and faults, and counts what it lost."""

from __future__ import annotations

import threading

from harness.programs import WAIT_SECONDS

from monitor.mqtt import publishing_thread
from monitor.mqtt.publish import PublishError


class Broker:
    """Acknowledges a message for each sleep; one is on its way when the connection ends."""

    acknowledged, on_their_way = 0, 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def sleep(self, _seconds):
        self.acknowledged += 1

    def flush(self):
        self.on_their_way = 0


class Publishing(publishing_thread.PublishingThread):
    fates = iter(())

    def _rounds(self, _broker):
        yield 0.0
        yield 0.0
        fate = next(self.fates)
        if fate is not None:
            raise fate
        self.over.set()
        self._stopping.wait()


def test_it_counts_over_connections_and_complains_once_of_the_same(monkeypatch, caplog):
    monkeypatch.setattr(publishing_thread, "_FIRST_PAUSE_SECONDS", 0.0)
    thread = Publishing("verdicts", Broker)
    thread.over = threading.Event()
    thread.fates = iter([PublishError("gone"), PublishError("gone"), ValueError("odd"), None])
    thread.start()
    assert thread.over.wait(WAIT_SECONDS)
    thread.stop(WAIT_SECONDS)

    assert thread._published == 4 * 2
    assert thread._lost == 3
    messages = [each.getMessage() for each in caplog.records]
    assert messages == [
        "verdicts: gone; trying again",
        "verdicts: an internal error; trying again",
    ]
