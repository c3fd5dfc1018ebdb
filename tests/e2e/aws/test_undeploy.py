"""The end of the story: `cdk destroy`, after every other file of this folder."""

from __future__ import annotations

import pytest

from tests.e2e.aws.conftest import STACK, Deployment

pytestmark = pytest.mark.e2e


def test_destroy_leaves_what_the_docs_say(deployment: Deployment) -> None:
    """The stack goes; published files and state stay."""
    (url, *_) = [site["llms_url"] for site in deployment.api("GET", "/sites").json()["sites"] if site["llms_url"]]
    bucket = deployment.outputs["StateBucket"]
    deployment.account.cdk("destroy", STACK, "--force", context=deployment.context)
    names = [found["Name"] for found in deployment.account.client("s3").list_buckets()["Buckets"]]
    assert bucket in names
    assert deployment.read(url).status_code == 200
    secrets = deployment.account.client("secretsmanager").list_secrets()["SecretList"]
    assert [secret["Name"] for secret in secrets if STACK in secret["Name"]] == []
