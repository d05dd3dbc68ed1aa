"""What a worker of the engine tells the interpreter and the C library before it works."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

VALUES = """
import resource, sys
from monitor.daemon.runtime import OF_WORKERS, retain_freed
if sys.argv[1] == "kept":
    retain_freed(*OF_WORKERS)
def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def made(more):
    return len(b"x" * ((4 << 20) + more))  # a state that grows
made(2 << 20)
before = pages()
for at in range(20):
    made(at << 16)
print(pages() - before)
"""


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"), reason="no mallopt in this C library"
)
def test_memory_that_was_freed_is_taken_again_without_new_pages():
    faults = [
        int(subprocess.check_output([sys.executable, "-c", VALUES, how])) for how in ("not", "kept")
    ]

    assert faults[0] > 10 * faults[1]
