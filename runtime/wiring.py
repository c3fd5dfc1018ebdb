"""Chooses the adapters of a process. The pipeline knows ports only; here is the one place that knows which is which."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from runtime import environment as env
from runtime.errors import Misconfigured, Refused, StoreDown
from runtime.paid import cloud_paid, local_paid
from runtime.ports import Clock, Events, World
from runtime.settings import FetchPolicy, Settings, number, require, scheduling, unlocks_of_all

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.aws.client import Sqs
    from runtime.handlers.vault import Vault
    from runtime.ports import Letters, Publisher, States, Web

PUBLISHED, STATES, DATABASE, UNDELIVERED = "published", "states", "sites.db", "undelivered"
"""What a home folder holds: published files, private state objects, rows, notifications that nobody took."""


def utc_now() -> datetime:
    """The real clock; doors pass it on, everything below is given the time."""
    return datetime.now(UTC)


@asynccontextmanager
async def embedded_world(
    home: Path,
    *,
    settings: Settings,
    events: Events,
    base_url: str,
    clock: Clock = utc_now,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[World]:
    """Everything on one machine: SQLite, folders, an in-process queue.

    :param home: the folder for all state; made if missing.
    :param base_url: the public domain that `published/` is served under.
    :param environment: where the keys of paid services are; there are none without it.
    :raises CorruptState: the database file is damaged. :raises StoreDown: the folder cannot be written.
    """
    from runtime.publish.folder import FolderPublisher, FolderStates
    from runtime.queues.letters import FolderLetters
    from runtime.queues.memory import MemoryQueue
    from runtime.sites.sqlite import SqliteSites
    from runtime.web.fetch import FetchClient

    try:
        home.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 - once, before anything else runs
    except OSError as error:
        raise StoreDown(f"{home} cannot be used ({error.strerror}); choose another folder with --home") from None
    paid = local_paid(environment or {}, settings)
    web = FetchClient(settings.policy, settings.limits)
    with SqliteSites(home / DATABASE, clock=clock) as sites:
        try:
            yield World(
                web=web,
                sites=sites,
                publisher=FolderPublisher(home / PUBLISHED, base_url),
                states=FolderStates(home / STATES),
                queue=MemoryQueue(),
                events=events,
                clock=clock,
                settings=settings,
                model=paid.model,
                unlocker=paid.unlocker,
                letters=FolderLetters(home / UNDELIVERED),
            )
        finally:
            await web.aclose()
            await paid.aclose()


async def cloud_world(
    environment: Mapping[str, str],
    *,
    needed: tuple[str, ...],
    vault: Vault,
    sqs: Sqs,
    events: Events,
    clock: Clock = utc_now,
    store_seconds: float = 5.0,
) -> World:
    """The adapters of a Lambda process: Supabase, R2 or S3, SQS.

    What not every invocation needs (the buckets, the fetch client) is opened by its first call: a webhook's answer does
    not wait for it.

    :param needed: variables without which this door cannot work.
    :raises Misconfigured: a variable is missing, or a secret is not filled in.
    :raises StoreDown: the secrets cannot be read.
    """
    from runtime.publish.opening import OnFirstUse, OpenedPublisher
    from runtime.queues.sqs import SqsQueue
    from runtime.sites.supabase import SupabaseSites

    require(environment, *needed)
    supabase = await vault.fields(environment[env.SUPABASE_SECRET_ARN], "url", "key")
    settings = await with_notices(cloud_settings(environment), environment, vault)
    paid = await cloud_paid(environment, vault, settings)

    def web() -> Web:
        from runtime.web.fetch import FetchClient

        return FetchClient(settings.policy, settings.limits)

    def letters() -> Letters:
        from runtime.queues.letters import SqsLetters

        return SqsLetters(sqs, environment[env.LETTERS_QUEUE_URL])

    def states() -> States:
        from runtime.publish.s3 import S3States, make_client

        return S3States(make_client(), environment[env.STATE_BUCKET])

    return World(
        web=cast("Web", OnFirstUse(web)),
        sites=SupabaseSites(supabase["url"], supabase["key"], timeout_seconds=store_seconds),
        publisher=OpenedPublisher(lambda: public_bucket(environment, vault), environment.get(env.PUBLIC_BASE_URL, "")),
        states=cast("States", OnFirstUse(states)),
        queue=SqsQueue(sqs, environment[env.QUEUE_URL], events=events),
        events=events,
        clock=clock,
        settings=settings,
        model=paid.model,
        unlocker=paid.unlocker,
        letters=cast("Letters", OnFirstUse(letters)) if environment.get(env.LETTERS_QUEUE_URL) else None,
    )


async def with_notices(settings: Settings, environment: Mapping[str, str], vault: Vault) -> Settings:
    """The settings with whom to tell of every site's changes, where the stack names such a secret to this function.

    :raises Misconfigured: the secret is not filled in, or its URL is not one that may be called.
    :raises StoreDown: it cannot be read.
    """
    arn = environment.get(env.NOTIFY_SECRET_ARN)
    if not arn:
        return settings
    given = await vault.fields(arn, "url", "secret")
    before = previous_secret(await vault.text(arn, "AWSPREVIOUS"))
    secrets = dict.fromkeys(filter(None, (given["secret"], before)))
    return replace(settings, notify_url=notify_url(given["url"], settings.policy), notify_secrets=tuple(secrets))


def previous_secret(text: str) -> str:
    """The `secret` of the version before, which goes on signing until the next rotation; empty where there is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return ""  # it was never filled in
    secret = value.get("secret") if isinstance(value, dict) else None
    return secret if isinstance(secret, str) else ""


