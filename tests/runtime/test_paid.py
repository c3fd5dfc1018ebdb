"""Which paid services a process has: none unless set up, and never half of one."""

from __future__ import annotations

import json

import pytest

from runtime import environment as env
from runtime.errors import Misconfigured
from runtime.paid import cloud_paid, local_paid
from runtime.settings import Settings

KEY = "sk-secret-0123456789"


@pytest.mark.parametrize(
    ("environment", "model", "unlocker"),
    [
        ({}, False, False),
        ({"OPENROUTER_API_KEY": KEY, "OPENROUTER_MODEL": "a/model"}, True, False),
        ({"BRIGHTDATA_API_KEY": KEY, "BRIGHTDATA_ZONE": "zone"}, False, True),
        ({"BRIGHTDATA_API_KEY": KEY, "BRIGHTDATA_ZONE": "zone", "BRIGHTDATA_ENABLED": "false"}, False, False),
        ({"BRIGHTDATA_ENABLED": "true", "BRIGHTDATA_ZONE": "zone"}, False, False),
    ],
)
async def test_a_laptop_has_the_services_it_has_keys_for(
    environment: dict[str, str], model: bool, unlocker: bool
) -> None:
    """Without a key there is no service, and nothing to be told about."""
    paid = local_paid(environment, Settings())
    await paid.aclose()

    assert (paid.model is not None, paid.unlocker is not None) == (model, unlocker)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"OPENROUTER_API_KEY": KEY}, "OPENROUTER_MODEL"),
        ({"BRIGHTDATA_API_KEY": KEY}, "BRIGHTDATA_ZONE"),
        ({"BRIGHTDATA_API_KEY": KEY, "BRIGHTDATA_ZONE": "z", "BRIGHTDATA_ENABLED": "on"}, "BRIGHTDATA_ENABLED"),
    ],
)
def test_half_of_a_service_is_said_at_once(environment: dict[str, str], named: str) -> None:
    """The sentence names the variable that is missing or wrong, and no key."""
    with pytest.raises(Misconfigured, match=named) as refused:
        local_paid(environment, Settings())

    assert KEY not in str(refused.value)


class Vault:
    """Secrets by ARN, as Secrets Manager has them."""

    def __init__(self, **secrets: dict[str, str]) -> None:
        self.secrets = secrets

    async def fields(self, arn: str, *names: str) -> dict[str, str]:
        value: dict[str, str] = json.loads(json.dumps(self.secrets[arn]))
        if missing := [name for name in names if not value.get(name)]:
            raise Misconfigured(f"the secret lacks {', '.join(missing)}")
        return value


async def test_a_function_has_the_services_whose_secrets_it_is_told_of() -> None:
    """The worker's variables name them; a door that is told of none reads none."""
    vault = Vault(model={"api_key": KEY, "model": "a/model", "base_url": "https://llm.example/v1"}, bd={"api_key": KEY})
    paid = await cloud_paid({env.MODEL_SECRET_ARN: "model"}, vault, Settings())  # type: ignore[arg-type]
    await paid.aclose()

    assert paid.model is not None
    assert paid.model.name == "a/model"
    assert paid.unlocker is None
    assert (await cloud_paid({}, vault, Settings())).web is None  # type: ignore[arg-type]
    with pytest.raises(Misconfigured, match="zone"):
        await cloud_paid({env.BRIGHTDATA_SECRET_ARN: "bd"}, vault, Settings())  # type: ignore[arg-type]
