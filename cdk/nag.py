"""The rule packs that a template must pass, and every finding we accept, each with its reason.

This is the one file with acknowledgements. A test synthesises each stage without them and asks that every line here
still answers a finding, so a line that is no longer needed cannot stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Acknowledgment, App, Stack, Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks
from constructs import IConstruct

FUNCTIONS = ("Dispatcher", "Webhook", "Worker", "Live/Door", "Live/Worker")


@dataclass(frozen=True, slots=True)
class Accepted:
    """One rule accepted on some constructs, by their paths below the stack.

    A rule with a finding (`IAM5[Resource::*]`) is accepted finding by finding: its bare name covers nothing.
    """

    rule: str
    paths: tuple[str, ...]
    reason: str


ACCEPTED = (
    Accepted(
        "AwsSolutions-IAM5[Resource::*]",
        tuple(f"{name}/Role/DefaultPolicy" for name in FUNCTIONS),
        "X-Ray's PutTraceSegments and PutTelemetryRecords name no resources; active tracing adds exactly these two.",
    ),
    Accepted(
        "AwsSolutions-IAM5[Resource::<PublishingStateAC000250.Arn>/*]",
        ("Webhook/Role/DefaultPolicy", "Worker/Role/DefaultPolicy", "Live/Worker/Role/DefaultPolicy"),
        "Objects are keyed by site and sites come and go: all keys of this bucket, two actions, no wildcard action.",
    ),
    Accepted(
        "AwsSolutions-IAM5[Resource::<PublishingPublicCDEA827B.Arn>/*]",
        ("Webhook/Role/DefaultPolicy", "Worker/Role/DefaultPolicy", "Live/Worker/Role/DefaultPolicy"),
        "Objects are keyed by host and hosts come and go: all keys of this bucket, two actions, no wildcard action.",
    ),
    Accepted(
        "AwsSolutions-L1",
        tuple(f"{name}/Function" for name in FUNCTIONS),
        "Python 3.13 is the newest version that the whole test-suite runs on; it has years of support left.",
    ),
    Accepted(
        "Serverless-LambdaLatestVersion",
        tuple(f"{name}/Function" for name in FUNCTIONS),
        "The same finding as AwsSolutions-L1, for the same reason.",
    ),
    Accepted(
        "Serverless-LambdaDLQ",
        ("Dispatcher/Function",),
        "A failed tick goes to an OnFailure destination, which keeps the error too; a DLQ would be a second copy.",
    ),
    Accepted(
        "Serverless-LambdaDLQ",
        ("Webhook/Function", "Worker/Function", "Live/Door/Function", "Live/Worker/Function"),
        "Never invoked asynchronously: a call is answered, and the work queues have dead letters of their own.",
    ),
    Accepted(
        "Serverless-LambdaEventSourceMappingDestination",
        ("Worker/Function", "Live/Worker/Function"),
        "For SQS, Lambda leaves failed messages to the queue's redrive policy; destinations are for streams.",
    ),
    Accepted(
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<LiveApi149456B6>"
        "/live/POST/@connections/*]",
        ("Live/Worker/Role/DefaultPolicy",),
        "Connections come and go: those of this API's one stage, posting alone.",
    ),
    Accepted(
        "AwsSolutions-APIG1",
        ("Live/Stage",),
        "A handshake may carry an API key in its query; who was refused is in the door's own log, without it.",
    ),
    Accepted(
        "Serverless-APIGWAccessLogging",
        ("Live/Stage",),
        "The same finding as AwsSolutions-APIG1, for the same reason.",
    ),
    Accepted(
        "AwsSolutions-APIG4",
        ("Live/Api/$connect-Route", "Live/Api/$default-Route"),
        "Browsers and CI cannot sign for IAM: the door checks the API key or a token before the connection is made.",
    ),
    Accepted(
        "AwsSolutions-SQS3",
        ("Cron/Undelivered", "Cron/Failed"),
        "They are dead-letter queues themselves, of a rule and of a function; only redrive policies are recognised.",
    ),
    Accepted(
        "Serverless-SQSRedrivePolicy",
        ("Cron/Undelivered", "Cron/Failed", "Work/Dead", "Letters/Dead", "Live/Dead"),
        "A dead-letter queue needs no dead-letter queue.",
    ),
    Accepted(
        "AwsSolutions-SMG4",
        tuple(f"Secrets/{name}" for name in ("Cron", "ApiKey", "Supabase", "R2", "BrightData", "Model", "Notify")),
        "Rotation needs the other side: the rule's input, or a key made in another service. A runbook does it.",
    ),
    Accepted(
        "AwsSolutions-S1",
        ("Publishing/Public", "Publishing/State"),
        "One is read by CloudFront alone and its content is public, the other by two roles; CloudTrail data events say "
        "more than access logs would, without a third bucket.",
    ),
    Accepted(
        "AwsSolutions-CFR1",
        ("Publishing/Cdn/Distribution",),
        "The files are for readers everywhere.",
    ),
    Accepted(
        "AwsSolutions-CFR2",
        ("Publishing/Cdn/Distribution",),
        "Static text from a private bucket, GET and HEAD only, no query strings: a firewall has nothing to inspect.",
    ),
    Accepted(
        "AwsSolutions-CFR3",
        ("Publishing/Cdn/Distribution",),
        "Access logs would record who reads public files; CloudFront's metrics answer the questions we ask.",
    ),
    Accepted(
        "AwsSolutions-CFR4",
        ("Publishing/Cdn/Distribution",),
        "The default certificate has a fixed policy. With publicDomain and certificateArn set, TLS 1.2 is the minimum.",
    ),
    Accepted(
        "Annotation::@aws-cdk/aws-cloudfront-origins:listBucketSecurityRisk",
        ("Publishing/Cdn/Distribution/Origin1",),
        "A default root object is set, and no query string reaches the bucket, so nothing can be listed.",
    ),
)


def acknowledge(stack: Stack) -> None:
    """Accept what this file accepts, on the constructs that this stage has."""
    for accepted, path in each():
        construct: IConstruct | None = stack
        for part in path.split("/"):
            construct = construct.node.try_find_child(part) if construct else None
        if construct:
            Validations.of(construct).acknowledge(Acknowledgment(id=accepted.rule, reason=accepted.reason))


def each() -> Iterator[tuple[Accepted, str]]:
    """Every acceptance with each of its paths."""
    return ((accepted, path) for accepted in ACCEPTED for path in accepted.paths)


def check(app: App) -> None:
    """Run both packs at synth: an open error fails it. What is accepted is written into the template, as a record."""
    packs = (AwsSolutionsChecks, ServerlessChecks)
    Validations.of(app).add_plugins(*(pack(app, write_suppressions_to_cloud_formation=True) for pack in packs))
