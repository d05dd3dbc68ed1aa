"""Where a sensor is wrong: covariates that come with readings, or on topics of their own.

``watched_covariates`` is the section ``covariates``. ``covariate_fields`` finds the numbers in
messages, ``covariate_samples`` says which number belongs to a reading, ``covariate_keeper`` keeps
them beside pairs, in the same transaction, and looks along them for parts in which a series is
wrong, and for what explains its errors, which its verdict then says. Both analyses are the house's
(``where`` and ``explained_by`` of :mod:`monitor.core.analysis`), as files use them.

Invariants: a bad number costs that number, never the reading beside it; findings follow from the
journal alone, so a restart finds the same. The journal keeps the numbers in a table of its own,
which is read without this extension too.

What breaks first: a covariate whose numbers come rarer than ``max_age_seconds``.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Extension

EXTENSION: Final = Extension(
    name="where",
    summary="in which range of a covariate a sensor is wrong, live",
    page="beyond.md",
    settings={"covariates": "monitor.extensions.where.watched_covariates:SECTION"},
    contradictions="monitor.extensions.where.watched_covariates:contradictions",
    router="monitor.extensions.where.watched_covariates:supplement",
    listener="monitor.extensions.where.covariate_keeper:where_listener",
    members="monitor.extensions.where.members:WhereMembers",
    families="monitor.extensions.where.covariate_keeper:EVERY_FAMILY",
)
