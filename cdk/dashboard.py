"""The dashboard: is it fine? Then one row a hop, made of the same table as the alarms, then what the logs say."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.alarm_spec import HOPS, SERVICE, AlarmSpec, Signal, tick_period
from cdk.alarms import Alarms, Metrics, dashboard_name
from cdk.config import StageConfig
from cdk.queries import QUERIES
from runtime import metrics as m

WIDTH = 24
TITLES = {
    "service": "Does it work at all?",
    "schedule": "Schedule → dispatcher",
    "queue": "Dispatcher → queue",
    "worker": "Queue → worker",
    "sites": "Worker → files",
    "webhook": "Owners → webhook",
    "live": "Clients → live crawl",
}
OUTCOMES = (m.SITES_UPDATED, m.SITES_UNCHANGED, m.SITES_HELD, m.SITES_FAILED, m.SITES_DEFERRED)


class Dashboard(Construct):
    """One dashboard a stage."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        table: Sequence[AlarmSpec],
        metrics: Metrics,
        alarms: Alarms,
        groups: Sequence[logs.ILogGroup],
    ) -> None:
        super().__init__(scope, id_)
        self._metrics = metrics
        rows: list[list[cloudwatch.IWidget]] = [self._is_it_fine(alarms)]
        for hop in HOPS:
            specs = [spec for spec in table if spec.hop == hop]
            if not specs:
                continue
            rows += [[cloudwatch.TextWidget(markdown=f"## {TITLES[hop]}", width=WIDTH, height=1)]]
            graphs = [self._graph(spec) for spec in specs]
            if hop == "schedule":
                graphs.append(self._waiting(config))
            rows += [list(graphs[at : at + 4]) for at in range(0, len(graphs), 4)]
        rows.append([self._logs(name, groups) for name in ("last-errors", "failures-by-reason", "slowest-sites")])
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=dashboard_name(config),
            default_interval=Duration.days(3),
            widgets=rows,
        )

    def _is_it_fine(self, alarms: Alarms) -> list[cloudwatch.IWidget]:
        everything = [alarms.page, *alarms.by_id.values()]
        state = cloudwatch.AlarmStatusWidget(title="Is it fine?", alarms=everything, width=12, height=6)
        day = 86_400
        numbers = cloudwatch.SingleValueWidget(
            title="Today",
            metrics=[
                self._metrics.metric(Signal(SERVICE, m.WORK_COMPLETED), day),
                self._metrics.metric(Signal(SERVICE, m.SITES_UPDATED), day),
                self._metrics.metric(Signal(SERVICE, m.DUE_SITES, "Maximum"), day),
                self._metrics.metric(Signal(SERVICE, m.OVERDUE_SITES, "Maximum"), day),
            ],
            width=4,
            height=6,
        )
        outcomes = cloudwatch.GraphWidget(
            title="How sites ended",
            left=[self._metrics.metric(Signal(SERVICE, name), 3_600) for name in OUTCOMES],
            stacked=True,
            width=8,
            height=6,
        )
        return [state, numbers, outcomes]

    def _graph(self, spec: AlarmSpec) -> cloudwatch.GraphWidget:
        """What the alarm watches, with the line it must not cross."""
        return cloudwatch.GraphWidget(
            title=f"{spec.id}: fires when {spec.comparison} {spec.threshold:g}",
            left=[self._metrics.of(spec)],
            left_annotations=[cloudwatch.HorizontalAnnotation(value=spec.threshold, color=cloudwatch.Color.RED)],
            period=Duration.seconds(spec.period),
            width=6,
            height=5,
        )

    def _waiting(self, config: StageConfig) -> cloudwatch.GraphWidget:
        """Who is due after a tick, and why; where there is no budget, nobody writes how many wait for it."""
        names = [m.DUE_SITES, m.OVERDUE_SITES]
        if config.crawls_per_day or config.crawl_usd_per_month:
            names.append(m.OVER_BUDGET_SITES)
        period = tick_period(config)
        return cloudwatch.GraphWidget(
            title="Sites that are due after a tick",
            left=[self._metrics.metric(Signal(SERVICE, name, "Maximum"), period) for name in names],
            period=Duration.seconds(period),
            width=6,
            height=5,
        )

    def _logs(self, name: str, groups: Sequence[logs.ILogGroup]) -> cloudwatch.LogQueryWidget:
        return cloudwatch.LogQueryWidget(
            title=name,
            log_group_names=[group.log_group_name for group in groups],
            query_string=QUERIES[name],
            view=cloudwatch.LogQueryVisualizationType.TABLE,
            width=8,
            height=8,
        )
