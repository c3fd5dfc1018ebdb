"""CloudFront in front of the private bucket: what readers of llms.txt talk to."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.config import StageConfig

FRESH_SECONDS = 300
"""How long a reader may see the file from before a change: the promise of the product, and its Cache-Control."""

VERSIONS = "*/versions/*"
"""Keys that hold a hash and never change."""


class Distribution(Construct):
    """HTTPS only, origin access control, five minutes of caching, the headers that S3 cannot store."""

    distribution: cloudfront.Distribution
    host: str

    def __init__(self, scope: Construct, id_: str, *, bucket: s3.Bucket, config: StageConfig) -> None:
        super().__init__(scope, id_)
        # LIST lets S3 say 404 for a file that is not there instead of 403; the default root object keeps `/` from
        # becoming a listing, and no query string reaches the bucket.
        origin = origins.S3BucketOrigin.with_origin_access_control(
            bucket, origin_access_levels=[cloudfront.AccessLevel.READ, cloudfront.AccessLevel.LIST]
        )
        self.distribution = cloudfront.Distribution(
            self,
            "Distribution",
            comment=f"llms.txt files ({config.stage})",
            default_behavior=self._behavior("Files", origin, "llms.txt", fresh=Duration.seconds(FRESH_SECONDS)),
            additional_behaviors={
                VERSIONS: self._behavior("Versions", origin, "../llms.txt", fresh=Duration.days(365)),
            },
            default_root_object="llms.txt",
            domain_names=[config.public_domain] if config.public_domain else None,
            certificate=(
                acm.Certificate.from_certificate_arn(self, "Certificate", config.certificate_arn)
                if config.certificate_arn
                else None
            ),
            # The default certificate has a fixed policy, and CloudFront says so when given another.
            minimum_protocol_version=(
                cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021 if config.certificate_arn else None
            ),
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            price_class=cloudfront.PriceClass.PRICE_CLASS_ALL,
            error_responses=[cloudfront.ErrorResponse(http_status=404, ttl=Duration.seconds(30))],
        )
        self.host = config.public_domain or self.distribution.distribution_domain_name

    def _behavior(
        self, id_: str, origin: cloudfront.IOrigin, describes: str, *, fresh: Duration
    ) -> cloudfront.BehaviorOptions:
        """One path's caching and headers. `describes` is the llms.txt of that path, relative to it (RFC 8288 3.1)."""
        caching = cloudfront.CachePolicy(
            self,
            f"{id_}Caching",
            comment=f"llms.txt: {fresh.to_seconds():.0f} seconds at most",
            default_ttl=fresh,
            min_ttl=Duration.seconds(0),
            max_ttl=fresh,
            enable_accept_encoding_gzip=True,
            enable_accept_encoding_brotli=True,
        )
        headers = cloudfront.ResponseHeadersPolicy(
            self,
            f"{id_}Headers",
            comment="llms.txt: what S3 metadata cannot say",
            custom_headers_behavior=cloudfront.ResponseCustomHeadersBehavior(
                custom_headers=[
                    cloudfront.ResponseCustomHeader(
                        header="Link", value=f'<{describes}>; rel="describedby"', override=True
                    ),
                    cloudfront.ResponseCustomHeader(
                        header="Content-Type", value="text/plain; charset=utf-8", override=True
                    ),
                ]
            ),
            cors_behavior=cloudfront.ResponseHeadersCorsBehavior(
                access_control_allow_credentials=False,
                access_control_allow_headers=["*"],
                access_control_allow_methods=["GET", "HEAD"],
                access_control_allow_origins=["*"],
                origin_override=True,
            ),
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=Duration.days(365), override=True
                ),
            ),
        )
        return cloudfront.BehaviorOptions(
            origin=origin,
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
            allowed_methods=cloudfront.AllowedMethods.ALLOW_GET_HEAD,
            cache_policy=caching,
            response_headers_policy=headers,
            compress=True,
        )
