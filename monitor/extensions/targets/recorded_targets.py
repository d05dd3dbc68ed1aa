"""All series of a recorded file against the rules, and the words of ``monitor report`` on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from monitor.core.pairing.series_rules import SeriesRules
from monitor.extensions.targets.assessment import Assessment, Question, assess, interval_text
from monitor.extensions.targets.settings import LIMIT_U_REF_KEY, LIMIT_VALUE_KEY, RULES_KEY
from monitor.extensions.targets.several_units import with_precision
from monitor.report.recorded import Recorded, events_of

_WORDS: Final = {True: "meets", False: "misses", None: "not sure yet of"}


def asked_of(rules: SeriesRules) -> Question | None:
    """Return the question that the settings of a series ask, None if they ask none."""
    of = rules.asked(RULES_KEY)
    if of is None:
        return None
    limit, u_ref = rules.asked(LIMIT_VALUE_KEY), rules.asked(LIMIT_U_REF_KEY)
    return Question(of, "", limit, u_ref)


def recorded_assessments(
    recorded: Recorded, questions: Mapping[int, Question]
) -> dict[int, Assessment]:
    """Return how series compare with the rules, by the rows that ``questions`` has."""
    windows = recorded.columns(recorded.rules[0].level)
    assessments = {
        row: assess(
            windows.take(np.array([row])), recorded.names[row], question, timed=recorded.timed
        )
        for row, question in questions.items()
    }
    return with_precision(assessments, windows, events_of(recorded), timed=recorded.timed)


def report_sentences(recorded: Recorded) -> Mapping[int, Sequence[str]]:
    """Return the sentences on the series whose settings ask for targets, by their rows."""
    asked = enumerate(map(asked_of, recorded.rules))
    questions = {row: question for row, question in asked if question is not None}
    if not questions:
        return {}
    assessments = recorded_assessments(recorded, questions)
    return {row: sentences_on(of) for row, of in assessments.items()}


def sentences_on(of: Assessment) -> tuple[str, ...]:
    """Return the sentence, and one for each figure of several units."""
    beside = [each for each in of.figures if each.target.figure in ("SD", "CV", "u_bs")]
    return (
        f"By the rules {of.question.rules}: {of.sentence}.",
        *(
            f"Beside other units: {each.target.figure} {interval_text(each, of.unit)}, "
            f"{_WORDS[each.is_met]} its target."
            for each in beside
        ),
    )
