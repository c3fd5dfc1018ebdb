"""The paid services of a process: a model for descriptions and an unlocker for pages, each only where it is set up.

Both go out through a fetch client of their own: the same gate, but answers that may take a minute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runtime import environment as env
from runtime.errors import Misconfigured
from runtime.models import Site
from runtime.ports import Model, Unlocker, Web, World
from runtime.settings import Settings

if TYPE_CHECKING:
    from runtime.handlers.vault import Vault
    from runtime.web.fetch import FetchClient

ANSWER_SECONDS = 60.0

MODEL_KEY, MODEL, MODEL_URL = "OPENROUTER_API_KEY", "OPENROUTER_MODEL", "OPENROUTER_BASE_URL"
UNLOCKER_KEY, ZONE, ENABLED = "BRIGHTDATA_API_KEY", "BRIGHTDATA_ZONE", "BRIGHTDATA_ENABLED"
"""A laptop's variables; in the cloud the values are in secrets."""


@dataclass(frozen=True, slots=True)
class Paid:
    """None where a service is not set up."""

    model: Model | None = None
    unlocker: Unlocker | None = None
    web: FetchClient | None = None

    async def aclose(self) -> None:
        if self.web is not None:
            await self.web.aclose()


def local_paid(environment: Mapping[str, str], settings: Settings) -> Paid:
    """The services of a laptop.

    :raises Misconfigured: a key is set without its model or zone, or BRIGHTDATA_ENABLED is neither true nor false.
    """
    model = unlocker = None
    web = _client(settings)
    if environment.get(MODEL_KEY):
        name = _beside(environment, MODEL_KEY, MODEL)
        model = _model(web, environment[MODEL_KEY], name, environment.get(MODEL_URL, ""))
    if environment.get(UNLOCKER_KEY) and _flag(environment, ENABLED):
        unlocker = _unlocker(web, environment[UNLOCKER_KEY], _beside(environment, UNLOCKER_KEY, ZONE))
    return Paid(model, unlocker, web) if model or unlocker else Paid()


async def cloud_paid(environment: Mapping[str, str], vault: Vault, settings: Settings) -> Paid:
    """The services whose secrets the stack names to this function.

    :raises Misconfigured: a secret is not filled in. :raises StoreDown: it cannot be read.
    """
    model = unlocker = None
    model_arn, unlocker_arn = environment.get(env.MODEL_SECRET_ARN), environment.get(env.BRIGHTDATA_SECRET_ARN)
    if not (model_arn or unlocker_arn):
        return Paid()
    web = _client(settings)
    if model_arn:
        given = await vault.fields(model_arn, "api_key", "model")
        model = _model(web, given["api_key"], given["model"], given.get("base_url", ""))
    if unlocker_arn:
        given = await vault.fields(unlocker_arn, "api_key", "zone")
        unlocker = _unlocker(web, given["api_key"], given["zone"])
    return Paid(model, unlocker, web)


async def unlocks_in_words(world: World, row: Site) -> str | None:
    """Pages through the unlocker in this month, of the site and of all sites; None where there is no unlocker."""
    if world.unlocker is None or not row.options.use_brightdata:
        return None
    from runtime.crawl.unlock import calls_of
    from runtime.state import decode

    pages = calls_of(decode(await world.states.load(row.id)).unlocks, world.clock())
    taken, settings = await world.sites.unlocks_taken(), world.settings
    return (
        f"{pages} of {settings.unlocks_per_month} pages in this month; "
        f"{taken} of {settings.unlocks_per_month_of_all} of all sites"
    )


def _client(settings: Settings) -> FetchClient:
    from runtime.web.fetch import FetchClient

    limits = replace(
        settings.limits,
        requests_per_second=0,
        request_deadline_seconds=ANSWER_SECONDS,
        first_byte_seconds=ANSWER_SECONDS,
    )
    return FetchClient(settings.policy, limits)


def _model(web: Web, api_key: str, name: str, base_url: str) -> Model:
    from runtime.enhance.openai_compatible import OPENROUTER, OpenAiCompatible

    return OpenAiCompatible(web, api_key=api_key, model=name, base_url=base_url or OPENROUTER)


def _unlocker(web: Web, api_key: str, zone: str) -> Unlocker:
    from runtime.web.unlocker import BrightData

    return BrightData(web, api_key=api_key, zone=zone)


def _beside(environment: Mapping[str, str], key: str, name: str) -> str:
    if not environment.get(name):
        raise Misconfigured(f"{key} is set but {name} is not: set both, or neither", code="missing_configuration")
    return environment[name]


def _flag(environment: Mapping[str, str], name: str) -> bool:
    text = environment.get(name, "true").strip().lower()
    if text not in ("true", "1", "yes", "false", "0", "no", ""):
        raise Misconfigured(f"{name} must be true or false, not {text!r}", code="bad_configuration")
    return text in ("true", "1", "yes")
