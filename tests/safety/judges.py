"""What a row of the webhook cases expects, word by word: each judge yields what was wrong."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from runtime import metrics
from runtime.sites.rows import instant
from tests.safety.bench import Bench, call, event_of, moment
from tests.safety.played import Played

Judge = Callable[[Played, Any], Iterator[str]]

DEBOUNCE = 300
ALARMS = {"WebhookAuthFailures": metrics.WEBHOOK_UNAUTHORIZED}
"""The rows' names of alarms, and the metric that the alarm watches."""


def judge_of(word: str) -> Judge | None:
    """How a word of `expect` is judged; None for one that is not understood."""
    if word in WRONG_STATUS_WORDS:
        return lambda _, __: iter(())
    if found := re.fullmatch(r"headers_on_(\d{3})", word):
        return lambda played, names: _headers_on(played, int(found[1]), names)
    if re.fullmatch(r"\w*_ms", word):
        return _within
    return JUDGES.get(word)


WRONG_STATUS_WORDS = ("status", "status_any", "code", "codes", "second")


def wrong_status(played: Played, expect: Mapping[str, Any], answer: dict[str, Any], where: str) -> Iterator[str]:
    allowed = expect.get("status_any", [expect.get("status", answer["statusCode"])])
    body = json.loads(answer["body"])
    if answer["statusCode"] not in allowed:
        yield f"{where}answered {answer['statusCode']} {body}, not {allowed}"
    said = _code(answer)
    if said not in (expect.get("codes") or [expect.get("code", said)]):
        yield f"{where}said {said}, not {expect.get('codes') or expect.get('code')}"
    if answer["statusCode"] >= 400 and set(body) - {"field"} != {"detail", "code", "request_id"}:
        yield f"{where}an error of another shape: {sorted(body)}"
    if answer["statusCode"] in (429, 503) and "retry-after" not in answer["headers"]:
        yield f"{where}{answer['statusCode']} without Retry-After"


def leaks(played: Played) -> Iterator[str]:
    secrets = [played.fixture["cron_secret"]]
    for site in played.fixture["sites"].values():
        secrets += filter(None, (site["secret"], site.get("previous_secret")))
    for secret in secrets:
        shown = (secret, json.dumps(secret).strip('"'))
        if any(text in line for text in shown for line in played.bench.log):
            yield "a secret is in the log"
        if any(text in answer["body"] for text in shown for answer in played.answers):
            yield "a secret is in an answer"


def scheduled(played: Played, wanted: bool) -> Iterator[str]:
    """True: the site has a new request and is crawled sooner, or at once again. False: its crawl time stays."""
    status = played.answers[0]["statusCode"]
    site, was = played.site_in(played.after), played.site_in(played.before)
    if wanted:
        if site is None or was is None or site["requested_at"] is None or site["next_crawl_at"] is None:
            yield "no crawl was asked for"
        elif was["next_crawl_at"] is not None and site["next_crawl_at"] > was["next_crawl_at"]:
            yield "the crawl was put off"
        elif "next_crawl_at" not in played.row["expect"] and instant(site["next_crawl_at"]) > played.bench.now:
            yield f"the crawl waits until {site['next_crawl_at']}"
    elif status >= 400 and played.before != played.after:
        yield "a refused call changed a row"
    elif status >= 400 and len(played.bench.world.queue):  # type: ignore[arg-type]
        yield "a refused call queued a run"
    elif site and was and site["next_crawl_at"] != was["next_crawl_at"]:
        yield f"the crawl time moved to {site['next_crawl_at']}"


def next_crawl_at(played: Played, wanted: str) -> Iterator[str]:
    site, was = played.site_in(played.after), played.site_in(played.before)
    assert site is not None
    assert was is not None
    if wanted == "unchanged":
        if site["next_crawl_at"] != was["next_crawl_at"]:
            yield f"next_crawl_at moved to {site['next_crawl_at']}"
        return
    found = re.fullmatch(r"(<=|>=|=|==|<|>)?\s*(\w+)(?:\s*([+-])\s*(\d+)\s*s?)?", wanted)
    if found is None:
        raise KeyError(f"next_crawl_at {wanted}")
    given = {**played.fixture, **played.given_site()}
    limit = moment(given[found[2]]) + timedelta(seconds=int(f"{found[3] or '+'}{found[4] or 0}"))
    at = instant(site["next_crawl_at"])
    holds = {"<=": at <= limit, ">=": at >= limit, "<": at < limit, ">": at > limit}.get(found[1] or "", at == limit)
    if not holds:
        yield f"next_crawl_at is {at}, not {wanted} ({limit})"


