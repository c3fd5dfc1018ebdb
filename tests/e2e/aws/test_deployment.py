"""The stack, deployed for real into an emulated account with IAM: the schedule fires, sites are kept in step.

The tests tell one story in the order in which they stand: enrol, schedule, webhook, refusals, poison, rotation. Other files go on where they end.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.e2e.aws.account import eventually, outputs
from tests.e2e.aws.conftest import STACK, Deployment

pytestmark = pytest.mark.e2e

CRON, HOOK = "/internal/cron/recrawl", "/internal/hooks/site-changed"


@pytest.fixture(scope="module")
def site(deployment: Deployment) -> dict[str, Any]:
    """The sample site, enrolled through the function URL; the answer shows its secret once."""
    answer = deployment.api("POST", "/sites", {"url": deployment.site_url, "maxPages": 30, "enableAutoUpdate": True})
    assert answer.status_code == 201, answer.text
    enrolled: dict[str, Any] = answer.json()
    return enrolled


def runs(deployment: Deployment, site_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = deployment.api("GET", f"/sites/{site_id}/runs").json()["runs"]
    return found


def published(deployment: Deployment, site: dict[str, Any]) -> httpx.Response:
    """What a reader of the site's file gets; the row says where it is."""
    url = deployment.api("GET", f"/sites/{site['id']}").json()["llms_url"]
    assert url.startswith(f"{deployment.outputs['PublicBaseUrl']}/")
    return deployment.read(url)


def cron_secret(deployment: Deployment) -> str:
    manager = deployment.account.client("secretsmanager")
    value: str = manager.get_secret_value(SecretId=deployment.outputs["CronSecretArn"])["SecretString"]
    return value


def test_an_enrolled_site_is_crawled_and_published(deployment: Deployment, site: dict[str, Any]) -> None:
    """Enrol through the URL; a worker crawls, and readers fetch the file from the public side."""
    (run,) = eventually(lambda: runs(deployment, site["id"]), seconds=60)
    assert run["outcome"] == "updated", deployment.logged("Worker")
    answer = published(deployment, site)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert answer.text.startswith("# ")
    assert f"]({deployment.site_url}/" in answer.text


def test_nothing_differs_after_the_deploy(deployment: Deployment) -> None:
    """`cdk diff --fail` finds no change: what is deployed is what the code says."""
    printed = deployment.account.cdk("diff", "--fail", STACK, context=deployment.context)
    assert "Number of stacks with differences: 0" in printed


def test_the_schedule_takes_what_is_due(deployment: Deployment, site: dict[str, Any]) -> None:
    """Nobody calls: the rule fires, the dispatcher queues, the worker finds the sitemap unchanged."""
    before = len(runs(deployment, site["id"]))
    deployment.postgres.execute(
        "UPDATE public.crawl_sites SET next_crawl_at = now() WHERE id = %s", (site["id"],), database=deployment.database
    )
    after = eventually(lambda: found if len(found := runs(deployment, site["id"])) > before else None, seconds=150)
    assert after[0]["outcome"] in ("unchanged_sitemap", "unchanged_content"), after[0]
    assert "tick_dispatched" in deployment.logged("Dispatcher")
    assert "[RECRAWL] Completed:" in deployment.logged("Worker")


def test_a_webhook_refreshes_the_file_at_once(deployment: Deployment, site: dict[str, Any]) -> None:
    """A page changes, the site's CI calls the URL, and readers see the new title before any tick."""
    listed = published(deployment, site).text
    path = next(path for path, page in deployment.site.pages.items() if f"]({deployment.site_url}{path})" in listed)
    deployment.site.retitle(path, "Newly Titled By An Owner")
    body = json.dumps({"base_url": deployment.site_url, "webhook_secret": site["webhook_secret"]})
    answer = call(deployment, HOOK, body)
    assert (answer.status_code, answer.json()["status"]) == (200, "scheduled"), answer.text
    eventually(lambda: "Newly Titled By An Owner" in published(deployment, site).text, seconds=60)


def call(deployment: Deployment, path: str, body: str = "{}", **headers: str) -> Any:
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    url = deployment.outputs["FunctionUrl"]
    return deployment.account.call(url, path, method="POST", headers=sent, content=body)


