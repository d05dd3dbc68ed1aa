"""A proposal that its own check accepts: what the check refuses becomes a sentence.

Rules of this file: whoever listened to a broker gets a file. An entry that is refused is left out,
and the others stay.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from monitor.config import Settings, SettingsError, parse
from monitor.config.mistakes import Mistake
from monitor.extensions.discover.heard import first_of
from monitor.extensions.discover.settings_text import NOTHING, Broker, Joining, settings_text
from monitor.extensions.discover.source_guesses import Source

_ENTRY: Final = re.compile(r"(sources|areas|overrides)\[(\d+)\]\.?(.*)")
# How many entries a section has at most: the project's own sources are added, the file has one MB.
_MOST: Final = {"sources": 98, "areas": 1000, "overrides": 1000}


class Entry(NamedTuple):
    """An entry of a section, what it is about, and how many topics it reads if it is a source."""

    entry: Any
    about: str
    topics: int = 0


class Draft(NamedTuple):
    """Proposed sources and how they join; ``refused`` says what the check took away."""

    broker: Broker
    sources: Sequence[Source]
    joining: Joining = NOTHING
    refused: Sequence[str] = ()

    def text(self, head: Iterable[str] = ()) -> str:
        """Return the settings; ``head`` are sentences to begin with."""
        return settings_text(self.broker, self.sources, self.joining, head)

    def entries(self) -> dict[str, list[Entry]]:
        """Return the entries by section."""
        areas, overrides = self.joining.areas, self.joining.overrides
        return {
            "sources": [Entry(x, x.topic, len(x.family.topics)) for x in self.sources],
            "areas": [Entry(x, str(x[0]["subject"])) for x in areas],
            "overrides": [Entry(x, str(x[0]["quantity"])) for x in overrides],
        }


def checked(draft: Draft) -> tuple[Draft, Settings]:
    """Return a draft without the entries that the check of settings refuses, and its settings."""
    draft = _without(draft, _beyond(draft))
    while True:
        try:
            return draft, parse(draft.text().encode(), "the proposal")
        except SettingsError as error:
            refused = _refused(draft, error.mistakes)
            if not refused:
                raise
            draft = _without(draft, refused)


def _beyond(draft: Draft) -> dict[tuple[str, int], str]:
    """Return the entries that are too many, by section and place; sources of few topics first."""
    beyond: dict[tuple[str, int], str] = {}
    for section, entries in draft.entries().items():
        places = sorted(range(len(entries)), key=lambda at: entries[at].topics, reverse=True)
        why = f"there is room for {_MOST[section]}"
        beyond |= {(section, at): why for at in places[_MOST[section] :]}
    return beyond


def _refused(draft: Draft, mistakes: Sequence[Mistake]) -> dict[tuple[str, int], str]:
    """Return the reason for each entry with a mistake, by its section and place."""
    entries = draft.entries()
    refused: dict[tuple[str, int], str] = {}
    for mistake in mistakes:
        place = _ENTRY.fullmatch(mistake.path)
        if place and int(place[2]) < len(entries[place[1]]):
            refused.setdefault((place[1], int(place[2])), f"{place[3]}: {mistake.what}")
    return refused


def _without(draft: Draft, refused: Mapping[tuple[str, int], str]) -> Draft:
    """Return a draft without the entries in ``refused``, with a sentence for each reason."""
    entries = draft.entries()
    about: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (section, at), why in refused.items():
        about[section, why].append(entries[section][at].about)
    sentences = [
        f"left out of {section}, to be written by hand (docs/formats.md): {first_of(names)}; {why}"
        for (section, why), names in about.items()
    ]
    sources, areas, overrides = (
        [each.entry for at, each in enumerate(of_section) if (section, at) not in refused]
        for section, of_section in entries.items()
    )
    joining = draft.joining._replace(areas=areas, overrides=overrides)
    return Draft(draft.broker, sources, joining, (*draft.refused, *sentences))
