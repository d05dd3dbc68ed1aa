"""The keys of ``scoring`` that ask for a regulator's figures, for all series or in a group."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from monitor.config.kinds import setting

RULES_KEY: Final = "targets"
LIMIT_VALUE_KEY: Final = "limit_value"
LIMIT_U_REF_KEY: Final = "limit_u_ref"

RULES: Final = (
    Literal["eu", "eu-2024", "epa"] | None,
    setting(
        None,
        "Whose rules for air sensors each series is held against: eu (expanded uncertainty at the "
        "limit value: Directive 2008/50, classes of CEN/TS 17660), eu-2024 (Directive 2024/2881) "
        "or epa (performance targets); null for none (docs/beyond.md#a-number-for-a-regulator).",
    ),
)
LIMIT_VALUE: Final = (
    Annotated[float, Field(gt=0, le=1e15)] | None,
    setting(
        None,
        "With eu rules, the limit value in the unit of the series; null for that of the pollutant.",
    ),
)
LIMIT_U_REF: Final = (
    Annotated[float, Field(ge=0, le=1e15)] | None,
    setting(
        None,
        "With eu rules, standard uncertainty of the averaged reference, which does not count as "
        "the sensor's scatter; null for what the references state, or the rules' own.",
    ),
)