def test_callers_without_the_right_secret_are_refused(deployment: Deployment) -> None:
    """Cron, webhook and API, each through the public URL."""
    assert call(deployment, CRON, X_Cron_Secret="wrong").status_code == 401
    assert call(deployment, CRON).status_code == 401
    assert call(deployment, CRON, X_Cron_Secret=cron_secret(deployment)).status_code == 200
    wrong = json.dumps({"base_url": deployment.site_url, "webhook_secret": "wrong"})
    assert call(deployment, HOOK, wrong).status_code == 401
    unknown = json.dumps({"base_url": "https://nobody.example", "webhook_secret": "wrong"})
    assert call(deployment, HOOK, unknown).status_code == 404
    assert call(deployment, "/sites", json.dumps({"url": deployment.site_url})).status_code == 401


def test_a_tick_with_a_wrong_secret_fails_loudly(deployment: Deployment) -> None:
    """An answer of 401 would count as a success of the function; an error is seen by Lambda and by the alarm."""
    event = {"httpMethod": "POST", "path": CRON, "headers": {"X-Cron-Secret": "wrong"}}
    answer = deployment.account.client("lambda").invoke(
        FunctionName=deployment.outputs["DispatcherName"], Payload=json.dumps(event)
    )
    assert answer.get("FunctionError")


def test_a_poison_message_ends_in_the_dead_letters(deployment: Deployment) -> None:
    """After its attempts it is put aside with what it held; the queue goes on."""
    sqs = deployment.account.client("sqs")
    url = deployment.outputs["QueueUrl"]
    # As deployed, each attempt would wait for six minutes.
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "1"})
    sqs.send_message(QueueUrl=url, MessageBody="no message of ours")

    def dead() -> list[str]:
        found = sqs.receive_message(QueueUrl=deployment.outputs["DeadSitesUrl"], VisibilityTimeout=1)
        return [message["Body"] for message in found.get("Messages", [])]

    assert eventually(dead, seconds=60) == ["no message of ours"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "360"})


def test_the_cron_secret_is_rotated_without_losing_a_tick(deployment: Deployment) -> None:
    """The rule's old value is accepted until a deploy puts the new one in."""
    events = deployment.account.client("events")

    def sent() -> str:
        (target,) = events.list_targets_by_rule(Rule=outputs(deployment.account, STACK)["ScheduleRule"])["Targets"]
        value: str = json.loads(target["Input"])["headers"]["X-Cron-Secret"]
        return value

    old, new = cron_secret(deployment), "0123456789abcdef" * 3
    assert sent() == old
    manager = deployment.account.client("secretsmanager")
    manager.put_secret_value(SecretId=deployment.outputs["CronSecretArn"], SecretString=new)
    assert call(deployment, CRON, X_Cron_Secret=sent()).status_code == 200
    rotated = {**deployment.context, "cronSecretVersion": "2"}
    deployment.account.cdk("deploy", STACK, "--require-approval", "never", context=rotated)
    assert sent() == new
    assert call(deployment, CRON, X_Cron_Secret=new).status_code == 200


def test_no_function_was_denied_anything(deployment: Deployment) -> None:
    """IAM is enforced in this account, so what the story needed, the roles allow."""
    for door in ("Dispatcher", "Webhook", "Worker"):
        assert "AccessDenied" not in deployment.logged(door)


def test_no_secret_is_in_any_log(deployment: Deployment, site: dict[str, Any]) -> None:
    """Not the cron secret, not the API key, not a webhook secret, not the database's key."""
    manager = deployment.account.client("secretsmanager")
    values = [site["webhook_secret"], cron_secret(deployment)]
    for name in ("ApiKeySecretArn", "SupabaseSecretArn", "R2SecretArn", "NotifySecretArn"):
        text = manager.get_secret_value(SecretId=deployment.outputs[name])["SecretString"]
        found = json.loads(text) if text.startswith("{") else {"value": text}
        values += [value for field, value in found.items() if field not in ("url", "endpoint", "bucket")]
    for door in ("Dispatcher", "Webhook", "Worker"):
        logged = deployment.logged(door)
        assert [value for value in values if value in logged] == []
