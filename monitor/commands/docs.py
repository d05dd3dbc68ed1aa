"""``monitor docs``: a page of the documentation, all as a site, or completion for a shell."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from monitor import manual

SHELLS: Final = ("bash", "zsh", "fish")
_WHERE: Final = """\
where to put the script that makes Tab complete commands and options:
  bash  monitor docs --completion bash > ~/.local/share/bash-completion/completions/monitor
  zsh   monitor docs --completion zsh > ~/.zfunc/_monitor     (a folder of $fpath, before compinit)
  fish  monitor docs --completion fish > ~/.config/fish/completions/monitor.fish
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "page",
        nargs="?",
        metavar="PAGE[#SECTION]",
        help="such as operations, or docs/pairing.md#no-pairs (default: the index)",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--out", metavar="FOLDER", help="write all pages as HTML files")
    instead.add_argument("--search", metavar="WORDS", help="list the sections that hold all words")
    instead.add_argument("--completion", choices=SHELLS, help="print a shell's completion script")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _WHERE


def run(options: argparse.Namespace) -> int:
    """Print a page or a script of completion, write the site, or search the pages."""
    if options.completion:
        from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - rarely wanted

        print(shellcode(["monitor"], shell=options.completion))
    elif options.out:
        count = manual.write_site(Path(options.out))
        print(f"{options.out}: {count} pages; open {Path(options.out) / 'index.html'}")
    elif options.search:
        hits = manual.search(options.search)
        if not hits:
            raise manual.PageMissingError(f"no section holds all words of {options.search!r}")
        for hit in hits:
            print(f"{hit.page}#{hit.slug}\n    {hit.line}")
    else:
        name, _, slug = (options.page or "index").removeprefix("docs/").partition("#")
        name = name.removesuffix(".md")
        print(manual.section(name, slug) if slug else manual.source(name), end="")
    return 0
