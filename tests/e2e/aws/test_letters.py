"""Notifications in the deployed account: a real receiver is told, refuses, is told again, and gives up being told.

The tests tell one story about one site, in the order in which they stand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from runtime import metrics as m
from runtime.notify import ATTEMPTS
from runtime.sample.server import serve_in_thread
from runtime.sample.site import SampleSite
from tests.e2e.aws.account import eventually
from tests.e2e.aws.conftest import OPERATOR, Deployment
from tests.e2e.aws.receiver import Received

pytestmark = pytest.mark.e2e

OWNER = "/owner/t0ken"
WAIT_SECONDS = 90
Told = tuple[SampleSite, dict[str, Any]]


@pytest.fixture(scope="module")
def told(deployment: Deployment) -> Iterator[Told]:
    """A site whose owner wants to be told, enrolled and looked at once; letters come back at once instead of hourly."""
    sqs, queue = deployment.account.client("sqs"), deployment.outputs["LettersUrl"]
    before = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["DelaySeconds", "VisibilityTimeout"])
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"DelaySeconds": "0", "VisibilityTimeout": "2"})
    site = SampleSite()
    with serve_in_thread(site) as web:
        wanted = {"url": web.url, "maxPages": 8, "enableAutoUpdate": True, "notifyUrl": deployment.receiver.url + OWNER}
        answer = deployment.api("POST", "/sites", wanted)
        assert answer.status_code == 201, answer.text
        row = answer.json()
        deployment.receiver.secrets[OWNER] = row["webhook_secret"]
        yield site, row
        assert deployment.api("DELETE", f"/sites/{row['id']}").status_code == 200
    sqs.set_queue_attributes(QueueUrl=queue, Attributes=before["Attributes"])


def change(deployment: Deployment, told: Told, title: str, *, refused: int) -> None:
    """The site changes and is looked at; its owner's receiver answers 500 so many times."""
    site, row = told
    deployment.receiver.refusing[OWNER] = refused
    site.retitle(next(iter(site.pages)), title)
    answer = deployment.api("POST", f"/sites/{row['id']}/recrawl")
    assert answer.status_code == 200, answer.text


def about(deployment: Deployment, title: str, *, tries: int) -> list[Received]:
    """What the owner's receiver got about the change to `title`, once it was tried so often."""

    def found() -> list[Received]:
        got = [one for one in deployment.receiver.at(OWNER) if title in one.body.decode()]
        return got if len(got) >= tries else []

    got: list[Received] = eventually(found, seconds=WAIT_SECONDS)
    assert all(one.verified for one in got), "each try is signed anew"
    assert len({one.id for one in got}) == 1, "a receiver knows a repetition by its id"
    return got


def logged(deployment: Deployment, event: str) -> list[dict[str, Any]]:
    lines = (line for line in deployment.logged("Worker").splitlines() if line.startswith("{"))
    return [line for line in map(json.loads, lines) if line.get("message") == event]


def test_owner_and_operator_are_told_of_the_first_file(deployment: Deployment, told: Told) -> None:
    """One signed POST each, with the hash of what readers get; the operator's is signed with the deployment's secret."""
    _site, row = told

    def arrived(path: str) -> list[Received]:
        return [one for one in deployment.receiver.at(path) if one.payload["data"]["site_id"] == row["id"]]

    (owners,) = eventually(lambda: arrived(OWNER), seconds=WAIT_SECONDS)
    (operators,) = eventually(lambda: arrived(OPERATOR), seconds=WAIT_SECONDS)
    assert (owners.verified, operators.verified) == (True, True)
    assert (owners.id, owners.body) == (operators.id, operators.body)
    payload = owners.payload
    assert payload["type"] == "llms_txt.updated"
    text = deployment.read(payload["data"]["llms_url"]).content
    assert sha256(text).hexdigest() == payload["data"]["llms_hash"]


