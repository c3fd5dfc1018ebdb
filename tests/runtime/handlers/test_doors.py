"""The Lambda doors: recorded events in, the right answers out, and nothing of an event in a log."""

from __future__ import annotations

import json

import pytest

from runtime import environment as env
from runtime import metrics
from runtime.errors import InputError, Misconfigured, ServiceError
from runtime.handlers import cron, webhook, worker
from runtime.letters import Letter, to_json
from tests.runtime.handlers.conftest import Cloud, Context, event_of


def test_a_site_goes_from_the_api_to_the_bucket(cloud: Cloud) -> None:
    """Enrolled through the URL, crawled by the worker, published; the next tick finds it not due."""
    status, site = cloud.call("POST", "/sites", {"url": cloud.site.url, "maxPages": 100}, x_api_key="api-key")
    assert status == 201
    assert site["webhook_secret"].startswith("whsec_")

    assert cloud.work() == {"batchItemFailures": []}

    _, row = cloud.call("GET", f"/sites/{site['id']}", x_api_key="api-key")
    assert (row["last_outcome"], row["failure_count"]) == ("updated", 0)
    key = row["llms_url"].removeprefix("https://files.example.org/")
    published = cloud.aws("s3").get_object(Bucket="public", Key=key)
    assert published["Body"].read().startswith(b"# Tidewater\n")
    assert published["ContentType"] == "text/plain; charset=utf-8"
    assert cron.handler(event_of("schedule.json"), Context())["total"] == 0


def test_a_tick_queues_what_is_due_and_the_last_worker_writes_the_summary(
    cloud: Cloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """The schedule's event claims and queues; the summary has the specification's shape and adds up."""
    _, site = cloud.call("POST", "/sites", {"url": cloud.site.url}, x_api_key="api-key")
    cloud.work()
    cloud.postgres.execute("update crawl_sites set next_crawl_at = now() - interval '1 hour'", database=cloud.database)

    answer = cron.handler(event_of("schedule.json"), Context())
    capsys.readouterr()
    cloud.work()

    assert (answer["status"], answer["total"]) == ("triggered", 1)
    lines = [json.loads(line) for line in cloud.log.getvalue().splitlines()]
    summary = next(line["summary"] for line in lines if line.get("message") == "tick_completed")
    assert summary.startswith('[RECRAWL] Completed: {"total": 1, "processed": 0, "updated": 0, "unchanged": 1')
    printed = capsys.readouterr().out.splitlines()
    emitted = [json.loads(line) for line in printed if '"_aws"' in line]
    assert {entry["service"] for entry in emitted} == {metrics.SERVICE}
    assert sum(sum(entry.get(metrics.WORK_COMPLETED, [0])) for entry in emitted) == 1
    assert site["id"] in json.dumps(lines)


def test_a_wrong_cron_secret_fails_the_invocation(cloud: Cloud) -> None:
    """Lambda counts an answer as a success, so a refused tick raises (D-27); over HTTP it is a 401."""
    event = event_of("schedule.json")
    event["headers"]["X-Cron-Secret"] = "guess"

    with pytest.raises(cron.TickFailed, match="401"):
        cron.handler(event, Context())
    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="guess")[0] == 401
    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="cron-secret")[0] == 200


@pytest.mark.parametrize("event", [{}, None, {"Records": []}, {"httpMethod": "GET", "path": "/", "headers": {}}])
def test_an_event_of_another_shape_is_refused(cloud: Cloud, event: object) -> None:
    """The dispatcher does not guess what an event may mean (F-07)."""
    with pytest.raises(InputError) as refused:
        cron.handler(event, Context())
    assert refused.value.code == "bad_event"


@pytest.mark.parametrize("body", ["\ud800", '{"base_url": "\udc80"}', "\u00e9", None])
def test_a_body_that_is_no_json_is_refused(cloud: Cloud, body: str | None) -> None:
    """Half a character, which JSON can escape, or no text at all: an answer of 400, never an error of the function."""
    event = event_of("function_url.json")
    event["rawPath"], event["body"] = "/internal/hooks/site-changed", body
    event["requestContext"]["http"]["method"] = "POST"
    for encoded in (False, True):
        assert webhook.handler({**event, "isBase64Encoded": encoded}, Context())["statusCode"] == 400


def test_the_dispatcher_knows_no_api_key(cloud: Cloud, environment: pytest.MonkeyPatch) -> None:
    """It ticks without the management API's key, which it is not given."""
    environment.delenv(env.API_KEY_SECRET_ARN)
    assert cron.handler(event_of("schedule.json"), Context())["status"] == "triggered"


def test_a_database_that_is_set_up_wrongly_fails_the_first_invocation(cloud: Cloud) -> None:
    """Rights given to the public keys are found when a process starts, by the dispatcher and by the worker."""
    cloud.postgres.execute("grant select on crawl_sites to anon", database=cloud.database)
    with pytest.raises(Misconfigured, match="anon"):
        cron.handler(event_of("schedule.json"), Context())
    with pytest.raises(Misconfigured, match="anon"):
        worker.handler(event_of("sqs.json"), Context())


def test_a_message_that_cannot_be_read_is_the_only_one_that_comes_back(cloud: Cloud) -> None:
    """A poison message is named alone; the site beside it is worked on."""
    _, site = cloud.call("POST", "/sites", {"url": cloud.site.url}, x_api_key="api-key")
    event = event_of("sqs.json")
    record = event["Records"][0]
    good = [{**record, "messageId": m["MessageId"], "body": m["Body"]} for m in cloud.messages()]
    event["Records"] = [{**record, "messageId": "poison", "body": "not a message"}, *good]

    assert worker.handler(event, Context()) == {"batchItemFailures": [{"itemIdentifier": "poison"}]}
    assert cloud.call("GET", f"/sites/{site['id']}", x_api_key="api-key")[1]["last_outcome"] == "updated"


