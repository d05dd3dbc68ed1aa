"""Questions of an assistant, answered by a running daemon: ``monitor mcp``.

What it does. A program that speaks the Model Context Protocol starts the command and asks over its
standard input: why a sensor is called wrong, why there are no pairs, who needs a reference, which
of two sensors is better, what becomes of a message. ``daemon_answers`` asks the daemon's JSON
interface and gives its sentences as they are; ``command`` serves them with the protocol's SDK
(the extra ``mcp``).

Why so. An outlet renders, it never words: an assistant that gets numbers words its own verdict,
while one that gets the sentence repeats it.

Invariants: it only reads, by GET, and keeps nothing; nothing but the protocol goes to standard
output; a refusal is the daemon's own sentence.

Considered and rejected: serving the protocol from the daemon (a second door with passwords of its
own); tools that publish references or events (a person decides that).

What breaks first: a question about ten thousand sensors, of which an answer shows the first fifty.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="assistants",
    summary="verdicts, due dates and causes as tools of an assistant (MCP)",
    page="outlets.md",
    commands={
        "mcp": Command(
            "answer an assistant's questions about a daemon (Model Context Protocol)",
            "monitor.extensions.assistants.command",
        )
    },
)
