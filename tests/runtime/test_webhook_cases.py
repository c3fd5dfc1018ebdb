"""Every row of the webhook cases is a test, and so are rows of the same kinds that are not in the file."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from runtime import webhook
from tests.safety.webhook import expected, fixture_of, problems_of, rows_of

FOLDER = Path(__file__).parents[1] / "data" / "safety"
FIXTURE = fixture_of(FOLDER)
ROWS = {row["name"]: expected(row, FIXTURE) for row in rows_of(FOLDER)}
HOOK = "/internal/hooks/site-changed"
CRON = "/internal/cron/recrawl"
NOW = FIXTURE["now"]
SECRETS = {name: site["secret"] for name, site in FIXTURE["sites"].items()}


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: f"{row['id']} {row['name']}")
def test_row(row: dict[str, Any]) -> None:
    """The product answers the request as the row says, and leaves the rows of the database as it says."""
    assert problems_of(row, FIXTURE, ROWS) == []


def body(site: str, secret: Any = "", **more: Any) -> str:
    given = SECRETS[site] if secret == "" else secret
    return json.dumps({"base_url": FIXTURE["sites"][site]["base_url"], "webhook_secret": given, **more})


def request(text: str | None, path: str = HOOK, method: str = "POST", **headers: str) -> dict[str, Any]:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"method": method, "path": path, "headers": {"content-type": "application/json", **fields}, "body": text}


def signed(site: str, *, secret: str | None = None, message_id: str = "msg_9", at: int = NOW) -> dict[str, Any]:
    text = json.dumps({"type": "site.changed", "data": {"base_url": FIXTURE["sites"][site]["base_url"]}})
    signature = webhook.sign(secret or SECRETS[site], message_id=message_id, timestamp=at, body=text.encode())
    return request(text, webhook_id=message_id, webhook_timestamp=str(at), webhook_signature=signature)


OK = {"status_any": [200], "code": "scheduled", "scheduled": True}
LATER = {"status": 200, "code": "already_scheduled", "scheduled": False}
NO = {"status": 401, "code": "unauthorized", "scheduled": False}
DOWN = {"status": 503, "code": "unavailable", "scheduled": False, "headers": {"retry-after": "30"}}
TEXTS = ["Traceback", "/var/task", "boom", "httpx", "40001"]
MANY = " ".join(["v1,AAAA"] * 100)

MORE: dict[str, dict[str, Any]] = {
    "a site that is being crawled gets another crawl": {"request": request(body("running")), "expect": OK},
    "a disabled site is revived": {"request": request(body("disabled")), "expect": OK},
    "a site that fails, twice": {
        "request": request(body("backoff")),
        "repeat": 2,
        "expect": {"status": 200, "code": "scheduled", "second": LATER, "next_crawl_at": ">= last_failed_at + 900 s"},
    },
    "a site that fails is not put off": {
        "request": request(body("backoff")),
        "state": {"advance_s": 3_500},
        "expect": {"status": 200, "code": "scheduled", "scheduled": True, "next_crawl_at": "<= next_crawl_at"},
    },
    "a burst, signed each time anew": {"request": request(body("due")), "repeat": 200, "expect": {"crawls": 1}},
    "no secret in the row, none sent": {"request": request(body("nosecret", None)), "expect": NO},
    "an empty secret signs nothing": {"request": signed("emptysecret", secret="whsec_"), "expect": NO},
    "a secret of the neighbour": {"request": request(body("docs", SECRETS["due"])), "expect": NO},
    "a secret in another case": {"request": request(body("docs", SECRETS["docs"].swapcase())), "expect": NO},
    "a secret with a space": {"request": request(body("docs", SECRETS["docs"] + " ")), "expect": NO},
    "a secret as bytes": {"request": request(body("docs", list(b"x"))), "expect": {**NO, "status": 400, "code": "bad_request"}},
    "a signature from the neighbour": {"request": signed("docs", secret=SECRETS["due"]), "expect": NO},
    "a signature of the previous secret after its time": {
        "request": signed("docs", secret=FIXTURE["sites"]["docs"]["previous_secret"], at=NOW + 3_601),
        "state": {"advance_s": 3_601},
        "expect": NO,
    },
    "a signature from 300 s ahead": {"request": signed("docs", at=NOW + 300), "expect": OK},
    "a signature in milliseconds": {"request": signed("docs", at=NOW * 1000), "expect": NO},
    "a signature with a secret that is no base64": {"request": signed("plain"), "expect": OK},
    "a hundred signatures, the last one good": {
        "request": {**(good := signed("docs")), "headers": {
            **good["headers"], "webhook-signature": f"{MANY} {good['headers']['webhook-signature']}"}},
        "expect": OK,
    },
    "a header of 100 kB": {
        "request": {**good, "headers": {**good["headers"], "webhook-signature": "v1,A " * 20_000}}, "expect": NO,
    },
    "signed and replayed": {
        "request": signed("docs"),
        "repeat": 2,
        "expect": {**OK, "second": {"status": 409, "code": "replayed"}, "crawls": 1},
    },
    "replayed from before": {
        "request": signed("docs", message_id="msg_seen"),
        "state": {"seen_ids": ["msg_seen"]},
        "expect": {"status": 409, "code": "replayed", "scheduled": False},
    },
    "a good secret does not mend a bad signature": {
        "request": request(body("docs"), webhook_id="msg_1", webhook_timestamp=str(NOW), webhook_signature="v1,AAAA"),
        "expect": NO,
    },
    "an empty signature is a signature": {"request": request(body("docs"), webhook_signature=""), "expect": NO},
    "a required signature that is good": {
        "request": signed("docs"), "state": {"site_requires_hmac": True}, "expect": OK,
    },
    "an identifier of 129 characters": {"request": signed("docs", message_id="m" * 129), "expect": NO},
    "an address with a port of its scheme": {
        "request": request(body("docs").replace(".com", ".com:443")), "expect": OK,
    },
    "an address with a slash": {"request": request(body("docs").replace(".com", ".com/")), "expect": OK},
    "an address with another port": {"request": request(body("docs").replace(".com", ".com:8443")), "expect": NO},
    "an address that is empty": {"request": request(json.dumps({"base_url": "", "webhook_secret": "x"})), "expect": NO},
    "an address with a user": {"request": request(body("docs").replace("://", "://user@")), "expect": NO},
    "an address of 16,000 characters": {
        "request": request(json.dumps({"base_url": "https://" + "a" * 16_000, "webhook_secret": "x"})), "expect": NO,
    },
    "a body at its limit": {"request": request(body("docs", pad="").replace('""}', '"' + "x" * (16_384 - len(body("docs", pad=""))) + '"}')), "expect": OK},
    "a body over its limit": {
        "request": request("@repeat: :16385"), "expect": {"status": 413, "code": "too_large", "scheduled": False},
    },
    "NaN": {
        "request": request(body("docs", x=float("nan"))), "expect": {"status": 400, "code": "bad_json", "scheduled": False},
    },
    "a number without an end": {
        "request": request('{"base_url":' + "9" * 16_000 + "}"), "expect": {"status": 400, "scheduled": False},
    },
    "brackets without an end": {
        "request": request("[" * 16_000), "expect": {"status": 400, "code": "bad_json", "scheduled": False},
    },
    "UTF-16": {
        "request": {**request(None), "body_b64": "/v8AewB9"}, "expect": {"status": 400, "code": "bad_json"},
    },
    "a body that is not the base64 it claims to be": {
        "request": {**request("{}"), "isBase64Encoded": True}, "expect": {"status": 400, "code": "bad_json"},
    },
    "deflate": {
        "request": request(body("docs"), content_encoding=" Deflate "),
        "expect": {"status": 415, "code": "unsupported_encoding", "scheduled": False},
    },
    "what curl -d calls its body": {
        "request": request(body("docs"), content_type="application/x-www-form-urlencoded"), "expect": OK,
    },
    "PUT": {
        "request": request(body("docs"), method="PUT"),
        "expect": {"status": 405, "code": "method_not_allowed", "scheduled": False, "headers": {"allow": "POST"}},
    },
    "a path with two slashes": {
        "request": request(body("docs"), path="//internal/hooks/site-changed"), "expect": {"status": 404, "code": "not_found"},
    },
    "the database is down": {"request": request(body("docs")), "state": {"db": "down"}, "expect": {**DOWN, "must_not_contain": TEXTS}},
    "the database is silent": {"request": request(body("docs")), "state": {"db": "hang"}, "expect": {**DOWN, "answer_ms": 2_000}},
    "the database is silent, and the secret is wrong": {
        "request": request(body("docs", "x")), "state": {"db": "timeout_5s"}, "expect": {**DOWN, "answer_ms": 2_000},
    },
    "the database is in conflict for ever": {
        "request": request(body("docs")), "state": {"db": "serialization_failure"}, "expect": {**DOWN, "must_not_contain": TEXTS},
    },
    "the database shuts down for a moment": {
        "request": request(body("docs")), "state": {"db": "too_many_connections_twice"}, "expect": OK,
    },
    "the queue is down": {"request": request(body("docs")), "state": {"queue": "down"}, "expect": OK},
    "an exception of another kind": {
        "request": request(body("docs")),
        "state": {"raise": "RuntimeError('postgres://user:boom@db')"},
        "expect": {"status": 500, "code": "internal", "must_not_contain": ["boom", "RuntimeError"]},
    },
    "cron: a near miss": {
        "request": request("", path=CRON, x_cron_secret=FIXTURE["cron_secret"][:-1]),
        "expect": {**NO, "logs_must_not_contain": [FIXTURE["cron_secret"][:-1]]},
    },
    "cron: the secret in the query": {
        "request": request("", path=f"{CRON}?x-cron-secret={FIXTURE['cron_secret']}"), "expect": NO,
    },
    "cron: no secret set, none sent": {"request": request("", path=CRON), "state": {"cron_secret": None}, "expect": NO},
    "cron: the secret of a site": {"request": request("", path=CRON, x_cron_secret=SECRETS["docs"]), "expect": NO},
    "cron: five at once": {
        "request": request("", path=CRON, x_cron_secret=FIXTURE["cron_secret"]),
        "repeat": 5,
        "expect": {"status": 200, "code": "triggered", "sweeps": 1},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_row_of_the_same_kind(name: str) -> None:
    """The rule behind the rows holds where the file has no row."""
    row = {"id": "more", "name": name, **MORE[name]}

    assert problems_of(expected(row, FIXTURE), FIXTURE, ROWS) == []


def altered(name: str, **expect: Any) -> dict[str, Any]:
    row = copy.deepcopy(ROWS[name])
    row["expect"] |= expect
    return row


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("seed: right secret", {"status_any": [401]}),
        ("seed: right secret", {"code": "already_scheduled"}),
        ("seed: right secret", {"scheduled": False}),
        ("seed: wrong secret", {"scheduled": True}),
        ("seed: right secret", {"next_crawl_at": "unchanged"}),
        ("site in failure back-off", {"next_crawl_at": ">= last_failed_at + 901 s"}),
        ("two calls in 10 s", {"crawls": 2}),
        ("two calls in 10 s", {"second": {"status": 200, "code": "scheduled"}}),
        ("cron: two calls at once", {"sweeps": 2}),
        ("seed: right secret", {"must_not_change": ["next_crawl_at"]}),
        ("seed: right secret", {"must_not_contain": ["docs.example.com"]}),
        ("seed: right secret", {"must_contain": ["due.example.com"]}),
        ("seed: right secret", {"logs_must_not_contain": ["site_id"]}),
        ("seed: right secret", {"logs_must_contain": ["whsec_"]}),
        ("GET on the hook", {"headers": {"allow": "GET"}}),
        ("seed: right secret", {"same_response_as": "seed: wrong secret"}),
        ("seed: right secret", {"alarm": "WebhookAuthFailures"}),
        ("seed: right secret", {"answer_ms": 0}),
    ],
)
def test_the_runner_finds_a_wrong_answer(name: str, wrong: dict[str, Any]) -> None:
    """Every judge can fail: an expectation that does not hold is reported."""
    assert problems_of(altered(name, **wrong), FIXTURE, ROWS)


def test_a_state_that_is_not_understood_fails_its_row() -> None:
    """A row is never passed over because the runner cannot set up what it needs."""
    row = {**ROWS["seed: right secret"], "state": {"moon": "full"}}

    assert problems_of(row, FIXTURE) == ["the row is not understood: \"state ['moon']\""]
