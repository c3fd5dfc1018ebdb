"""What must be true of every arrow: retries that end, a queue for what was lost, room for slow work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk.config import load_stage
from runtime import environment as env
from tests.cdk.conftest import STAGES, Synth, properties, resources, scrubbed


def _join(value: Any, filler: str = "x") -> str:
    """A template string with every reference replaced, as CloudFormation would."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(_join(part, filler) for part in parts)
    return filler


@pytest.mark.parametrize("stage", STAGES)
def test_the_rule_sends_the_request_of_the_specification(synth: Synth, stage: str) -> None:
    """Method, path and header are the contract of the dispatcher; the header's value is only a reference."""
    (rule,) = properties(synth(stage), "AWS::Events::Rule")
    (target,) = rule["Targets"]
    event = json.loads(_join(target["Input"]))
    assert event["httpMethod"] == "POST"
    assert event["path"] == "/internal/cron/recrawl"
    assert event["headers"]["X-Cron-Secret"] == "{{resolve:secretsmanager:x:SecretString:::}}"
    assert set(event) == {"httpMethod", "path", "headers", "secretVersion"}


def test_a_new_secret_version_changes_the_rule_and_those_who_check_it(synth: Synth) -> None:
    """CloudFormation resolves the secret again only when the rule changes, and warm processes would still know the old
    value: a rotation ends with both.
    """
    old, new = scrubbed(synth("prod")), scrubbed(synth("prod", cronSecretVersion="2"))
    changed = {name for name in new["Resources"] if new["Resources"][name] != old["Resources"][name]}
    bodies = [new["Resources"][name] for name in changed]
    assert {body["Properties"].get("Handler", body["Type"]) for body in bodies} == {
        "AWS::Events::Rule",
        "runtime.handlers.cron.handler",
        "runtime.handlers.webhook.handler",
    }


@pytest.mark.parametrize("stage", STAGES)
def test_every_asynchronous_edge_has_its_own_dead_letters(synth: Synth, stage: str) -> None:
    """Rule to dispatcher, dispatcher's own failure, sites and undelivered notifications to the worker: four edges, four
    queues, so an alarm names one.
    """
    template = synth(stage)
    (rule,) = properties(template, "AWS::Events::Rule")
    (invoke,) = properties(template, "AWS::Lambda::EventInvokeConfig")
    redriven = [queue["RedrivePolicy"] for queue in properties(template, "AWS::SQS::Queue") if "RedrivePolicy" in queue]
    arns = [
        rule["Targets"][0]["DeadLetterConfig"]["Arn"],
        invoke["DestinationConfig"]["OnFailure"]["Destination"],
        *(policy["deadLetterTargetArn"] for policy in redriven),
    ]
    names = {arn["Fn::GetAtt"][0] for arn in arns}
    assert len(redriven) == 2
    assert len(names) == 4
    queues = resources(template, "AWS::SQS::Queue")
    assert all(queues[name]["Properties"]["MessageRetentionPeriod"] == 14 * 86_400 for name in names)


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_the_retries_of_a_tick_end_before_the_next(synth: Synth, stage: str) -> None:
    """A late retry would overlap the next tick."""
    template = synth(stage)
    (rule,) = properties(template, "AWS::Events::Rule")
    (invoke,) = properties(template, "AWS::Lambda::EventInvokeConfig")
    retry = rule["Targets"][0]["RetryPolicy"]
    assert retry["MaximumRetryAttempts"] == 2
    assert invoke["MaximumRetryAttempts"] == 1
    seconds = retry["MaximumEventAgeInSeconds"] + invoke["MaximumEventAgeInSeconds"]
    assert seconds < load_stage({"stage": stage}).cadence_seconds


@pytest.mark.parametrize(("stage", "timeout"), [("dev", None), ("prod", None), ("prod", 900), ("local", 60)])
def test_a_message_stays_hidden_for_six_worker_timeouts(synth: Synth, stage: str, timeout: int | None) -> None:
    """Below that, SQS hands a message out again while the first worker still has it."""
    template = synth(stage, **({"workerTimeout": str(timeout)} if timeout else {}))
    functions = {f["Handler"]: f for f in properties(template, "AWS::Lambda::Function")}
    queues = resources(template, "AWS::SQS::Queue")
    mappings = properties(template, "AWS::Lambda::EventSourceMapping")
    worker = functions["runtime.handlers.worker.handler"]["Timeout"]
    assert len(mappings) == 2
    for mapping in mappings:
        hidden = queues[mapping["EventSourceArn"]["Fn::GetAtt"][0]]["Properties"]["VisibilityTimeout"]
        assert 6 * worker + mapping.get("MaximumBatchingWindowInSeconds", 0) <= hidden <= 43_200


@pytest.mark.parametrize("stage", STAGES)
def test_the_worker_reports_failures_one_by_one_and_is_capped_on_the_mapping(synth: Synth, stage: str) -> None:
    """A cap on the function would burn receives and send healthy messages to the dead letters (aws-cdk#24180)."""
    template = synth(stage)
    mappings = properties(template, "AWS::Lambda::EventSourceMapping")
    functions = {f["Handler"]: f for f in properties(template, "AWS::Lambda::Function")}
    caps = {m["EventSourceArn"]["Fn::GetAtt"][0]: m["ScalingConfig"]["MaximumConcurrency"] for m in mappings}
    assert all(mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"] for mapping in mappings)
    assert caps == {
        "WorkQueue1CAC4D2F": load_stage({"stage": stage}).worker_max_concurrency,
        "LettersQueue0CC56B8D": 2,
    }
    assert "ReservedConcurrentExecutions" not in functions["runtime.handlers.worker.handler"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_lease_outlives_its_worker(synth: Synth, stage: str) -> None:
    """A site is free again soon after its worker was killed, and never while it may still work."""
    functions = {f["Handler"]: f for f in properties(synth(stage), "AWS::Lambda::Function")}
    worker = functions["runtime.handlers.worker.handler"]
    lease = int(worker["Environment"]["Variables"]["LLMS_LEASE_SECONDS"])
    assert worker["Timeout"] < lease <= worker["Timeout"] + 60


def test_notifications_have_a_secret_only_where_the_stage_wants_them(synth: Synth) -> None:
    """Both workers are named the secret and may read it; nobody else."""
    template = synth("prod", notifications="true", liveCrawl="true")
    functions = {f["Handler"].split(".")[-2]: f for f in properties(template, "AWS::Lambda::Function")}
    told = {name for name, f in functions.items() if env.NOTIFY_SECRET_ARN in f["Environment"]["Variables"]}
    without = properties(synth("prod", liveCrawl="true"), "AWS::Lambda::Function")
    assert told == {"worker", "live_worker"}
    assert "NotifySecretArn" in template["Outputs"]
    assert not [f for f in without if env.NOTIFY_SECRET_ARN in f["Environment"]["Variables"]]
    readers = {
        name.partition("Role")[0]
        for name, policy in resources(template, "AWS::IAM::Policy").items()
        if "SecretsNotify" in json.dumps(policy)
    }
    assert readers == {"Worker", "LiveWorker"}
