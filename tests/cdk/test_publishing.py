"""The public side: R2 by configuration, or a private bucket behind CloudFront; state apart from both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cdk.stack import AutoUpdatesStack
from tests.cdk.conftest import STAGES, Synth, as_list, properties, resources

R2 = {
    "publishing": "r2",
    "publicBaseUrl": "https://pub-abc123.r2.dev",
    "r2Endpoint": "https://0123456789abcdef.r2.cloudflarestorage.com",
    "r2Bucket": "llms",
}


def _worker(template: dict[str, Any]) -> dict[str, Any]:
    variables: dict[str, Any] = next(
        f["Environment"]["Variables"]
        for f in properties(template, "AWS::Lambda::Function")
        if f["Handler"] == "runtime.handlers.worker.handler"
    )
    return variables


def test_cloudfront_reads_a_private_bucket_through_origin_access_control(synth: Synth) -> None:
    """Only this distribution may read, and it may only read and list."""
    template = synth("prod")
    (distribution,) = resources(template, "AWS::CloudFront::Distribution")
    (control,) = properties(template, "AWS::CloudFront::OriginAccessControl")
    assert control["OriginAccessControlConfig"]["SigningBehavior"] == "always"
    allowed = [
        statement
        for policy in properties(template, "AWS::S3::BucketPolicy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert {action for s in allowed for action in as_list(s["Action"])} == {"s3:GetObject", "s3:ListBucket"}
    for statement in allowed:
        assert statement["Principal"] == {"Service": "cloudfront.amazonaws.com"}
        assert distribution in json.dumps(statement["Condition"]["StringEquals"]["AWS:SourceArn"])


def test_readers_get_the_headers_that_s3_cannot_store(synth: Synth) -> None:
    """The charset, and the Link that says which file describes this path; versions point up to theirs."""
    policies = properties(synth("prod"), "AWS::CloudFront::ResponseHeadersPolicy")
    links = set()
    for policy in policies:
        items = policy["ResponseHeadersPolicyConfig"]["CustomHeadersConfig"]["Items"]
        headers = {item["Header"]: item for item in items}
        assert headers["Content-Type"]["Value"] == "text/plain; charset=utf-8"
        assert all(item["Override"] is True for item in items)
        links.add(headers["Link"]["Value"])
    assert links == {'<llms.txt>; rel="describedby"', '<../llms.txt>; rel="describedby"'}


def test_a_change_is_seen_after_five_minutes_at_most_and_a_version_never_changes(synth: Synth) -> None:
    """The default behaviour caches for 300 s; objects named by their hash for a year."""
    template = synth("prod")
    (distribution,) = properties(template, "AWS::CloudFront::Distribution")
    config = distribution["DistributionConfig"]
    caching = resources(template, "AWS::CloudFront::CachePolicy")

    def ttl(behavior: dict[str, Any]) -> int:
        seconds: int = caching[behavior["CachePolicyId"]["Ref"]]["Properties"]["CachePolicyConfig"]["MaxTTL"]
        return seconds

    assert ttl(config["DefaultCacheBehavior"]) == 300
    (versions,) = config["CacheBehaviors"]
    assert (versions["PathPattern"], ttl(versions)) == ("*/versions/*", 365 * 86_400)
    assert config["DefaultCacheBehavior"]["ViewerProtocolPolicy"] == "redirect-to-https"
    assert config["DefaultRootObject"] == "llms.txt"


def test_a_domain_of_ones_own_comes_with_modern_tls(synth: Synth) -> None:
    arn = "arn:aws:acm:us-east-1:123456789012:certificate/0000"
    template = synth("prod", publicDomain="llms.example.com", certificateArn=arn)
    (distribution,) = properties(template, "AWS::CloudFront::Distribution")
    config = distribution["DistributionConfig"]
    assert config["Aliases"] == ["llms.example.com"]
    assert config["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    assert _worker(template)["LLMS_PUBLIC_BASE_URL"] == "https://llms.example.com"


def test_with_r2_there_is_no_cloudfront_and_state_stays_in_a_private_bucket(synth: Synth) -> None:
    """A public R2 bucket shows every key it holds, so state has an S3 bucket of its own."""
    template = synth("prod", **R2)
    assert not [name for name in template["Resources"] if "CloudFront" in template["Resources"][name]["Type"]]
    (state,) = resources(template, "AWS::S3::Bucket")
    variables = _worker(template)
    assert variables["LLMS_STATE_BUCKET"] == {"Ref": state}
    assert variables["LLMS_PUBLIC_BUCKET"] == "llms"
    assert variables["LLMS_PUBLIC_ENDPOINT_URL"] == R2["r2Endpoint"]
    assert variables["LLMS_PUBLIC_BASE_URL"] == R2["publicBaseUrl"]
    assert template["Outputs"]["PublicBaseUrl"]["Value"] == R2["publicBaseUrl"]


def test_with_s3_the_endpoint_is_empty(synth: Synth) -> None:
    """The publisher then talks to Amazon S3 with the function's own role."""
    variables = _worker(synth("prod"))
    assert variables["LLMS_PUBLIC_ENDPOINT_URL"] == ""
    assert set(variables["LLMS_PUBLIC_BUCKET"]) == {"Ref"}
    assert "LLMS_R2_SECRET_ARN" not in variables


@pytest.mark.parametrize("stage", STAGES)
def test_published_files_and_state_outlive_the_stack(synth: Synth, stage: str) -> None:
    """`cdk destroy` never takes back what was published, nor what days of polite crawling remember."""
    for bucket in resources(synth(stage), "AWS::S3::Bucket").values():
        assert (bucket["DeletionPolicy"], bucket["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_production_keeps_secrets_queues_and_logs_and_is_protected(
    synth: Synth, stack_of: Callable[..., AutoUpdatesStack]
) -> None:
    """Termination protection is not in the template, so it is asked of the stack."""
    template = synth("prod")
    for kind in ("AWS::SecretsManager::Secret", "AWS::Logs::LogGroup"):
        assert {body["DeletionPolicy"] for body in resources(template, kind).values()} == {"Retain"}
    dead = [q for q in resources(template, "AWS::SQS::Queue").values() if "RedrivePolicy" not in q["Properties"]]
    assert {body["DeletionPolicy"] for body in dead} == {"Retain"}
    assert stack_of("prod").termination_protection is True
    assert stack_of("dev").termination_protection is False
