"""Tables as text, and figures held to their goals."""

from __future__ import annotations


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def judged(
    value: float, *, atleast: float | None = None, atmost: float | None = None, shown: bool = True
) -> str:
    """Return the goal and whether a figure keeps it; an unknown figure does not."""
    met = value >= atleast if atleast is not None else value <= (atmost or 0.0)
    word = "met" if met else "MISSED"
    if not shown:
        return word
    wanted = f">= {atleast:,g}" if atleast is not None else f"<= {atmost:,g}"
    return f"{wanted} {word}"