def test_a_receiver_that_fails_once_is_told_within_the_run(deployment: Deployment, told: Told) -> None:
    """500, then 204: nothing is kept, nothing is counted as failed."""
    change(deployment, told, "A First New Title", refused=1)
    got = about(deployment, "A First New Title", tries=2)
    assert [one.status for one in got] == [500, 204]
    (change_record,) = got[0].payload["data"]["changes"]["retitled"]
    assert "A First New Title" in change_record.values()
    assert logged(deployment, "notification_failed") == []


def test_what_a_run_cannot_deliver_is_tried_again_from_the_queue(deployment: Deployment, told: Told) -> None:
    """All tries of the run and the first of the queue fail; the next one arrives, with the same id."""
    change(deployment, told, "A Second New Title", refused=ATTEMPTS + 1)
    got = about(deployment, "A Second New Title", tries=ATTEMPTS + 2)
    assert [one.status for one in got] == [500] * (ATTEMPTS + 1) + [204]
    sent = eventually(lambda: [e for e in logged(deployment, "notification_sent") if e.get("late")], seconds=20)
    assert [event["run_id"] for event in sent] == [got[0].id]


def test_what_nobody_takes_ends_in_the_dead_letters_and_is_counted(deployment: Deployment, told: Told) -> None:
    """After the run's tries and the queue's; neither the address nor a secret lies there."""
    _site, row = told
    sqs, queue = deployment.account.client("sqs"), deployment.outputs["LettersUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    tries = ATTEMPTS + int(json.loads(policy)["maxReceiveCount"])
    change(deployment, told, "A Third New Title", refused=1_000)
    dead = deployment.outputs["DeadLettersUrl"]

    def lying() -> int:
        found = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["ApproximateNumberOfMessages"])
        return int(found["Attributes"]["ApproximateNumberOfMessages"])

    eventually(lambda: lying() == 1, seconds=WAIT_SECONDS)
    assert len(about(deployment, "A Third New Title", tries=tries)) == tries
    (message,) = sqs.receive_message(QueueUrl=dead, VisibilityTimeout=0)["Messages"]
    letter = json.loads(message["Body"])
    assert (letter["site_id"], letter["role"]) == (row["id"], "site")
    assert [text for text in (OWNER, row["webhook_secret"]) if text in message["Body"]] == []


def test_the_alarms_watch_what_was_written(deployment: Deployment) -> None:
    """`notifications-failing` finds its metric in the log, `undelivered-notifications` the queue in which the letter lies."""
    counted = [
        line
        for line in map(json.loads, (text for text in deployment.logged("Worker").splitlines() if text.startswith("{")))
        if m.NOTIFICATIONS_FAILED in line
    ]
    alarms = deployment.account.client("cloudwatch").describe_alarms()["MetricAlarms"]
    failing = next(alarm for alarm in alarms if alarm["AlarmName"].endswith("notifications-failing"))
    watched = {dimension["Name"]: dimension["Value"] for dimension in failing["Dimensions"]}
    assert sum(sum(values(line[failing["MetricName"]])) for line in counted) == 2
    for line in counted:
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert (directive["Namespace"], [set(watched)]) == (
            failing["Namespace"],
            [set(d) for d in directive["Dimensions"]],
        )
        assert {name: line[name] for name in watched} == watched
    undelivered = next(alarm for alarm in alarms if alarm["AlarmName"].endswith("undelivered-notifications"))
    (queue,) = undelivered["Dimensions"]
    assert queue["Value"] == deployment.outputs["DeadLettersUrl"].rpartition("/")[2]


def values(emitted: Any) -> list[float]:
    return emitted if isinstance(emitted, list) else [emitted]


def test_dead_letters_that_are_sent_back_arrive(deployment: Deployment, told: Told) -> None:
    """The runbook's command, once the receiver works again."""
    tries = len(about(deployment, "A Third New Title", tries=1))
    deployment.receiver.refusing[OWNER] = 0
    deployment.account.client("sqs").start_message_move_task(SourceArn=deployment.outputs["DeadLettersArn"])
    got = about(deployment, "A Third New Title", tries=tries + 1)
    assert [one.status for one in got[tries:]] == [204]
