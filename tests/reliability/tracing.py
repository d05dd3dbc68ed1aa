"""A daemon under strace: whether every acknowledgement comes after the fdatasync of its message."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from harness.programs import WAIT_SECONDS, need, until

from .scenes import Field
from .syscalls import Order, order


def traced(field: Field, messages: int) -> Order:
    """Restart the daemon under strace, let so many messages come, and read the trace."""
    trace = field.folder / "trace"
    assert field.daemon.stop() == 0
    calls = "trace=recvfrom,recv,read,sendto,write,fdatasync"
    options = ("-f", "-qq", "-xx", "-s", "1000000", "-e", calls, "-e", "signal=none")
    field.daemon.under = (need("strace"), *options, "-o", str(trace))
    field.daemon.start()
    start = field.committed()
    until(f"{messages} messages came", lambda: field.committed() >= start + messages)
    process = field.daemon.process
    assert process is not None
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    os.kill(int(children.split()[0]), signal.SIGTERM)
    assert process.wait(WAIT_SECONDS) == 0, field.daemon.log()
    time.sleep(0.2)
    field.daemon.under = ()
    return order(trace)
