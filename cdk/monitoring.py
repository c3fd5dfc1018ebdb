"""Everything that watches: topics, alarms, dashboard, saved queries, joined to the parts of the stack."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.alarm_table import alarm_table
from cdk.alarms import Alarms, Metrics, Source
from cdk.config import StageConfig
from cdk.dashboard import Dashboard
from cdk.function import RuntimeFunction
from cdk.notices import Notices
from cdk.queries import Queries


class Monitoring(Construct):
    """Watches functions and queues, which are given by the names that the table of alarms uses."""

    notices: Notices
    alarms: Alarms

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        functions: Mapping[str, RuntimeFunction],
        queues: Mapping[str, sqs.Queue],
    ) -> None:
        super().__init__(scope, id_)
        table = alarm_table(config)
        sources = {
            name: Source("AWS/Lambda", {"FunctionName": door.function.function_name})
            for name, door in functions.items()
        } | {name: Source("AWS/SQS", {"QueueName": queue.queue_name}) for name, queue in queues.items()}
        metrics = Metrics(config, sources)
        groups = [door.log_group for door in functions.values()]
        self.notices = Notices(self, "Notices", config=config)
        self.alarms = Alarms(self, "Alarms", config=config, table=table, metrics=metrics, notices=self.notices)
        Queries(self, "Queries", config=config, groups=groups)
        if config.dashboard:
            Dashboard(self, "Board", config=config, table=table, metrics=metrics, alarms=self.alarms, groups=groups)
