"""The members that covariates add to the JSON of a series; files print the same of their pairs."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from monitor.core.analysis.explained_by import Form
from monitor.core.setting import About, Number

# A range has the members "from" and "to", which are no names in Python.
WhereFinding = TypedDict(
    "WhereFinding",
    {
        "fault": Annotated[str, About(names=("offset", "understated", "overstated"))],
        "from": Annotated[Number, About("Null: no edge.")],
        "to": Annotated[Number, About("Null: no edge; for hours it may be below `from`.")],
        "n": Annotated[int, About("Pairs in this part.")],
        "estimate": Annotated[Number, About("A bias, or the factor on u.")],
        "estimate_lower": Annotated[Number, About("Of its 95 % interval.")],
        "estimate_upper": Number,
        "unit": Annotated[str, About("Empty for a factor.")],
        "log_evidence": float,
    },
)
WhereBin = TypedDict(
    "WhereBin",
    {
        "from": Number,
        "to": Number,
        "n": int,
        "zms": Number,
        "zms_lower": Annotated[Number, About("Of its 95 % interval, from 30 pairs on.")],
        "zms_upper": Number,
        "bias": Number,
        "bias_lower": Number,
        "bias_upper": Number,
    },
)


class WhereDocument(TypedDict):
    """Where along a covariate a series is wrong."""

    covariate: str
    unit: Annotated[str, About("Of the covariate.")]
    state: Annotated[
        str, About(names=("found", "nothing", "everywhere", "missing", "constant", "few"))
    ]
    sentence: Annotated[str, About("What is known, as what follows the sensor's name.")]
    false_findings: Annotated[float, About("Share of right sensors ever reported as wrong.")]
    rest_is_right: Annotated[bool, About("Whether the other pairs agree with their uncertainty.")]
    without: Annotated[int, About("Pairs that lack the covariate.")]
    clear_after_pairs: Annotated[int | None, About("When the first finding was clear.")]
    findings: Annotated[list[WhereFinding], About("The parts that are wrong.")]
    bins: Annotated[list[WhereBin], About("The pairs between neighbouring edges.")]


ExplainedDocument = TypedDict(
    "ExplainedDocument",
    {
        "covariate": str,
        "covariate_unit": str,
        "form": Form,
        "sentence": str,
        "advice": Annotated[str, About("Empty where no correction was shown to help.")],
        "estimate": Annotated[Number, About("How much the error changes, in `unit`.")],
        "estimate_lower": Annotated[Number, About("Of its 95 % interval.")],
        "estimate_upper": Number,
        "unit": str,
        "share": Annotated[float, About("Of the variance of the errors.")],
        "n": Annotated[int, About("Pairs that have the covariate.")],
        "from": Annotated[Number, About("Of a step: the edge that the error is above.")],
        "to": Annotated[Number, About("Of a step: the edge that the error is below.")],
        "category": str | None,
        "except": Annotated[bool, About("Whether the error is in all other categories.")],
        "at": Annotated[Number, About("Of a slope: a value of the covariate.")],
        "error_at": Annotated[Number, About("The error there.")],
    },
)


class WhereMembers(TypedDict, total=False):
    """The members; there with `covariates`."""

    where: Annotated[list[WhereDocument], About("One a covariate, none until it was examined.")]
    explained_by: Annotated[ExplainedDocument | None, About("What explains its errors best.")]
