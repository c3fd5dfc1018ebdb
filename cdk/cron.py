"""The schedule: a rule that calls the dispatcher with the request of the specification.

The rule is the whole of this file's business, so that EventBridge Scheduler can take its place here alone.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig
from cdk.function import RuntimeFunction
from cdk.queues import dead_letters

PATH = "/internal/cron/recrawl"


class CronTrigger(Construct):
    """Rule → dispatcher, with a queue for ticks that could not be delivered and one for ticks that failed."""

    rule: events.Rule
    undelivered: sqs.Queue
    failed: sqs.Queue

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        dispatcher: RuntimeFunction,
        secret: secretsmanager.ISecret,
    ) -> None:
        super().__init__(scope, id_)
        self.undelivered = dead_letters(self, "Undelivered", config)
        self.failed = dead_letters(self, "Failed", config)
        self.rule = events.Rule(
            self,
            "Rule",
            description=f"Ticks the recrawl of llms.txt files ({config.stage})",
            schedule=events.Schedule.expression(config.schedule),
            enabled=config.schedule_enabled,
        )
        # Two different retries: the target's cover delivery to Lambda, the function's cover what happens inside
        # (aws-cdk#25423). Left alone, the first would go on for 24 hours, into the next ticks.
        self.rule.add_target(
            targets.LambdaFunction(
                dispatcher.function,
                event=events.RuleTargetInput.from_object(tick(secret, config.cron_secret_version)),
                retry_attempts=2,
                max_event_age=Duration.seconds(config.retry_window),
                dead_letter_queue=self.undelivered,
            )
        )
        dispatcher.retry_asynchronous_calls(seconds=config.retry_window, failures=self.failed)


def tick(secret: secretsmanager.ISecret, version: int) -> dict[str, object]:
    """The input of the rule. The header is a reference that CloudFormation resolves; the template holds no value.

    CloudFormation reads the secret again only when this object changes: that is what `secretVersion` is for.
    """
    reference = secret.secret_value.unsafe_unwrap()
    return {
        "httpMethod": "POST",
        "path": PATH,
        "headers": {"X-Cron-Secret": reference},
        "secretVersion": str(version),
    }
