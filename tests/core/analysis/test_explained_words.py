"""What explains the errors of a series, in words and as plain values."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.analysis.explained_by import explained_by
from monitor.core.analysis.explained_words import (
    explained_advice,
    explained_clause,
    explained_document,
    with_explanation,
)
from monitor.core.analysis.where import Covariate
from monitor.core.verdict import Verdict
from tests.core.analysis.test_explained_by import by_temperature, pairs


def test_a_slope_is_told_in_its_units_with_the_correction_that_was_tried():
    explained = explained_by(*by_temperature(3, slope=-0.2, level=-4.0))
    assert explained is not None
    clause, advice = explained_clause(explained, "kg"), explained_advice(explained, "kg")

    assert clause.startswith("its error changes by -0.")
    assert " kg per °C of temperature (-0." in clause
    assert advice.startswith("add ")
    assert "and add 0." in advice
    assert " kg per °C of temperature above " in advice
    assert advice.endswith(" on 100 later pairs)")
    document = explained_document(explained, "kg")
    assert document["form"] == "slope"
    assert document["estimate_lower"] <= -0.2 <= document["estimate_upper"]
    at_zero = document["error_at"] + document["estimate"] * (15.0 - document["at"])
    assert at_zero == pytest.approx(-4.0, abs=0.3)


def test_the_verdict_takes_the_correction_in_place_of_its_own_advice():
    explained = explained_by(*by_temperature(1))
    assert explained is not None
    told = with_explanation(Verdict("fault", sentence="drifts", advice="add 3"), explained, "K")

    assert told.sentence == f"drifts; {explained_clause(explained, 'K')}"
    assert told.advice == explained_advice(explained, "K")
    untried = explained._replace(tested=0)
    assert with_explanation(Verdict("fault", advice="add 3"), untried, "K").advice == "add 3"


def test_where_only_one_of_several_categories_is_right_the_others_are_named_by_it():
    random = np.random.default_rng(1)
    line = random.integers(1, 5, 400).astype(float)
    error = -5.0 * (line != 3.0) + random.normal(size=400)
    explained = explained_by(pairs(random, error), [Covariate("line", line)])
    assert explained is not None

    assert "low except where line is 3 (" in explained_clause(explained, "K")
    assert explained_document(explained, "K")["except"]
