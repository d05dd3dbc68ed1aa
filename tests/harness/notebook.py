"""Runs the code of a notebook (nbformat 4) and compares or stores what its cells print.

``python tests/harness/notebook.py NOTEBOOK`` stores what the cells print now.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any


def outputs(notebook: dict[str, Any]) -> list[str]:
    """Return what each code cell prints: its prints, then the value of a last expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [
        _printed("".join(cell["source"]), names)
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def stored(notebook: dict[str, Any]) -> list[str]:
    """Return what the notebook says that each code cell prints."""
    return [
        "".join(line for output in cell["outputs"] for line in output["text"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def _printed(code: str, names: dict[str, Any]) -> str:
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1:] = ast.parse(f"__shown = ({ast.unparse(last)})").body
    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - the notebook is our own
        if isinstance(last, ast.Expr) and names["__shown"] is not None:
            sys.stdout.write(f"{names['__shown']}\n")
    return heard.getvalue()


def store(path: Path) -> None:
    """Run a notebook and write what its cells print into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for at, (cell, text) in enumerate(zip(cells, outputs(notebook), strict=True), 1):
        lines = text.splitlines(keepends=True)
        cell["execution_count"] = at
        cell["outputs"] = (
            [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
        )
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