def test_a_rotated_secret_is_known_at_once(cloud: Cloud) -> None:
    """The new value works before the remembered one is five minutes old, and the previous one still does."""
    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="cron-secret")[0] == 200
    arn = next(s["ARN"] for s in cloud.aws("secretsmanager").list_secrets()["SecretList"] if s["Name"] == "cron")
    cloud.aws("secretsmanager").put_secret_value(SecretId=arn, SecretString="fresh")
    vault = webhook.process._vault
    assert vault is not None
    clock = vault._monotonic
    vault._monotonic = lambda: clock() + 6  # six seconds later

    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="fresh")[0] == 200
    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="cron-secret")[0] == 200
    assert cloud.call("POST", "/internal/cron/recrawl", x_cron_secret="guess")[0] == 401


def test_missing_configuration_is_one_sentence_that_names_all_of_it(
    cloud: Cloud, environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first invocation fails with every missing variable, and the configuration metric counts it."""
    environment.delenv(env.QUEUE_URL)
    environment.delenv(env.STATE_BUCKET)

    with pytest.raises(Misconfigured, match=f"{env.QUEUE_URL}, {env.STATE_BUCKET}"):
        worker.handler(event_of("sqs.json"), Context())
    assert metrics.CONFIGURATION_ERRORS in capsys.readouterr().out
    assert cloud.call("GET", "/health")[0] == 503


def test_a_secret_that_is_not_filled_says_how(cloud: Cloud) -> None:
    """An empty Supabase secret is a configuration error that points to the documentation, never "0 due"."""
    arn = next(s["ARN"] for s in cloud.aws("secretsmanager").list_secrets()["SecretList"] if s["Name"] == "supabase")
    cloud.aws("secretsmanager").put_secret_value(SecretId=arn, SecretString="{}")

    with pytest.raises(Misconfigured, match=r"lacks url, key.*docs/deploy\.md"):
        cron.handler(event_of("schedule.json"), Context())


def test_a_database_that_is_down_fails_the_tick_and_the_webhook_answers_503(
    cloud: Cloud, environment: pytest.MonkeyPatch
) -> None:
    """An outage is no quiet day (D-14), and a caller learns nothing of it but when to come back."""
    arn = next(s["ARN"] for s in cloud.aws("secretsmanager").list_secrets()["SecretList"] if s["Name"] == "supabase")
    down = json.dumps({"url": "http://127.0.0.1:9", "key": "x.y.z"})
    cloud.aws("secretsmanager").put_secret_value(SecretId=arn, SecretString=down)

    with pytest.raises(ServiceError):
        cron.handler(event_of("schedule.json"), Context())
    hook = {"base_url": "https://docs.example.com", "webhook_secret": "x"}
    status, body = cloud.call("POST", "/internal/hooks/site-changed", hook)
    assert (status, body["code"]) == (503, "unavailable")


def test_no_event_and_no_secret_is_logged(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    """Bodies, headers and secrets never reach a log line, whatever the answer was."""
    _, site = cloud.call("POST", "/sites", {"url": cloud.site.url}, x_api_key="api-key")
    hook = {"base_url": cloud.site.url, "webhook_secret": site["webhook_secret"]}
    cloud.call("POST", "/internal/hooks/site-changed", hook)
    cloud.call("POST", "/internal/hooks/site-changed", {**hook, "webhook_secret": "near-miss"})
    cron.handler(event_of("schedule.json"), Context())
    cloud.work()

    printed = "".join(capsys.readouterr()) + cloud.log.getvalue()
    assert "site_recrawled" in printed
    for secret in (site["webhook_secret"], "near-miss", "api-key", "cron-secret", "eyJ"):
        assert secret not in printed
    assert max(map(len, printed.splitlines())) < 8_000


def test_the_service_keeps_no_site_at_its_own_address(cloud: Cloud) -> None:
    """A function is not told its own URL; the request brings it, and a site there would crawl the service itself."""
    own = event_of("function_url.json")["requestContext"]["domainName"]
    status, answer = cloud.call("POST", "/sites", {"url": f"https://{own}/docs"}, x_api_key="api-key")

    assert status == 422
    assert answer["code"] == "self_host"
    assert cloud.call("GET", "/sites", x_api_key="api-key")[1]["sites"] == []


def test_the_worker_also_works_off_undelivered_notifications(cloud: Cloud, environment: pytest.MonkeyPatch) -> None:
    """Told by the queue that they come from: what nobody wants any more is done, what cannot be read comes back."""
    environment.setenv(env.LETTERS_QUEUE_URL, "https://sqs.eu-west-1.amazonaws.com/123456789012/letters")
    wanted_by_nobody = Letter(
        site_id="00000000-0000-4000-8000-000000000000", role="site", id="run", kind="llms_txt.held", body="{}"
    )
    (record,) = event_of("sqs.json")["Records"]
    origin = {**record, "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:letters"}
    records = [{**origin, "messageId": "a", "body": to_json(wanted_by_nobody)}, {**origin, "messageId": "b"}]

    assert worker.handler({"Records": records}, Context()) == {"batchItemFailures": [{"itemIdentifier": "b"}]}
    assert "notification_dropped" in cloud.log.getvalue()
