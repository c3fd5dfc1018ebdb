"""Whom a deployment tells of every site's changes: the secret, as moto keeps it behind the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from runtime import environment as env
from runtime.errors import Misconfigured, StoreDown
from runtime.handlers.vault import RENEW_SECONDS, Vault
from runtime.settings import FetchPolicy, Settings
from runtime.webhook import new_secret
from runtime.wiring import with_notices
from tests.safety.vault import Silent

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

URL, FIRST, SECOND, THIRD = "https://ops.example.com/h?key=1", new_secret(), new_secret(), new_secret()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def secrets() -> Iterator[SecretsManagerClient]:
    with mock_aws():
        yield boto3.client(
            "secretsmanager", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )


def made(client: SecretsManagerClient, value: Any) -> dict[str, str]:
    """The environment of a function that is told of the secret."""
    text = value if isinstance(value, str) else json.dumps(value)
    return {env.NOTIFY_SECRET_ARN: client.create_secret(Name="notify", SecretString=text)["ARN"]}


async def test_a_stage_without_notifications_asks_for_no_secret() -> None:
    """The secret store is not even called."""
    assert await with_notices(Settings(), {}, Vault(Silent(), Clock())) == Settings()  # type: ignore[arg-type]


async def test_a_rotated_secret_signs_beside_its_successor(secrets: SecretsManagerClient) -> None:
    """The receiver changes over when it likes, until the next rotation; the new one comes first."""
    environment, clock = made(secrets, {"url": URL, "secret": FIRST}), Clock()
    vault, arn = Vault(secrets, clock), environment[env.NOTIFY_SECRET_ARN]
    settings = await with_notices(Settings(), environment, vault)
    assert (settings.notify_url, settings.notify_secrets) == (URL, (FIRST,))

    for secret, valid in ((SECOND, (SECOND, FIRST)), (THIRD, (THIRD, SECOND))):
        secrets.put_secret_value(SecretId=arn, SecretString=json.dumps({"url": URL, "secret": secret}))
        clock.now += RENEW_SECONDS
        vault.renew()
        assert (await with_notices(Settings(), environment, vault)).notify_secrets == valid


async def test_another_address_under_the_same_secret_signs_once(secrets: SecretsManagerClient) -> None:
    """Two versions with one secret are one signature."""
    environment = made(secrets, {"url": "https://old.example.com/", "secret": FIRST})
    secrets.put_secret_value(
        SecretId=environment[env.NOTIFY_SECRET_ARN], SecretString=json.dumps({"url": URL, "secret": FIRST})
    )
    settings = await with_notices(Settings(), environment, Vault(secrets, Clock()))
    assert (settings.notify_url, settings.notify_secrets) == (URL, (FIRST,))


async def test_the_first_version_may_have_been_anything(secrets: SecretsManagerClient) -> None:
    """A placeholder that was filled in later signs nothing."""
    environment = made(secrets, "to be filled in")
    secrets.put_secret_value(
        SecretId=environment[env.NOTIFY_SECRET_ARN], SecretString=json.dumps({"url": URL, "secret": FIRST})
    )
    assert (await with_notices(Settings(), environment, Vault(secrets, Clock()))).notify_secrets == (FIRST,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("to be filled in", "lacks url, secret"),
        ({"url": URL}, "lacks secret"),
        ({"url": "http://169.254.169.254/", "secret": FIRST}, "the address for notifications"),
        ({"url": "https://hooks.internal/", "secret": FIRST}, "the address for notifications"),
        ({"url": "https://api.example.com/", "secret": FIRST}, "the address for notifications"),
    ],
)
async def test_a_secret_that_cannot_be_used_is_a_fault_of_the_configuration(
    secrets: SecretsManagerClient, value: Any, said: str
) -> None:
    """Not filled in, half filled in, or an address that the gate lets nothing out to: private, or our own host."""
    settings = Settings(policy=FetchPolicy(self_hosts=("api.example.com",)))
    with pytest.raises(Misconfigured, match=said):
        await with_notices(settings, made(secrets, value), Vault(secrets, Clock()))


async def test_a_secret_is_known_as_soon_as_it_is_filled_in() -> None:
    """A worker that ran before does not hold on to the empty one. The words are those of AWS; moto's are others."""
    client = boto3.client(
        "secretsmanager", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    environment, vault = {env.NOTIFY_SECRET_ARN: "arn:aws:secretsmanager:x:1:secret:n"}, Vault(client, Clock())
    label = "Secrets Manager can't find the specified secret value for staging label: "
    with Stubber(client) as stub:
        stub.add_client_error("get_secret_value", "ResourceNotFoundException", label + "AWSCURRENT")
        with pytest.raises(Misconfigured, match="lacks url, secret: fill it as docs"):
            await with_notices(Settings(), environment, vault)
        stub.add_response("get_secret_value", {"SecretString": json.dumps({"url": URL, "secret": FIRST})})
        stub.add_client_error("get_secret_value", "ResourceNotFoundException", label + "AWSPREVIOUS")
        assert (await with_notices(Settings(), environment, vault)).notify_secrets == (FIRST,)
        stub.assert_no_pending_responses()


async def test_a_secret_that_does_not_exist_is_not_taken_for_an_empty_one(secrets: SecretsManagerClient) -> None:
    """It was deleted, or the ARN is wrong: filling it in would not help."""
    environment = made(secrets, {"url": URL, "secret": FIRST})
    secrets.delete_secret(SecretId=environment[env.NOTIFY_SECRET_ARN], ForceDeleteWithoutRecovery=True)
    with pytest.raises(Misconfigured) as gone:
        await with_notices(Settings(), environment, Vault(secrets, Clock()))
    assert gone.value.code == "secret_refused"


async def test_a_silent_secret_store_is_no_stage_without_notifications() -> None:
    """Nobody may take it for "tell nobody"."""
    with pytest.raises(StoreDown):
        await with_notices(Settings(), {env.NOTIFY_SECRET_ARN: "arn:x"}, Vault(Silent(), Clock()))  # type: ignore[arg-type]
