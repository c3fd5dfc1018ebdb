"""A Lambda function with the house's defaults: its own role, its own log group, nothing it was not given."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig
from runtime import environment as env

RUNTIMES = {
    "3.11": lambda_.Runtime.PYTHON_3_11,
    "3.12": lambda_.Runtime.PYTHON_3_12,
    "3.13": lambda_.Runtime.PYTHON_3_13,
}
ARCHITECTURES = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}


class RuntimeFunction(Construct):
    """One door of the runtime. `name` is the handler's module."""

    function: lambda_.Function
    log_group: logs.LogGroup

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        name: str,
        description: str,
        code: lambda_.Code,
        config: StageConfig,
        memory_mb: int,
        timeout: int,
        reserved_concurrency: int | None = None,
        variables: Mapping[str, str],
    ) -> None:
        super().__init__(scope, id_)
        # Without a name: a group called /aws/lambda/… comes back when a late invocation follows `cdk destroy`, and
        # the next deploy then fails (aws-cdk#32689).
        self.log_group = logs.LogGroup(
            self,
            "Logs",
            retention=retention(config.log_retention_days),
            removal_policy=RemovalPolicy.RETAIN if config.retain else RemovalPolicy.DESTROY,
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"{name} of llms.txt auto updates ({config.stage})",
        )
        self.log_group.grant_write(role)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            code=code,
            handler=f"runtime.handlers.{name}.handler",
            runtime=RUNTIMES[config.python],
            architecture=ARCHITECTURES[config.architecture],
            memory_size=memory_mb,
            timeout=Duration.seconds(timeout),
            reserved_concurrent_executions=reserved_concurrency,
            role=role,
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.INFO,
            tracing=lambda_.Tracing.ACTIVE,
            environment={
                env.STAGE: config.stage,
                **variables,
            },
        )

    def retry_asynchronous_calls(self, *, seconds: int, failures: sqs.IQueue) -> None:
        """Try an asynchronous call once more, for `seconds` at most, then keep it with its error in `failures`."""
        from aws_cdk import aws_lambda_destinations as destinations

        self.function.configure_async_invoke(
            max_event_age=Duration.seconds(seconds),
            retry_attempts=1,
            on_failure=destinations.SqsDestination(failures),
        )


def retention(days: int) -> logs.RetentionDays:
    """The enum member of a number of days that CloudWatch Logs accepts."""
    names = {1: "ONE_DAY", 3: "THREE_DAYS", 5: "FIVE_DAYS", 7: "ONE_WEEK", 14: "TWO_WEEKS", 30: "ONE_MONTH"}
    names |= {60: "TWO_MONTHS", 90: "THREE_MONTHS", 120: "FOUR_MONTHS", 150: "FIVE_MONTHS", 180: "SIX_MONTHS"}
    names |= {365: "ONE_YEAR", 400: "THIRTEEN_MONTHS", 545: "EIGHTEEN_MONTHS", 731: "TWO_YEARS"}
    return logs.RetentionDays[names[days]]