def notify_url(text: str, policy: FetchPolicy) -> str:
    """The deployment's address for notifications, judged by the gate like a site's; empty for none.

    :raises Misconfigured: the gate would not let a message out to it.
    """
    from runtime.web.gate import check_url

    try:
        return check_url(text, policy).url if text else ""
    except Refused as refused:
        raise Misconfigured(f"the address for notifications: {refused}", code="bad_configuration") from None


async def public_bucket(environment: Mapping[str, str], vault: Vault) -> Publisher:
    """The public bucket: R2 where its secret is named, else S3.

    :raises Misconfigured: the secret is not filled in. :raises StoreDown: it cannot be read.
    """
    from runtime.publish.s3 import S3Publisher, make_client

    base_url = environment.get(env.PUBLIC_BASE_URL, "")
    if not environment.get(env.R2_SECRET_ARN):
        return S3Publisher(make_client(), environment.get(env.PUBLIC_BUCKET, ""), base_url)
    r2 = await vault.fields(environment[env.R2_SECRET_ARN], "endpoint", "access_key_id", "secret_access_key", "bucket")
    client = make_client(
        endpoint_url=r2["endpoint"], access_key_id=r2["access_key_id"], secret_access_key=r2["secret_access_key"]
    )
    return S3Publisher(client, r2["bucket"], base_url)


def cloud_settings(environment: Mapping[str, str]) -> Settings:
    """The settings that the stack put into the environment.

    :raises Misconfigured: a number is none, or a schedule that does not exist.
    """
    networks = tuple(part for part in environment.get(env.ALLOW_NETWORKS, "").split(",") if part)
    hosts = tuple(part for part in environment.get(env.SELF_HOSTS, "").split(",") if part)
    defaults = Settings()
    return Settings(
        stage=environment.get(env.STAGE, "unknown"),
        policy=FetchPolicy(allow_networks=networks, allow_any_port=bool(networks), self_hosts=hosts),
        claim_batch=number(environment, env.CLAIM_BATCH, defaults.claim_batch),
        lease_seconds=number(environment, env.LEASE_SECONDS, defaults.lease_seconds),
        unlocks_per_month_of_all=unlocks_of_all(environment),
        **scheduling(environment),
    )
