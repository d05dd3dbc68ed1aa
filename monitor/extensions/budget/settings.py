"""The section ``budget``: the page and the document of uncertainty budgets."""

from __future__ import annotations

from typing import Final

from monitor.config.kinds import Section, setting
from monitor.config.settings import Settings


class BudgetPage(Section):
    """The page /budget: whose uncertainty is wrong."""

    page: bool = setting(
        default=False,
        description="Whether the daemon serves /budget and /api/v1/budget.",
    )


SECTION: Final = (
    BudgetPage,
    setting(BudgetPage(), "A page of the daemon (docs/beyond.md#whose-uncertainty-is-wrong)."),
)


def has_pages(settings: Settings) -> bool:
    """Return whether the settings ask for the page."""
    section: BudgetPage | None = settings.section("budget")
    return section is not None and section.page
