"""The commands, a file each: parse options, call a room, print.

A command's file has ``arguments(parser)`` and ``run(options) -> exit code``; `monitor.cli` imports
it only when it is used. Nothing else imports a command; what several of them share is in `options`.

Invariants: results go to stdout, messages to stderr. An error is a `MonitorError` whose message
says what to do, possibly naming a page of docs/ (`monitor.errors`), and whose exit code is one of
the documented ones; anything else that escapes is a bug. No command asks questions, changes
settings, or takes a password on its command line.

Considered and rejected: click and typer (argparse and argcomplete do the same without an import at
every start); importing all commands at once (`monitor docs` would take as long as `monitor
run`).

What breaks first: start-up time. A command that imports a room at its top pays for all that the
room imports.
"""