def crawls(played: Played, wanted: int) -> Iterator[str]:
    """Crawls in the debounce from the first call on: all calls before any work, and a worker between every two."""
    slow = _count_crawls(played, eager=False)
    eager = _count_crawls(played, eager=True)
    if (slow, eager) != (wanted, wanted):
        yield f"{slow} crawls with a slow worker, {eager} with an eager one, not {wanted}"


def _count_crawls(played: Played, *, eager: bool) -> int:
    async def count() -> int:
        bench, calls = Bench(played.fixture), played.row.get("repeat", 1)
        await bench.seed()
        await bench.work()  # what is due anyway
        api, began = await bench.api(), bench.now
        done: list[str] = []
        for _ in range(calls):
            await call(api, event_of(played.row["request"]))
            done += await bench.work() if eager else []
            bench.now += timedelta(seconds=60 / calls)
        done += await bench.crawls(seconds=DEBOUNCE - 1 - round((bench.now - began).total_seconds()))
        bench.store.close()
        return done.count(played.given_site()["base_url"])

    return asyncio.run(count())


def sweeps(played: Played, wanted: int) -> Iterator[str]:
    """Ticks that found something to do; no site may be queued twice."""
    totals = [json.loads(answer["body"]).get("total", 0) for answer in played.answers]
    if sum(total > 0 for total in totals) != wanted:
        yield f"the ticks claimed {totals}"
    queued = asyncio.run(played.bench.world.queue.receive(1_000))  # type: ignore[attr-defined]
    if len({message.site_id for message in queued}) != len(queued):
        yield "a site was queued twice"


def must_not_change(played: Played, columns: list[str]) -> Iterator[str]:
    for base, row in played.end.items():
        changed = [name for name in columns if row[name] != played.before[base][name]]
        if changed:
            yield f"{base}: {changed} changed"


def must_not_contain(played: Played, texts: list[str]) -> Iterator[str]:
    said = [f"{answer['headers']} {answer['body']}" for answer in played.answers]
    yield from (f"the answer holds {text!r}" for text in texts if any(text in one for one in said))


def must_contain(played: Played, texts: list[str]) -> Iterator[str]:
    said = [f"{answer['headers']} {answer['body']}" for answer in played.answers]
    yield from (f"the answer lacks {text!r}" for text in texts if not all(text in one for one in said))


def logs_must_not_contain(played: Played, texts: list[str]) -> Iterator[str]:
    yield from (f"the log holds {text!r}" for text in texts if any(text in line for line in played.bench.log))


def logs_must_contain(played: Played, texts: list[str]) -> Iterator[str]:
    yield from (f"the log lacks {text!r}" for text in texts if not any(text in line for line in played.bench.log))


def headers(played: Played, wanted: dict[str, str]) -> Iterator[str]:
    given = {name.lower(): value for name, value in played.answers[0]["headers"].items()}
    wrong = {name: given.get(name.lower()) for name, value in wanted.items() if given.get(name.lower()) != value}
    if wrong:
        yield f"headers {wrong}"


def same_response_as(played: Played, name: str) -> Iterator[str]:
    other = Played(played.others[name], played.fixture, played.others)
    other.play()
    mine, theirs = _anonymous(played.answers[0]), _anonymous(other.answers[0])
    if mine != theirs:
        yield f"answered {mine}, unlike {name}: {theirs}"


def alarm(played: Played, name: str) -> Iterator[str]:
    counted = sum(said == ALARMS[name] for said, _ in played.bench.said)
    refused = sum(answer["statusCode"] == 401 for answer in played.answers)
    if counted != refused or not counted:
        yield f"{refused} refusals, {counted} counted as {ALARMS[name]}"


def _headers_on(played: Played, status: int, names: list[str]) -> Iterator[str]:
    for answer in played.answers:
        if answer["statusCode"] == status and set(names) - {name.lower() for name in answer["headers"]}:
            yield f"{status} without {names}"


def _within(played: Played, milliseconds: float) -> Iterator[str]:
    if played.slowest * 1000 > milliseconds:
        yield f"answered after {played.slowest:.2f} s"


JUDGES: dict[str, Judge] = {
    judge.__name__: judge
    for judge in (
        scheduled, next_crawl_at, crawls, sweeps, must_not_change, must_not_contain, must_contain,
        logs_must_not_contain, logs_must_contain, headers, same_response_as, alarm,
    )
}  # fmt: skip


def _code(answer: dict[str, Any]) -> str:
    body = json.loads(answer["body"])
    code: str = body["code"] if answer["statusCode"] >= 400 else body["status"]
    return code


def _anonymous(answer: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    body = json.loads(answer["body"])
    body.pop("request_id", None)
    return answer["statusCode"], body, answer["headers"]
