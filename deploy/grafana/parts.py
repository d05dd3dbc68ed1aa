"""What dashboards are made of: panels, queries and variables in the words of this project.

Rules of this file: every panel has a title, a description, a unit and the dashboard's data source;
``select`` gives every metric the labels that the variables choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from string import ascii_uppercase
from typing import Final, NamedTuple, TypeVar

from grafana_foundation_sdk.builders import bargauge, common, dashboard, stat, table, timeseries
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common as looks
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

SOURCE: Final = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
SERIES: Final = "job, instance, sensor, quantity"
STATE_COLOURS: Final = {
    "ok": "green",
    "pending": "yellow",
    "firing": "red",
    "unknown": "blue",
    "stale": "purple",
}
NAMED: Final = ("sensor", "quantity")
# The daemon's own page of a row; its address is a column, empty where http.public_url is not set.
DAEMON_PAGE: Final = "/".join(
    ("${__value.raw}", "series", *(f"${{__data.fields.{of}:percentencode}}" for of in NAMED))
)
SERIES_PAGE: Final = (
    "/d/monitor-series?var-sensor=${__data.fields.sensor:percentencode}"
    "&var-quantity=${__data.fields.quantity:percentencode}&${datasource:queryparam}&${__url_time_range}"
)
_WIDTH: Final = 24


class Query(NamedTuple):
    """An expression, and what its line is called: a legend with labels, a column of a table."""

    expression: str
    name: str = ""


class Step(NamedTuple):
    """From ``value`` on the colour is this; None is from minus infinity on."""

    value: float | None
    colour: str


AnyPanel = timeseries.Panel | stat.Panel | bargauge.Panel | table.Panel
Panel = TypeVar("Panel", timeseries.Panel, stat.Panel, bargauge.Panel, table.Panel)


class Mark(models.AnnotationQuery):
    """Marks in all plots over time while an expression has a value; with what the SDK leaves out.

    It marks the times at which it is asked, every minute, and joins those that follow each other.
    """

    def __init__(self, name: str, expression: str, title: str) -> None:
        super().__init__(name, SOURCE, icon_color="red", expr=expression)
        self._title: Final = title

    def to_json(self) -> dict[str, object]:
        """Return what Grafana reads."""
        texts = {"titleFormat": self._title, "textFormat": "", "tagKeys": "", "step": "60s"}
        return {**super().to_json(), **texts}


class Text(NamedTuple):
    """What a panel says of itself, and the unit of its numbers (Grafana's name of it)."""

    title: str
    description: str
    unit: str = "none"


def select(metric: str, *more: str) -> str:
    """Return ``metric`` of the chosen daemons, with more matchers such as ``sensor=~"$sensor"``."""
    matchers = ",".join(('job=~"$job"', 'instance=~"$instance"', *more))
    return f"{metric}{{{matchers}}}"


def lines(text: Text, *queries: Query, width: int = 12, steps: Sequence[Step] = ()) -> AnyPanel:
    """Return a plot over time."""
    panel = (
        timeseries.Panel()
        .line_width(1)
        .show_points(looks.VisibilityMode.NEVER)
        .span_nulls(False)  # noqa: FBT003 - Grafana's own interface: a gap is a gap
        .legend(
            common.VizLegendOptions()
            .display_mode(looks.LegendDisplayMode.LIST)
            .placement(looks.LegendPlacement.BOTTOM)
            .show_legend(True)  # noqa: FBT003 - likewise
        )
        .tooltip(common.VizTooltipOptions().mode(looks.TooltipDisplayMode.MULTI))
    )
    if steps:
        panel.thresholds(_thresholds(steps)).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(looks.GraphThresholdsStyleMode.DASHED)
        )
    for reference, query in _lettered(queries):
        panel.with_target(_over_time(query).ref_id(reference))
    return _framed(panel, text, width, 8)


def number(
    text: Text,
    *queries: Query,
    width: int = 4,
    steps: Sequence[Step] = (Step(None, "text"),),
    names: bool = False,
) -> AnyPanel:
    """Return large numbers of now; with ``names`` the lines' names instead of their numbers."""
    mode = looks.BigValueTextMode.NAME if names else looks.BigValueTextMode.AUTO
    panel = (
        stat.Panel()
        .graph_mode(looks.BigValueGraphMode.NONE)
        .color_mode(looks.BigValueColorMode.VALUE)
        .text_mode(mode)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(steps))
    )
    for reference, query in _lettered(queries):
        panel.with_target(_now(query).ref_id(reference))
    return _framed(panel, text, width, 4)


