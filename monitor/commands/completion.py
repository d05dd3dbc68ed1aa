"""``monitor completion``: the lines that make a shell complete commands and options on Tab."""

from __future__ import annotations

import argparse
from typing import Final

SHELLS: Final = ("bash", "zsh", "fish")
_WHERE: Final = """\
where to put it:
  bash  monitor completion bash > ~/.local/share/bash-completion/completions/monitor
  zsh   monitor completion zsh > ~/.zfunc/_monitor     (a folder of $fpath, before compinit)
  fish  monitor completion fish > ~/.config/fish/completions/monitor.fish
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="shell")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _WHERE


def run(options: argparse.Namespace) -> int:
    """Print the lines."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - no other command needs it

    print(shellcode(["monitor"], shell=options.shell))
    return 0
