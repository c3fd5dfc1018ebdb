"""`python -m tests.safety.fuzz_webhook --calls N`: requests of callers who know no secret, as wild as they come.

Every one goes through the door's parsing, the API and real rows. None may be answered with a server error, change a row,
queue a run or take two seconds. Prints what came of them and ends with `0 failed`, or exits 1.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from runtime import webhook
from tests.safety.bench import Bench, Event, call
from tests.safety.webhook import fixture_of

DATA = Path(__file__).parents[1] / "data" / "safety"
METHODS = ("POST",) * 8 + ("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "post", "", "é", "X" * 40)
PATHS = ("/internal/hooks/site-changed",) * 8 + ("/internal/cron/recrawl",) * 3 + (
    "/sites", "/sites/", "/sites/x", "/sites/x/runs", "/sites/x/secret", "/sites/x/rollback", "/health", "/", "",
    "/internal/hooks/site-changed/", "/internal/hooks/../cron/recrawl", "/llms.txt", "//", "/%00", "/é", "/" + "a" * 5_000,
)  # fmt: skip
TEXTS = (
    "", " ", "x", "null", "whsec_", "whsec_AAAA", "v1,", "v1,AAAA", "v1", ",", "v1,é", "\x00", "\ud800", "\u202e", "\ufeff",
    "é" * 50, "9" * 400, "-1", "1e999", "1_767_225_600", "١٧٦٧٢٢٥٦٠٠", "nan", "gzip", "identity", "{}", "[" * 500, "' OR 1=1 --",
    "https://docs.example.com", "https://due.example.com/", "HTTPS://PLAIN.EXAMPLE.COM:443/", "https://docs.example.com.",
    "https://unknown.example.com", "http://[::1]/", "https://[", "https://docs.example.com\x00", "https://%.example.com",
    "https://xn--0/", "https://ex\u00adample.com", "https://a" + ".b" * 130, "javascript:alert(1)", "//docs.example.com",
)  # fmt: skip
HEADERS = (
    "content-type", "content-encoding", "webhook-id", "webhook-timestamp", "webhook-signature", "x-cron-secret",
    "x-api-key", "X-CRON-SECRET", "Webhook-Signature", "transfer-encoding", "x-forwarded-for", "é", "",
)  # fmt: skip


class Requests:
    """Made-up requests from one seed."""

    def __init__(self, seed: int, fixture: dict[str, Any]) -> None:
        self._random = random.Random(seed)
        self._fixture = fixture
        self._known = [site["base_url"] for site in fixture["sites"].values()]
        self._secrets = [json.dumps(s["secret"]).encode() for s in fixture["sites"].values() if s["secret"]]

    def event(self) -> Event:
        pick = self._random.choice
        body, encoded = self._body()
        headers = {pick(HEADERS): self._text() for _ in range(self._random.randrange(4))}
        if self._random.random() < 0.3:
            headers |= self._signature(body)
        return {
            "headers": headers,
            "rawPath": self._mutated(pick(PATHS)) if self._random.random() < 0.1 else pick(PATHS),
            "rawQueryString": self._text().encode("utf-8", "replace").decode() if self._random.random() < 0.1 else "",
            "requestContext": {"requestId": "fuzz", "http": {"method": pick(METHODS)}},
            "body": base64.b64encode(body).decode() if encoded else body.decode("utf-8", "replace"),
            "isBase64Encoded": encoded,
        }

    def _body(self) -> tuple[bytes, bool]:
        kind = self._random.random()
        if kind < 0.1:
            return self._random.randbytes(self._random.randrange(200)), True
        if kind < 0.11:
            return b"x" * self._random.randrange(16_000, 40_000), False
        given: Any = {
            "base_url": self._random.choice(self._known) if self._random.random() < 0.6 else self._value(),
            "webhook_secret": self._secret() if self._random.random() < 0.7 else self._value(),
        }
        for _ in range(self._random.randrange(3)):
            given[self._random.choice(("data", "type", "base_url", "webhook_secret", "x", ""))] = self._value()
        raw = json.dumps(self._value() if self._random.random() < 0.1 else given).encode()
        if self._random.random() < 0.3:
            at = self._random.randrange(len(raw) + 1)
            noise = self._random.randbytes(self._random.randrange(4))
            damaged = raw[:at] + noise + raw[at + self._random.randrange(4) :]
            # Damage can mend a near miss, once in a million; who knows the secret is no stranger.
            raw = raw if any(secret in damaged for secret in self._secrets) else damaged
        return raw, self._random.random() < 0.5

    def _secret(self) -> str:
        """A near miss: a real secret with one character changed, cut, or one too many."""
        sites = [site["secret"] for site in self._fixture["sites"].values() if site["secret"]]
        secret: str = self._random.choice([*sites, self._fixture["cron_secret"]])
        at = self._random.randrange(len(secret))
        return self._random.choice((secret[:at] + "!" + secret[at + 1 :], secret[:at], secret + "A", f" {secret}"))

    def _signature(self, body: bytes) -> dict[str, str]:
        at = self._fixture["now"] + self._random.choice((0, 299, 301, -301, 10**9))
        names = {"message_id": f"msg_{self._random.randrange(9)}", "timestamp": at}
        return webhook.signed_headers([self._secret()], body=body, **names)

    def _value(self, depth: int = 0) -> Any:
        kind = self._random.randrange(8 if depth < 3 else 6)
        if kind == 6:
            return [self._value(depth + 1) for _ in range(self._random.randrange(4))]
        if kind == 7:
            return {self._text(): self._value(depth + 1) for _ in range(self._random.randrange(4))}
        return (None, True, self._random.randrange(-9, 10**9), 1.5e300, self._text(), self._text())[kind]

    def _text(self) -> str:
        return self._mutated(self._random.choice(TEXTS)) if self._random.random() < 0.3 else self._random.choice(TEXTS)

    def _mutated(self, text: str) -> str:
        at = self._random.randrange(len(text) + 1)
        return text[:at] + chr(self._random.choice((0, 9, 10, 0x2F, 0x41, 0xE9, 0x2028, 0x1F600))) + text[at:]


async def fuzz(calls: int, seed: int) -> tuple[Counter[int], list[str], float]:
    """How often each status was given, what went wrong, and the slowest answer in seconds."""
    fixture = fixture_of(DATA)
    bench, requests = Bench(fixture, quiet=True), Requests(seed, fixture)
    await bench.seed()
    api, before = await bench.api(), bench.rows()
    statuses: Counter[int] = Counter()
    problems: list[str] = []
    slowest = 0.0
    for number in range(calls):
        event = requests.event()
        started = time.perf_counter()
        answer = await call(api, event)
        slowest = max(slowest, time.perf_counter() - started)
        statuses[answer["statusCode"]] += 1
        if answer["statusCode"] >= 500 or (answer["statusCode"] < 400 and event["rawPath"] != "/health"):
            problems.append(f"call {number}: {event} was answered {answer}")
    if bench.rows() != before:
        problems.append("a row was changed")
    if len(bench.world.queue):  # type: ignore[arg-type]
        problems.append("a run was queued")
    if slowest > 2:
        problems.append(f"an answer took {slowest:.2f} s")
    bench.store.close()
    return statuses, problems, slowest


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.fuzz_webhook")
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    statuses, problems, slowest = asyncio.run(fuzz(given.calls, given.seed))
    seconds = time.perf_counter() - started
    for problem in problems[:20]:
        print(problem)
    print(f"statuses {dict(sorted(statuses.items()))}")
    print(f"{given.calls / seconds:.0f} calls/s, the slowest answer took {slowest * 1000:.1f} ms")
    print(f"{given.calls} calls, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
