"""What this machine cannot do faster, whoever asks: the limits beside the other rows' figures.

Medians of rounds. The disk's figure is time that passes, all others are processor time.
"""

from __future__ import annotations

import os
import socket
import statistics
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from firehose import packet
from messages import readings_and_references
from rows import Goal, Line, figure, spent

from monitor.mqtt.wire import READ_BYTES

APPENDED = 64 * 1024
APPENDS = 200
COPIED = 256 << 20
MEMORY = 1 << 30
RECORD = np.dtype((np.void, 64))
TOUCHED = 1_000_000
BODY = 512 * 1024  # a batch of 5000 pairs: fits the cache
ROUNDS = 7
READS = 300
SMALL_READ, LARGE_READ = 20, 1000  # messages


def limits() -> list[Line]:
    """Disk, memory, checksums and socket, each beside what it bounds here."""
    copying, target = _bandwidth(), memoryview(bytearray(BODY))

    def copy(body: memoryview) -> None:
        target[:] = body

    passed, used = _durable()
    few, many = _received(SMALL_READ), _received(LARGE_READ)
    return [
        _line("an append of 64 kB made durable by fdatasync", f"{figure(1e3 * passed)} ms passed, "
              f"{figure(1e6 * used)} us of processor time", "a read in qos-0, qos-1, qos-2"),
        _line("recv() of a message, 1000 of them a read", f"{figure(1e6 * many)} us",
              "qos-0, qos-1, mqtt-3.1.1, before anything is done with it"),
        _line("recv() of a message, 20 of them a read", f"{figure(1e6 * few)} us",
              "qos-2 and low-rates"),
        _line("np.copyto from memory to memory", f"{figure(1e-9 / copying)} GB/s",
              "start: a copy of 10^6 pairs takes "
              f"{figure(1e3 * 105e6 * copying)} ms; a publishing's pass over the windows"),
        _line("a 64-byte record read and written anywhere in 1 GB", f"{figure(1e9 * _random())} ns",
              "growth and engine: a pair touches about six of them"),
        _line("crc32 of bodies in the cache", f"{figure(1e12 * _a_byte(zlib.crc32))} ps a byte",
              "start and every commit: 105 bytes a pair"),
        _line("memcpy of bodies in the cache", f"{figure(1e12 * _a_byte(copy))} ps a byte",
              "start, arrays, exposition"),
    ]  # fmt: skip


def _line(what: str, figure_: str, bounds: str) -> Line:
    return Line(Goal(what, "", limit=f"the limit of {bounds}"), figure_, "")


def _durable() -> tuple[float, float]:
    """Return the seconds that pass, and those of the processor, for an append that is durable."""
    body, passed = os.urandom(APPENDED), []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # a disk, where /tmp may be memory
        file = os.open(Path(folder, "appended"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        used = time.process_time()
        for _ in range(APPENDS):
            began = time.perf_counter()
            os.write(file, body)
            os.fdatasync(file)
            passed.append(time.perf_counter() - began)
        used = time.process_time() - used
        os.close(file)
    return statistics.median(passed), used / APPENDS


def _median(work: Callable[[], object]) -> float:
    """Return the median seconds of processor time of ``work``, once it has been done."""
    work()
    return statistics.median(spent(work) for _ in range(ROUNDS))


def _bandwidth() -> float:
    """Return the seconds that a byte takes from one large array into another."""
    source, target = np.ones(COPIED, np.uint8), np.empty(COPIED, np.uint8)
    return _median(lambda: np.copyto(target, source)) / COPIED


def _random() -> float:
    """Return the seconds to read a record at random places in large memory and write it there."""
    memory = np.ones(MEMORY, np.uint8).view(RECORD)
    places = np.random.default_rng(1).integers(0, memory.size, TOUCHED)

    def touch() -> None:
        memory[places] = memory.take(places)

    return _median(touch) / TOUCHED


def _a_byte(work: Callable[[memoryview], object]) -> float:
    """Return the seconds that ``work`` takes for a byte of a body."""
    body, times = memoryview(bytearray(os.urandom(BODY))), 200
    return _median(lambda: [work(body) for _ in range(times)]) / (times * BODY)


def _received(messages: int) -> float:
    """Return the seconds that recv() takes for a message, where so many are read at once.

    Each comes in a segment of its own, as brokers send them.
    """
    sent = [
        packet(topic, payload, at, properties=True)
        for at, (topic, payload) in enumerate(readings_and_references(0, messages))
    ]
    listener = socket.create_server(("127.0.0.1", 0))
    writer = socket.create_connection(listener.getsockname())
    reader, _ = listener.accept()
    with listener, writer, reader:
        writer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return statistics.median(_read(writer, reader, sent) for _ in range(READS)) / len(sent)


def _read(writer: socket.socket, reader: socket.socket, sent: Sequence[bytes]) -> float:
    """Send packets; return the seconds of the reads that take them all."""
    for each in sent:
        writer.sendall(each)
    left, seconds = sum(map(len, sent)), 0.0
    while left:
        began = time.thread_time()
        left -= len(reader.recv(READ_BYTES))
        seconds += time.thread_time() - began
    return seconds
