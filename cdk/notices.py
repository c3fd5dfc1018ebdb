"""Where alarms are heard: two encrypted topics, one that pages and one that opens tickets."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from cdk.config import StageConfig

CLOUDWATCH = "cloudwatch.amazonaws.com"


class Notices(Construct):
    """`page` for what wakes somebody, `ticket` for the rest."""

    page: sns.Topic
    ticket: sns.Topic
    key: kms.Key

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        # A key of our own, because CloudWatch cannot use the AWS-managed one: the alarm would go red and nobody would
        # hear of it (aws-cdk#11121).
        self.key = kms.Key(
            self,
            "Key",
            description=f"Encrypts the alarm topics of llms.txt auto updates ({config.stage})",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN if config.retain else RemovalPolicy.DESTROY,
        )
        # In a key's policy "*" is that key, and GenerateDataKey* its two forms, with and without the plain text.
        self.key.add_to_resource_policy(_for_cloudwatch(self, ["kms:Decrypt", "kms:GenerateDataKey*"], "*"))
        self.page = self._topic("Page", config.page_email)
        self.ticket = self._topic("Ticket", config.ticket_email)

    def _topic(self, id_: str, email: str | None) -> sns.Topic:
        topic = sns.Topic(self, id_, master_key=self.key, enforce_ssl=True)
        # A topic policy takes the place of the default one, so the statement that refuses plain HTTP would also keep
        # CloudWatch out.
        topic.add_to_resource_policy(_for_cloudwatch(self, ["sns:Publish"], topic.topic_arn))
        if email:
            topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic


def _for_cloudwatch(scope: Construct, actions: list[str], resource: str) -> iam.PolicyStatement:
    """Alarms of this account alone."""
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal(CLOUDWATCH)],
        actions=actions,
        resources=[resource],
        conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}},
    )
