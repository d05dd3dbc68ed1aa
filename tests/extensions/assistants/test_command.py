"""``monitor mcp``: its tools, and what it says where the SDK or the daemon is missing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from harness.programs import free_port

from monitor.client.client import DaemonClient
from monitor.errors import UNAVAILABLE
from monitor.extensions.assistants.command import server
from monitor.extensions.assistants.daemon_answers import DaemonAnswers

URL = f"http://127.0.0.1:{free_port()}"


def talked() -> tuple[Any, Any]:
    """Return the tools, and the answer of one, of a daemon that is not there."""
    mcp = pytest.importorskip("mcp", reason="install it with: pip install '.[mcp]'")

    async def talk() -> tuple[Any, Any]:
        async with mcp.Client(server(DaemonAnswers(DaemonClient(URL)))) as client:
            return (await client.list_tools()).tools, await client.call_tool("doctor", {})

    return asyncio.run(talk())


def test_all_tools_say_what_they_are_for_and_that_they_only_read():
    tools = {each.name: each for each in talked()[0]}

    assert set(tools) == {"why", "doctor", "due", "compare", "explain"}
    assert all(each.annotations.read_only_hint for each in tools.values())
    assert tools["why"].description.endswith(
        "\n\nWithout a sensor: of those that need work, the most urgent first."
    )
    described = tools["explain"].input_schema["properties"]["topic"]["description"]
    assert described == "Topic of one MQTT message, without wildcards."


def test_a_daemon_that_is_not_there_is_told_in_the_answer():
    answer = talked()[1]

    assert answer.is_error
    text = answer.content[0].text
    assert text.endswith(f"no daemon answers on {URL}; start it with `monitor run`")


def test_without_the_sdk_the_error_says_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; from monitor.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp"], check=False, capture_output=True, text=True
    )

    assert done.returncode == UNAVAILABLE
    assert done.stdout == ""
    assert done.stderr.startswith("monitor: monitor mcp needs the SDK of the protocol: pip install")
    assert "[mcp]" in done.stderr
