"""The live crawl, where a stage wants one: a WebSocket API, a door that lets clients in, a worker that answers them.

Its own queue and its own worker: a crawl that somebody watches neither waits for a tick's batch nor slows one down.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import ArnFormat, Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig
from cdk.function import RuntimeFunction
from runtime import environment as env

STAGE_NAME = "live"
AT_ONCE = 8
"""Messages of clients under way, of all keys; one key has two crawls at most (`runtime.live.AT_ONCE`)."""

DOOR_TIMEOUT, DOOR_MEMORY_MB = 10, 256
RATE, BURST = 10, 20
"""Messages a second of all clients together; a stranger's handshakes count too."""


class LiveCrawl(Construct):
    """`address` is what clients connect to. The worker is to be given the pipeline's variables and grants."""

    worker: RuntimeFunction
    door: RuntimeFunction
    queue: sqs.Queue
    dead: sqs.Queue
    address: str

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        config: StageConfig,
        code: lambda_.Code,
        api_key: secretsmanager.ISecret,
        variables: Mapping[str, str],
    ) -> None:
        """:param variables: those of the worker."""
        super().__init__(scope, id_)
        self._add_queue(config)
        self.door = RuntimeFunction(
            self,
            "Door",
            name="live",
            description="Lets clients of the live crawl in and queues their message",
            code=code,
            config=config,
            memory_mb=DOOR_MEMORY_MB,
            timeout=DOOR_TIMEOUT,
            variables={env.API_KEY_SECRET_ARN: api_key.secret_arn, env.LIVE_QUEUE_URL: self.queue.queue_url},
        )
        api_key.grant_read(self.door.function)
        self.queue.grant_send_messages(self.door.function)
        stage = self._add_api()
        self.address = stage.url
        self.worker = RuntimeFunction(
            self,
            "Worker",
            name="live_worker",
            description="Crawls while a client watches, and posts it what is seen",
            code=code,
            config=config,
            memory_mb=config.worker_memory_mb,
            timeout=config.worker_timeout,
            variables={**variables, env.LIVE_ENDPOINT_URL: stage.callback_url},
        )
        self.worker.function.add_event_source(sources.SqsEventSource(self.queue, batch_size=1, max_concurrency=AT_ONCE))
        self.worker.function.add_to_role_policy(
            iam.PolicyStatement(actions=["execute-api:ManageConnections"], resources=[self._connections(stage)])
        )

    def _add_queue(self, config: StageConfig) -> None:
        """FIFO, because it takes one message a connection: the connection's id is the deduplication id."""
        removal = RemovalPolicy.RETAIN if config.retain else RemovalPolicy.DESTROY
        self.dead = sqs.Queue(
            self,
            "Dead",
            fifo=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            removal_policy=removal,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            fifo=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            visibility_timeout=Duration.seconds(6 * config.worker_timeout),
            # Who waits longer than this has gone; an enrolment that was asked for is still worth doing.
            retention_period=Duration.hours(6),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=config.max_receive_count),
        )

    def _add_api(self) -> apigateway.WebSocketStage:
        def route(name: str) -> apigateway.WebSocketRouteOptions:
            return apigateway.WebSocketRouteOptions(
                integration=integrations.WebSocketLambdaIntegration(name, self.door.function)
            )

        self.api = apigateway.WebSocketApi(
            self,
            "Api",
            description="llms.txt live crawl",
            connect_route_options=route("Entry"),
            default_route_options=route("Request"),
        )
        return apigateway.WebSocketStage(
            self,
            "Stage",
            web_socket_api=self.api,
            stage_name=STAGE_NAME,
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=RATE, burst_limit=BURST),
        )

    def _connections(self, stage: apigateway.WebSocketStage) -> str:
        """The connections of this stage, to post to and to nothing else."""
        return Stack.of(self).format_arn(
            service="execute-api",
            resource=self.api.api_id,
            resource_name=f"{stage.stage_name}/POST/@connections/*",
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
