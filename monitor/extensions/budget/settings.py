"""The section ``budget``: the page and the document of uncertainty budgets."""

from __future__ import annotations

from typing import Final

from monitor.config.kinds import Section, setting
from monitor.config.settings import Settings


class BudgetPage(Section):
    """The page /budget: whose uncertainty is wrong."""

    page: bool = setting(
        default=False,
        description="Whether the daemon serves /budget and /api/v1/budget: the variances of "
        "sensors, pairing and reference apart, from the pairs that sensors have in common.",
    )


SECTION: Final = (
    BudgetPage,
    setting(BudgetPage(), "Whose uncertainty is wrong: a page of the daemon (docs/beyond.md)."),
)


def has_pages(settings: Settings) -> bool:
    """Return whether the settings ask for the page."""
    section: BudgetPage | None = settings.section("budget")
    return section is not None and section.page
