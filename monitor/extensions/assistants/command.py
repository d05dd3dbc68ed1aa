"""``monitor mcp``: tools for an assistant, over standard input and output."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Final

from monitor import __version__
from monitor.client.client import client_arguments, client_of
from monitor.commands.options import config_option
from monitor.config import load, parse
from monitor.errors import UNAVAILABLE, MonitorError, install_hint
from monitor.extensions.assistants.daemon_answers import DaemonAnswers

if TYPE_CHECKING:
    from mcp.server import MCPServer

_INSTRUCTIONS: Final = (
    "Answers of a daemon that watches whether sensors are as right as they say. Sentences are its "
    "verdicts, with their uncertainty: repeat them, do not reword their numbers. All is read-only."
)


class McpMissingError(MonitorError):
    """The protocol's SDK is not installed."""

    exit_code = UNAVAILABLE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser, "settings of a running daemon (default: http.port 9108)", required=False)
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Answer until standard input ends."""
    settings = load(options.config) if options.config else parse(b"{}", "the defaults")
    server(DaemonAnswers(client_of(settings, options))).run("stdio")
    return 0


def server(answers: DaemonAnswers) -> MCPServer[None]:
    """Return a server whose tools are a daemon's answers; raises McpMissingError."""
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - of the extra
        from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415
        from mcp.types import ToolAnnotations  # noqa: PLC0415
    except ImportError as error:
        hint = install_hint("mcp")
        raise McpMissingError(f"monitor mcp needs the SDK of the protocol: {hint}") from error

    def tool(answer: Callable[..., str]) -> Callable[..., str]:
        @wraps(answer)
        def answered(**given: str) -> str:
            try:
                return answer(**given)
            except MonitorError as error:
                raise ToolError(str(error)) from error

        return answered

    serving: MCPServer[None] = MCPServer("monitor", instructions=_INSTRUCTIONS, version=__version__)
    of = answers
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for answer in (of.why, of.doctor, of.due, of.compare, of.explain):
        described = inspect.getdoc(answer)
        serving.add_tool(
            tool(answer), description=described, annotations=reads, structured_output=False
        )
    return serving
