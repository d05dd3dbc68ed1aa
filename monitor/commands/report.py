"""``monitor report``: a page on a file of pairs, on a stream, or on the pairs of a daemon."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from monitor.client.client import client_arguments, client_of
from monitor.client.current_pairs import current_pairs
from monitor.commands.options import (
    alpha_option,
    covariates_option,
    density_option,
    recorded_or_daemon,
)
from monitor.config import Settings, load, settings_hash
from monitor.config.core_plan import rules_of
from monitor.core.analysis.ranking import PROFILES
from monitor.core.formatting import count_of, instant
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.proper_scores import Density
from monitor.core.snapshot.details import usual
from monitor.errors import UsageError
from monitor.extensions import hooks
from monitor.files.layout import layout_arguments, layout_of, refuse_layout
from monitor.files.whole_file import write_page
from monitor.report.html_report import ReportSource, report
from monitor.report.progress import step
from monitor.report.recorded import Recorded, read
from monitor.report.scored import covariates_of, in_file


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_or_daemon(
        parser,
        "settings of a daemon, to report on its pairs; its journal is read if it is not running",
    )
    layout_arguments(parser)
    parser.add_argument("--out", required=True, metavar="REPORT", help="HTML file to write")
    density_option(parser)
    parser.add_argument("--profile", choices=PROFILES, help="what sensors are ranked by")
    alpha_option(parser)
    covariates_option(parser)
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Write the report and print where it is."""
    if options.alpha is not None and not 0.0 < options.alpha < 1.0:
        raise UsageError(f"--alpha {options.alpha}: must be between 0 and 1, such as 0.1")
    recorded, source = _of_daemon(options) if options.config else _of_file(options)
    write_report(Path(options.out), recorded, source, instant(time.time(), "seconds"))
    return 0


def _of_file(options: argparse.Namespace) -> tuple[Recorded, ReportSource]:
    path = Path(options.file)
    level = 0.9 if options.alpha is None else 1.0 - options.alpha
    named = covariates_of(options.covariates)
    layout = layout_of(options)
    recorded = read(path, SeriesRules(level=level), layout, in_file(named))
    if not recorded.names:
        raise UsageError(f"{path}: no reading has a reference of the same sensor and quantity")
    source = ReportSource(
        path.name,
        level,
        options.density or "normal",
        profile=options.profile or "balanced",
        covariates=named,
    )
    return recorded, source


def _of_daemon(options: argparse.Namespace) -> tuple[Recorded, ReportSource]:
    """Return the pairs of a daemon; level and density are from its settings unless given."""
    refuse_layout(options)
    settings = load(options.config)
    named = covariates_of(options.covariates)
    if unknown := in_file(named):
        raise UsageError(
            f"--covariates {unknown[0]}: for a daemon's pairs it can be hour or level; what its "
            "settings' covariates show is on the page of each series, and under `where` in its JSON"
        )
    recorded = current_pairs(settings, client_of(settings, options))
    if not recorded.names:
        raise UsageError("there are no pairs; `monitor doctor` says why")
    recorded = recorded._replace(notes=(*recorded.notes, *assumed_notes(settings)))
    level = settings.scoring.level if options.alpha is None else 1.0 - options.alpha
    printed = {"SHA-256 of the settings": settings_hash(settings)}
    density = options.density or _density_of(recorded)
    own = usual([rules_of(settings, each.sensor, each.quantity).profile for each in recorded.names])
    profile = options.profile or own
    title = Path(options.config).name
    further: dict[int, tuple[str, ...]] = {}
    for sentences_of in hooks(settings.extensions, "report"):
        for row, sentences in sentences_of(recorded).items():
            further[row] = (*further.get(row, ()), *sentences)
    return recorded, ReportSource(title, level, density, printed, profile, named, further)


def _density_of(recorded: Recorded) -> Density:
    """Return the density that the settings give all series, normal if it is not the same."""
    first = np.unique(recorded.pairs["series"], return_index=True)[1]
    bare = np.isnan(recorded.pairs["u"][first]).tolist()
    densities = {
        ("tophat" if no_u else "normal") if rules.density == "auto" else rules.density
        for rules, no_u in zip(recorded.rules, bare, strict=True)
    }
    return "tophat" if densities == {"tophat"} else "normal"


def assumed_notes(settings: Settings) -> Iterator[str]:
    """Yield which uncertainties the settings assume if a sensor states none."""
    for source in settings.sources:
        for each in () if source.map is None else source.map.series:
            if each.assumed:
                yield (
                    f"Uncertainty assumed: by {source.topic}, where {each.quantity or 'a message'} "
                    f"states none, u is {each.assumed}."
                )


def write_report(out: Path, recorded: Recorded, source: ReportSource, date: str) -> None:
    """Write the report on recorded pairs; ``date`` is on one line of it."""
    with step(f"judging and drawing {len(recorded.names)} series"):
        page = report(recorded, source, date)
    write_page(out, page)
    pairs = count_of(recorded.pairs.size, "pair")
    sys.stderr.write(f"{out}: {len(recorded.names)} series, {pairs}\n")
