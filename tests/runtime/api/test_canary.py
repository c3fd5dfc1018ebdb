"""Secrets stay where they are: a made-up one each, looked for in everything that the API says or passes on."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any, NoReturn

from runtime import webhook
from runtime.api import Secrets
from runtime.http import Answer, Request
from runtime.models import Outcome, SiteOptions
from runtime.registry import Enrollment
from tests.runtime.api.conftest import BASE, CRON, KEY, OLD_KEY, START, Service

HOOK, TICK = "/internal/hooks/site-changed", "/internal/cron/recrawl"


class Leaky:
    """A store whose every call fails with a text that quotes what it was given, as databases do."""

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any, **named: Any) -> NoReturn:
            raise RuntimeError(f"{name} failed: {given} {named} with {KEY} {CRON}")

        return call


async def test_no_secret_leaves_the_api(service: Service) -> None:
    """Every route, called well, badly and with a store that fails: the two answers that show a new secret do, once."""
    site = await service.enroll(maxPages=5)
    first = site["webhook_secret"]
    answers: list[Answer] = []
    heard: set[str] = {first}

    async def everything() -> None:
        one = f"/sites/{site['id']}"
        secrets = {"x-api-key": KEY, "x-cron-secret": CRON}
        paths = ("/sites", one, f"{one}/runs", f"{one}/pause", f"{one}/rollback", f"{one}/confirm", HOOK, TICK)
        bodies = (None, {"base_url": BASE, "webhook_secret": first}, {"webhook_secret": first}, first.encode())
        for method, path, body in product(("GET", "POST", "PATCH"), paths, bodies):
            answers.append(await service.call(method, path, body, headers=secrets))
        answers.append(await service.call("POST", f"{HOOK}?webhook_secret={first}", {"base_url": BASE}))
        answers.append(await service.call("POST", "/sites", {"url": BASE, KEY: CRON}))
        answers.append(await service.call("POST", "/sites", {"url": f"https://{first}@docs.example.com"}))
        rotated = await service.call("POST", f"{one}/secret")
        if rotated.status == 200:
            heard.add(rotated.body["webhook_secret"])

    await everything()
    await service.crawl(site["id"], Outcome.FAILED, error="down", failure_count=1)
    leaky: Any = Leaky()
    service.api = replace(service.api, world=replace(service.world, sites=leaky))
    await everything()

    statuses = {answer.status for answer in answers}
    assert {200, 400, 401, 404, 405, 422, 500} <= statuses
    said = [json.dumps(dict(answer.body)) + str(answer.headers) + repr(answer) for answer in answers]
    said += [f"{name} {fields}" for name, fields in service.said]
    assert len(heard) == 2
    for secret in (*heard, CRON, KEY, OLD_KEY):
        # A field that a caller makes up is named in the refusal of it; nothing else repeats what was sent.
        leaks = [text for text in said if secret in text and f"{secret}: unknown field" not in text]
        assert leaks == []


async def test_no_repr_shows_a_secret(service: Service) -> None:
    """A value that ends up in a log line or a traceback by mistake has left its secrets out."""
    site = await service.enroll()
    row = await service.sites.rotate_secret(site["id"], webhook.new_secret(), overlap_seconds=60)
    request = Request(
        method="POST", path=HOOK, headers={"x-api-key": KEY}, query=f"s={CRON}", body=row.webhook_secret.encode()
    )
    claim = await service.sites.claim_site(row.id, lease_seconds=60, owner="worker")
    enrollment = Enrollment(base_url=BASE, options=SiteOptions(), webhook_secret=row.webhook_secret)
    answer = Answer(200, {"webhook_secret": row.webhook_secret})
    shown = repr((row, request, claim, enrollment, answer, Secrets(cron=(CRON,), api_keys=(KEY,)), START))

    assert row.previous_webhook_secret == site["webhook_secret"]
    for secret in (row.webhook_secret, row.previous_webhook_secret, KEY, CRON):
        assert secret not in shown
