"""The live crawl in the template: nothing of it unless asked for; then a door that can do little, and its worker."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest

from cdk.config import STAGES as CONFIGS
from runtime import environment as env
from tests.cdk.conftest import STAGES, Synth, properties, resources


def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = [resource["Properties"] for resource in resources(template, "AWS::Lambda::Function").values()]
    return {function["Handler"].split(".")[-2]: function for function in found}


def statements(template: dict[str, Any], door: str) -> list[dict[str, Any]]:
    """The inline policy of a door of the live crawl."""
    (policy,) = (
        resource["Properties"]["PolicyDocument"]["Statement"]
        for name, resource in resources(template, "AWS::IAM::Policy").items()
        if name.startswith(f"Live{door}Role")
    )
    found: list[dict[str, Any]] = policy
    return found


def actions(template: dict[str, Any], door: str) -> set[str]:
    given = [statement["Action"] for statement in statements(template, door)]
    return {action for item in given for action in ([item] if isinstance(item, str) else item)}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_none_unless_it_wants_one(synth: Synth, stage: str) -> None:
    """Off by default: no API, no queue, no function of it."""
    template = synth(stage)

    assert not CONFIGS[stage].live_crawl
    assert resources(template, "AWS::ApiGatewayV2::Api") == {}
    assert not [name for name in template["Resources"] if name.startswith("Live")]


def test_the_api_has_one_way_in_and_one_message(synth: Synth) -> None:
    """Two routes to the door, a stage that is throttled, and a queue that takes a connection's message once."""
    template = synth("prod", liveCrawl="true")
    (api,) = properties(template, "AWS::ApiGatewayV2::Api")
    (stage,) = properties(template, "AWS::ApiGatewayV2::Stage")
    queues = [queue for queue in properties(template, "AWS::SQS::Queue") if queue.get("FifoQueue")]
    (live,) = (queue for queue in queues if "RedrivePolicy" in queue)

    assert api["ProtocolType"] == "WEBSOCKET"
    assert {route["RouteKey"] for route in properties(template, "AWS::ApiGatewayV2::Route")} == {"$connect", "$default"}
    assert stage["DefaultRouteSettings"] == {"ThrottlingBurstLimit": 20, "ThrottlingRateLimit": 10}
    assert len(queues) == 2
    assert live["VisibilityTimeout"] >= 6 * functions(template)["live_worker"]["Timeout"]
    assert all(queue["SqsManagedSseEnabled"] for queue in queues)


def test_the_worker_takes_one_crawl_at_a_time_and_eight_at_once(synth: Synth) -> None:
    """Concurrency is capped on the mapping."""
    mappings = properties(synth("prod", liveCrawl="true"), "AWS::Lambda::EventSourceMapping")
    (live,) = (mapping for mapping in mappings if "LiveQueue" in json.dumps(mapping["EventSourceArn"]))

    assert (live["BatchSize"], live["ScalingConfig"]) == (1, {"MaximumConcurrency": 8})


def test_the_door_may_read_one_secret_and_write_to_one_queue(synth: Synth) -> None:
    """A stranger's handshake reaches a function without rows, buckets or connections."""
    given = actions(synth("prod", liveCrawl="true"), "Door")

    assert {action.partition(":")[0] for action in given} <= {"secretsmanager", "sqs", "xray", "logs"}
    assert {action for action in given if action.startswith("sqs:")} <= {
        "sqs:SendMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    }


def test_the_worker_may_post_to_this_stages_connections(synth: Synth) -> None:
    """And manage no other API."""
    template = synth("prod", liveCrawl="true")
    (statement,) = (s for s in statements(template, "Worker") if s["Action"] == "execute-api:ManageConnections")

    assert json.dumps(statement["Resource"]).count("/live/POST/@connections/*") == 1


@pytest.mark.parametrize("door", ["live", "live_worker"])
def test_the_doors_have_the_variables_that_they_ask_for(synth: Synth, door: str) -> None:
    """By the same names, and the handler exists."""
    module = importlib.import_module(f"runtime.handlers.{door}")
    given = functions(synth("prod", liveCrawl="true"))[door]["Environment"]["Variables"]
    needed = {
        "live": {env.API_KEY_SECRET_ARN, env.LIVE_QUEUE_URL},
        "live_worker": {env.LIVE_ENDPOINT_URL, env.QUEUE_URL, env.PUBLIC_BUCKET, env.STATE_BUCKET},
    }

    assert callable(module.handler)
    assert needed[door] <= set(given)


def test_the_worker_has_the_paid_services_that_the_stage_has(synth: Synth) -> None:
    """What a live crawl may use is what a recrawl may use."""
    given = functions(synth("prod", liveCrawl="true", brightData="true", modelDescriptions="true"))
    variables = given["live_worker"]["Environment"]["Variables"]

    assert {env.BRIGHTDATA_SECRET_ARN, env.MODEL_SECRET_ARN} <= set(variables)