def states(text: Text, query: Query, width: int = 12) -> AnyPanel:
    """Return large numbers of now, one a state in the state's colour."""
    panel = (
        stat.Panel()
        .graph_mode(looks.BigValueGraphMode.NONE)
        .color_mode(looks.BigValueColorMode.BACKGROUND)
        .text_mode(looks.BigValueTextMode.VALUE_AND_NAME)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_now(query).ref_id("A"))
    )
    for state, colour in STATE_COLOURS.items():
        fixed = models.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})
        panel.override_by_name(state, [fixed])
    return _framed(panel, text, width, 4)


def bars(text: Text, query: Query, width: int = 8, steps: Sequence[Step] = ()) -> AnyPanel:
    """Return a bar a series, of now."""
    panel = (
        bargauge.Panel()
        .orientation(looks.VizOrientation.HORIZONTAL)
        .display_mode(looks.BarGaugeDisplayMode.BASIC)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(steps or (Step(None, "blue"),)))
        .with_target(_now(query).ref_id("A"))
    )
    return _framed(panel, text, width, 12)


def rows(text: Text, *queries: Query) -> AnyPanel:
    """Return a table of now, a row for each set of labels and a column for each query.

    Rows are put together where their labels agree, so no expression may keep its metric's name.
    """
    panel = table.Panel().cell_height(looks.TableCellHeight.SM)
    for reference, query in _lettered(queries):
        panel.with_target(_now(query).ref_id(reference).format(PromQueryFormat.TABLE))
    names = {f"Value #{reference}": query.name for reference, query in _lettered(queries)}
    for name, options in (
        ("merge", {}),
        ("organize", {"excludeByName": {"Time": True}, "renameByName": names}),
    ):
        panel.with_transformation(models.DataTransformerConfig(id_val=name, options=options))
    link = {"title": "This series", "url": SERIES_PAGE}
    panel.override_by_name("sensor", [models.DynamicConfigValue("links", [link])])
    page = {"title": "Its page at the daemon", "url": DAEMON_PAGE, "targetBlank": True}
    shown = {"displayName": "Page at the daemon", "links": [page]}
    panel.override_by_name("url", [models.DynamicConfigValue(*each) for each in shown.items()])
    return _framed(panel, text, _WIDTH, 12)


def assembled(
    uid: str,
    title: str,
    description: str,
    variables: Sequence[Builder[models.VariableModel]],
    sections: Mapping[str, Sequence[AnyPanel]],
    marks: Sequence[Mark] = (),
) -> models.Dashboard:
    """Return a dashboard of titled rows of panels."""
    built = (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags(["monitor"])
        .readonly()
        .refresh("30s")
        .time("now-24h", "now")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            dashboard.DashboardLink("monitor")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags(["monitor"])
            .as_dropdown(True)  # noqa: FBT003 - Grafana's own interface
            .keep_time(True)  # noqa: FBT003 - likewise
        )
    )
    for variable in (_source(), *variables):
        built.with_variable(variable)
    numbers = count(1)
    for name, panels in sections.items():
        built.with_row(dashboard.Row(name).id(next(numbers)))
        for panel in panels:
            built.with_panel(panel.id(next(numbers)))
    whole = built.build()
    whole.annotations = models.AnnotationContainer([*marks])
    return whole


def variable(
    name: str, label: str, metric: str, *, several: bool = True, everything: str = ""
) -> Builder[models.VariableModel]:
    """Return a variable whose values are those of a label of the same name.

    All are those that the query lists, not those that Prometheus has, or what ``everything`` says.
    """
    query = (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(f"label_values({metric}, {name})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.NATURAL_ASC)
        .multi(several)
        .include_all(several)
    )
    if several:
        query.current(models.VariableOption(selected=True, text="All", value="$__all"))
    if everything:
        query.all_value(everything)
    return query


def _source() -> Builder[models.VariableModel]:
    return dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")


def _lettered(queries: Sequence[Query]) -> Iterable[tuple[str, Query]]:
    """Return queries with the letters by which Grafana tells them apart."""
    return zip(ascii_uppercase, queries, strict=False)


def _framed(panel: Panel, text: Text, width: int, height: int) -> Panel:
    return (
        panel.title(text.title)
        .description(text.description)
        .unit(text.unit)
        .datasource(SOURCE)
        .span(width)
        .height(height)
    )


def _over_time(query: Query) -> Dataquery:
    return Dataquery().datasource(SOURCE).expr(query.expression).legend_format(query.name).range()


def _now(query: Query) -> Dataquery:
    return Dataquery().datasource(SOURCE).expr(query.expression).legend_format(query.name).instant()


def _thresholds(steps: Sequence[Step]) -> dashboard.ThresholdsConfig:
    return (
        dashboard.ThresholdsConfig()
        .mode(models.ThresholdsMode.ABSOLUTE)
        .steps([models.Threshold(value=step.value, color=step.colour) for step in steps])
    )
