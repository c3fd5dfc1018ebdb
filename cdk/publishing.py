"""Where files are published, and where the private state of the sites lives.

Two ways to publish: Cloudflare R2, of which this stack knows only the address, or a private bucket behind CloudFront.
State has a bucket of its own either way, because a public bucket shows every key it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.config import StageConfig
from cdk.distribution import Distribution
from cdk.function import RuntimeFunction

OBJECT_READ, OBJECT_WRITE, OBJECT_DELETE = "s3:GetObject", "s3:PutObject", "s3:DeleteObject"


class Publishing(Construct):
    """The public side and the state bucket. `base_url` is what readers' URLs begin with, `host` its name."""

    state: s3.Bucket
    public: s3.Bucket | None
    distribution: Distribution | None
    base_url: str
    host: str
    endpoint_url: str
    public_bucket_name: str

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig) -> None:
        super().__init__(scope, id_)
        self.state = self._bucket("State", keep_replaced_for=Duration.days(7))
        if config.publishing == "r2":
            assert config.public_base_url is not None
            assert config.r2_endpoint is not None
            assert config.r2_bucket is not None
            self.public = self.distribution = None
            self.base_url, self.host = config.public_base_url, urlsplit(config.public_base_url).hostname or ""
            self.endpoint_url, self.public_bucket_name = config.r2_endpoint, config.r2_bucket
            return
        self.public = self._bucket("Public", keep_replaced_for=Duration.days(30))
        self.distribution = Distribution(self, "Cdn", bucket=self.public, config=config)
        self.host = self.distribution.host
        self.base_url = f"https://{self.host}"
        self.endpoint_url, self.public_bucket_name = "", self.public.bucket_name

    def grant_state(self, to: RuntimeFunction, *actions: str) -> None:
        """Allow `actions` on the state objects."""
        _grant(self.state, to, actions)

    def grant_public(self, to: RuntimeFunction, *actions: str) -> None:
        """Allow `actions` on the published files. R2 is opened by its own secret instead."""
        if self.public is not None:
            _grant(self.public, to, actions)

    def _bucket(self, id_: str, *, keep_replaced_for: Duration) -> s3.Bucket:
        # Kept when the stack goes: what is in it was published to the world, or took days of polite crawling.
        return s3.Bucket(
            self,
            id_,
            versioned=True,
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            removal_policy=RemovalPolicy.RETAIN,
            lifecycle_rules=[
                s3.LifecycleRule(
                    noncurrent_version_expiration=keep_replaced_for,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    expired_object_delete_marker=True,
                )
            ],
        )


def _grant(bucket: s3.Bucket, to: RuntimeFunction, actions: Sequence[str]) -> None:
    # The bucket's own grant methods give whole families (s3:GetObject*, s3:List*); these are the calls that are made.
    # Listing is allowed because without it S3 answers 403, not 404, for a key that is not there.
    for statement_actions, arns in ((actions, [bucket.arn_for_objects("*")]), (["s3:ListBucket"], [bucket.bucket_arn])):
        iam.Grant.add_to_principal(
            grantee=to.function, actions=list(statement_actions), resource_arns=arns
        ).assert_success()
