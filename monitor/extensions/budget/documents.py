"""Whose uncertainty is wrong, as a document and as a bar of variances."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final

from markupsafe import Markup
from typing_extensions import TypedDict

from monitor.core.formatting import finite
from monitor.core.setting import About, Number
from monitor.core.verdict import Estimate
from monitor.extensions.budget.uncertainty_budget import PARTS, UncertaintyBudget, budget_sentences

_WIDTH: Final = 640.0
_ROW, _BAR = 46.0, 20.0


class EstimateDocument(TypedDict):
    """A number with its 95 % interval."""

    value: Number
    lower: Number
    upper: Number


class BudgetView(TypedDict):
    """The standard uncertainty that a sensor or the reference states, and the one it shows."""

    name: str
    stated: Number
    shown: EstimateDocument
    dark: Annotated[EstimateDocument, About("What it shows beyond what it states.")]
    verdict: Annotated[str, About("understated, overstated, or empty.")]
    shares: Annotated[
        dict[str, EstimateDocument],
        About("Of the variance of a sensor's differences from the reference; none of a reference."),
    ]


class Budget(TypedDict):
    """The uncertainty budget of sensors of one quantity on their common events."""

    quantity: str
    unit: str
    sentences: list[str]
    events: int
    block: Annotated[int, About("Events drawn together by the bootstrap.")]
    views: list[BudgetView]
    dark_dersimonian_laird: EstimateDocument | None
    dark_mandel_paule: EstimateDocument | None
    consistent: Annotated[list[str], About("The largest subset that agrees as stated (Cox).")]
    aside: Annotated[list[str], About("Sensors left out; a sentence says why.")]


def budget_document(
    budget: UncertaintyBudget | str, quantity: str, units: Collection[str]
) -> Budget:
    """Return the document; for a budget that cannot be made, the sentence that says why.

    ``units`` are those of its sensors.
    """
    if isinstance(budget, str):
        return Budget(
            quantity=quantity,
            unit=min(units) if len({*units}) == 1 else "",
            sentences=[f"There is no budget: {budget}."],
            events=0,
            block=1,
            views=[],
            dark_dersimonian_laird=None,
            dark_mandel_paule=None,
            consistent=[],
            aside=[],
        )
    shares = [*budget.shares, dict[str, Estimate]()]
    return Budget(
        quantity=budget.quantity,
        unit=budget.unit,
        sentences=budget_sentences(budget),
        events=budget.events,
        block=budget.block,
        views=[
            BudgetView(
                name=view.name,
                stated=finite(view.stated),
                shown=_interval(view.shown),
                dark=_interval(view.dark),
                verdict=view.verdict,
                shares={name: _interval(each) for name, each in parts.items()},
            )
            for view, parts in zip(budget.views, shares, strict=True)
        ],
        dark_dersimonian_laird=_interval(budget.dark_dl),
        dark_mandel_paule=_interval(budget.dark_mp),
        consistent=list(budget.consistent),
        aside=list(budget.aside),
    )


def _interval(each: Estimate) -> EstimateDocument:
    return EstimateDocument(
        value=finite(each.value), lower=finite(each.lower), upper=finite(each.upper)
    )


def budget_text(budget: Mapping[str, Any]) -> str:
    """Return the sentences for a terminal."""
    lines = list(budget["sentences"])
    if budget["events"]:
        lines.append(f"{budget['events']} common events, intervals of 95 %.")
    return "\n".join(lines)


def budget_bars(budget: Budget) -> Markup:
    """Return a bar per sensor: the parts of the variance of its differences."""
    rows = [each for each in budget["views"] if each["shares"]]
    height = _ROW * (len(rows) + 0.5)
    drawing = [
        Markup('<svg viewBox="0 0 {} {}" role="img" class="budget" ').format(
            f"{_WIDTH:g}", f"{height:g}"
        )
        + Markup('aria-label="Parts of the variance of each sensor\'s differences">')
    ]
    place = 0.0
    for at, name in enumerate(PARTS):
        drawing.append(
            Markup('<rect class="part{}" x="{:.1f}" y="6" width="12" height="12"/>').format(
                at, place
            )
        )
        drawing.append(Markup('<text x="{:.1f}" y="17">{}</text>').format(place + 17.0, name))
        place += 34.0 + 7.0 * len(name)
    for line, each in enumerate(rows):
        top = _ROW * (line + 1)
        drawing.append(Markup('<text x="0" y="{:.1f}">{}</text>').format(top - 5.0, each["name"]))
        left = 0.0
        for at, name in enumerate(PARTS):
            share = each["shares"][name]["value"] or 0.0
            width = share * _WIDTH
            title = f"{name}: {100.0 * share:.0f} %"
            drawing.append(
                Markup(
                    '<rect class="part{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:g}">'
                    "<title>{}</title></rect>"
                ).format(at, left, top, width, _BAR, title)
            )
            left += width
    return Markup("").join([*drawing, Markup("</svg>")])
