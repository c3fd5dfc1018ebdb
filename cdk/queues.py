"""Queues with the house's defaults: encrypted, TLS only."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cdk.config import StageConfig


def dead_letters(scope: Construct, id_: str, config: StageConfig) -> sqs.Queue:
    """Where one edge keeps what it could not deliver, for two weeks: long enough for a holiday.

    One queue an edge, so that the alarm on it says which hop broke.
    """
    return sqs.Queue(
        scope,
        id_,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(14),
        removal_policy=RemovalPolicy.RETAIN if config.retain else RemovalPolicy.DESTROY,
    )
