"""Notifications that a run could not deliver: the worker tries them again for half a day, then they are put aside."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig
from cdk.function import RuntimeFunction
from cdk.queues import dead_letters
from runtime.queues.letters import FIRST_WAIT_SECONDS

TRY_EVERY_SECONDS = 3_600
"""At least six times the worker's timeout, as Lambda's guide on SQS asks for, up to a timeout of ten minutes."""

TRIES = 12


class UndeliveredLetters(Construct):
    """Queue and dead letters. A message that fails stays invisible until its next try; nobody waits for it."""

    queue: sqs.Queue
    dead: sqs.Queue

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        self.dead = dead_letters(self, "Dead", config)
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            delivery_delay=Duration.seconds(FIRST_WAIT_SECONDS),
            visibility_timeout=Duration.seconds(max(TRY_EVERY_SECONDS, 6 * config.worker_timeout)),
            retention_period=Duration.days(4),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=TRIES),
        )

    def feed(self, worker: RuntimeFunction) -> None:
        """Ten letters at a time, two batches at once: sites come first."""
        worker.function.add_event_source(
            sources.SqsEventSource(self.queue, batch_size=10, report_batch_item_failures=True, max_concurrency=2)
        )
