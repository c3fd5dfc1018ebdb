"""The work queue: one message a site, from the dispatcher and the webhook to the workers."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig
from cdk.function import RuntimeFunction
from cdk.queues import dead_letters


class WorkQueue(Construct):
    """Queue and dead letters; `feed` connects the worker."""

    queue: sqs.Queue
    dead: sqs.Queue

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        self._config = config
        self.dead = dead_letters(self, "Dead", config)
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            visibility_timeout=Duration.seconds(config.visibility_timeout),
            retention_period=Duration.days(4),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=config.max_receive_count),
        )

    def feed(self, worker: RuntimeFunction) -> None:
        """Let the worker take batches; it reports the messages that failed, one by one.

        Concurrency is capped on the mapping, never on the function: a throttled receive counts as a failed one and
        ends in the dead letters unprocessed (aws-cdk#24180).
        """
        worker.function.add_event_source(
            sources.SqsEventSource(
                self.queue,
                batch_size=self._config.worker_batch_size,
                max_batching_window=Duration.seconds(self._config.worker_batch_window),
                report_batch_item_failures=True,
                max_concurrency=self._config.worker_max_concurrency,
            )
        )
