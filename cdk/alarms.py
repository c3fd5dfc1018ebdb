"""The table of alarms made real: one alarm a line, and one composite that pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from constructs import Construct

from cdk.alarm_spec import SERVICE, AlarmSpec, Severity, Signal
from cdk.config import StageConfig
from cdk.notices import Notices
from runtime import metrics as m

COMPARISONS = {
    ">=": cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    ">": cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
    "<": cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
}
MISSING = {
    "breaching": cloudwatch.TreatMissingData.BREACHING,
    "notBreaching": cloudwatch.TreatMissingData.NOT_BREACHING,
    "ignore": cloudwatch.TreatMissingData.IGNORE,
}
MAINTENANCE_HOURS = 12


@dataclass(frozen=True, slots=True)
class Source:
    """The namespace and the dimensions of everything that one part of the stack measures."""

    namespace: str
    dimensions: Mapping[str, str]


class Metrics:
    """Turns the signals of the table into metrics of this stack's resources."""

    def __init__(self, config: StageConfig, sources: Mapping[str, Source]) -> None:
        own = Source(m.NAMESPACE, {m.SERVICE_DIMENSION: m.SERVICE, m.STAGE_DIMENSION: config.stage})
        self._sources = {SERVICE: own, **sources}

    def metric(self, signal: Signal, period: int) -> cloudwatch.Metric:
        source = self._sources[signal.source]
        return cloudwatch.Metric(
            namespace=source.namespace,
            metric_name=signal.name,
            dimensions_map=source.dimensions,
            statistic=signal.statistic,
            period=Duration.seconds(period),
        )

    def of(self, spec: AlarmSpec) -> cloudwatch.IMetric:
        """What an alarm watches. The period is always said: left out, an expression looks at five minutes."""
        watched = {name: self.metric(signal, spec.period) for name, signal in spec.signals.items()}
        if spec.expression is None:
            (metric,) = watched.values()
            return metric
        return cloudwatch.MathExpression(
            expression=spec.expression, using_metrics=watched, period=Duration.seconds(spec.period), label=spec.id
        )


class Alarms(Construct):
    """Every alarm tells the ticket topic when it fires and when it is over; the composite alone pages."""

    by_id: dict[str, cloudwatch.Alarm]
    page: cloudwatch.CompositeAlarm

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        table: list[AlarmSpec],
        metrics: Metrics,
        notices: Notices,
    ) -> None:
        super().__init__(scope, id_)
        self._config, self._metrics = config, metrics
        tickets = actions.SnsAction(notices.ticket)
        self.by_id = {spec.id: self._alarm(spec) for spec in table}
        for alarm in self.by_id.values():
            alarm.add_alarm_action(tickets)
            alarm.add_ok_action(tickets)
        self.page = self._composite([spec.id for spec in table if spec.severity is Severity.PAGE])
        self.page.add_alarm_action(actions.SnsAction(notices.page))
        self.page.add_ok_action(actions.SnsAction(notices.page))

    def _alarm(self, spec: AlarmSpec) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            spec.id,
            alarm_name=alarm_name(self._config, spec.id),
            alarm_description=describe(self._config, spec),
            metric=self._metrics.of(spec),
            comparison_operator=COMPARISONS[spec.comparison],
            threshold=spec.threshold,
            evaluation_periods=spec.periods,
            datapoints_to_alarm=spec.datapoints,
            treat_missing_data=MISSING[spec.missing],
            # A schedule that is switched off by configuration is no emergency.
            actions_enabled=self._config.schedule_enabled if spec.id == "heartbeat" else True,
        )

    def _composite(self, pages: list[str]) -> cloudwatch.CompositeAlarm:
        """Pages when any of `pages` fires, unless somebody has said that they work on the service."""
        said = Signal(SERVICE, m.MAINTENANCE, "Maximum")
        maintenance = cloudwatch.Alarm(
            self,
            "maintenance",
            alarm_name=alarm_name(self._config, "maintenance"),
            alarm_description=f"Somebody works on the service: pages are held back for {MAINTENANCE_HOURS} hours.",
            metric=self._metrics.metric(said, 3_600),
            comparison_operator=COMPARISONS[">="],
            threshold=1,
            evaluation_periods=MAINTENANCE_HOURS,
            datapoints_to_alarm=1,
            treat_missing_data=MISSING["notBreaching"],
        )
        any_of = [
            cloudwatch.AlarmRule.from_alarm(self.by_id[id_], cloudwatch.AlarmState.ALARM)
            for id_ in pages
            if self._config.schedule_enabled or id_ != "heartbeat"
        ]
        return cloudwatch.CompositeAlarm(
            self,
            "page",
            composite_alarm_name=alarm_name(self._config, "page"),
            alarm_description=f"Nobody's file is kept in step. The runbooks of {', '.join(pages)} say what to do.",
            alarm_rule=cloudwatch.AlarmRule.any_of(*any_of),
            actions_suppressor=maintenance,
            actions_suppressor_wait_period=Duration.minutes(2),
            actions_suppressor_extension_period=Duration.minutes(2),
        )


def alarm_name(config: StageConfig, id_: str) -> str:
    return f"{config.stage}-llms-txt-{id_}"


def dashboard_name(config: StageConfig) -> str:
    return f"llms-txt-{config.stage}"


def describe(config: StageConfig, spec: AlarmSpec) -> str:
    """What somebody reads first: what broke, where to look, the page that says what to do, the dashboard."""
    return (
        f"[{spec.severity}] {spec.broke}\n\nCheck first: {spec.check}\n\n"
        f"Runbook: {config.runbook_url}/{spec.id}.md\nDashboard: {dashboard_name(config)}"
    )
