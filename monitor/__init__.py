"""Live calibration monitoring for sensors that state their own uncertainty.

In Python, :func:`score` and :func:`compare` evaluate frames of recorded pairs; :class:`Watch` takes
pairs as they come (docs/python.md). The daemon is the command ``monitor run``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from monitor.frames import Alert, FrameError, Scores, Watch, compare, score, ucc

__version__ = "0.2.0"
__all__ = ["Alert", "FrameError", "Scores", "Watch", "__version__", "compare", "score", "ucc"]

_OF_FRAMES: Final = frozenset(__all__) - {"__version__"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the public names
    """Import what is public at its first use: the commands need none of it."""
    if name in _OF_FRAMES:
        return getattr(import_module("monitor.frames"), name)
    raise AttributeError(f"module 'monitor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
