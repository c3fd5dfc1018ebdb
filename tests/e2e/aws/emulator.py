"""An AWS account on loopback: ministack, with what its CloudFormation lacks.

Run as a program it serves until it is stopped: `python -m tests.e2e.aws.emulator`, set up by BIND_HOST, GATEWAY_PORT,
MINISTACK_REGION and MINISTACK_ACCOUNT_ID. Lambda handlers run under this very interpreter, so an asset to be deployed
to it is built for this machine's Python and platform (`-c python=… -c architecture=…`).
"""

from __future__ import annotations

import os
import re
import string
import sys
from collections.abc import Callable
from typing import Any

Result = tuple[str, dict[str, Any]]

MONITORING_ONLY = ("AWS::CloudWatch::CompositeAlarm", "AWS::Logs::QueryDefinition")
"""Types that ministack 1.5.33 does not know. Nothing in a run depends on them, so they are accepted and kept as names."""


def teach_secrets() -> None:
    """Three things about secrets as they are on AWS.

    `Ref` is the ARN (ministack gives the name, and IAM then denies the reader); `ExcludePunctuation` is obeyed (a quote
    would break the JSON of the rule's input); a secret without a value has no version to read.
    """
    from ministack.services import secretsmanager  # type: ignore[import-untyped]
    from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

    handler = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]
    create, update, delete = handler["create"], handler["update"], handler["delete"]

    def name_of(physical_id: str) -> str:
        secrets = secretsmanager._secrets.items()
        return next((name for name, secret in secrets if secret["ARN"] == physical_id), physical_id)

    def with_arn(result: Result) -> Result:
        _name, attributes = result
        return attributes["Arn"], attributes

    def create_as_aws(logical_id: str, properties: dict[str, Any], stack: str) -> Result:
        generate = properties.get("GenerateSecretString")
        if generate and str(generate.get("ExcludePunctuation")).lower() == "true":
            properties = {**properties, "GenerateSecretString": {**generate, "ExcludeCharacters": string.punctuation}}
        result = create(logical_id, properties, stack)
        if not generate and "SecretString" not in properties:
            secretsmanager._secrets[result[0]]["Versions"].clear()
        return with_arn(result)

    handler["create"] = create_as_aws
    handler["update"] = lambda physical_id, old, new, stack, logical_id=None: with_arn(
        update(name_of(physical_id), old, new, stack, logical_id)
    )
    handler["delete"] = lambda physical_id, properties: delete(name_of(physical_id), properties)


def teach_batch_actions() -> None:
    """On AWS the batch calls of SQS want the permission of the single call; there is no sqs:SendMessageBatch to grant."""
    from ministack.core import iam_actions  # type: ignore[import-untyped]

    extract = iam_actions.extract_iam_action

    def as_aws(service: str, *rest: Any) -> str | None:
        action: str | None = extract(service, *rest)
        return action.removesuffix("Batch") if action and action.startswith("sqs:") else action

    iam_actions.extract_iam_action = as_aws


def teach_redrive() -> None:
    """`StartMessageMoveTask`: send what lies in a dead-letter queue back to the queue that it came from."""
    from ministack.services import sqs

    def start(data: dict[str, Any], _url: str) -> dict[str, str]:
        queues = list(sqs._queues.items())
        dead = next(queue for _name, queue in queues if queue["attributes"]["QueueArn"] == data["SourceArn"])
        source = next(url for url, queue in queues if data["SourceArn"] in queue["attributes"].get("RedrivePolicy", ""))
        for message in list(dead["messages"]):
            sqs._act_send_message({"QueueUrl": source, "MessageBody": message["body"]}, source)
        dead["messages"].clear()
        return {"TaskHandle": f"moved to {source}"}

    sqs._HANDLERS["StartMessageMoveTask"] = start


def accept_metric_math() -> None:
    """Accept alarms on expressions, which ministack refuses; nothing here evaluates alarms anyway."""
    from ministack.services.cloudformation import provisioners

    handler = provisioners._RESOURCE_HANDLERS["AWS::CloudWatch::Alarm"]
    create, update, delete = handler["create"], handler["update"], handler["delete"]

    def create_or_accept(logical_id: str, properties: dict[str, Any], stack: str) -> Result:
        if "Metrics" not in properties:
            created: Result = create(logical_id, properties, stack)
            return created
        name = properties["AlarmName"]
        return name, {"Arn": f"arn:aws:cloudwatch:{os.environ['MINISTACK_REGION']}::alarm:{name}"}

    def update_or_accept(physical_id: str, old: dict[str, Any], new: dict[str, Any], *where: Any) -> Result:
        if "Metrics" not in new:
            updated: Result = update(physical_id, old, new, *where)
            return updated
        return create_or_accept(physical_id, new, where[0])

    def delete_or_forget(physical_id: str, properties: dict[str, Any]) -> None:
        if "Metrics" not in properties:
            delete(physical_id, properties)

    handler |= {"create": create_or_accept, "update": update_or_accept, "delete": delete_or_forget}


def accept_types(*names: str) -> None:
    """Accept resource types that have no service behind them here."""
    from ministack.services.cloudformation import provisioners

    def create(logical_id: str, properties: dict[str, Any], stack: str) -> Result:
        del properties
        return f"{stack}-{logical_id}", {"Arn": f"arn:aws:cloudwatch:{logical_id}"}

    def delete(physical_id: str, properties: dict[str, Any]) -> None:
        del physical_id, properties

    for name in names:
        handler: dict[str, Callable[..., Any]] = {"create": create, "delete": delete}
        provisioners._RESOURCE_HANDLERS.setdefault(name, handler)


def teach_addresses() -> None:
    """Functions find the WebSocket API where it is: on loopback, by the path that ministack gives it.

    A template can only say the name that the API has on AWS, and nobody here resolves it.
    """
    from ministack.services.cloudformation import provisioners

    handler = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    create, update = handler["create"], handler["update"]
    here = f"https://127.0.0.1:{os.environ['GATEWAY_PORT']}/_aws/execute-api"

    def found(properties: dict[str, Any]) -> dict[str, Any]:
        variables = properties.get("Environment", {}).get("Variables", {})
        told = {
            name: re.sub(r"^https://(\w+)\.execute-api\.[^/]+", rf"{here}/\1", value)
            if isinstance(value, str)
            else value
            for name, value in variables.items()
        }
        return {**properties, "Environment": {"Variables": told}}

    handler["create"] = lambda logical_id, properties, stack: create(logical_id, found(properties), stack)
    handler["update"] = lambda physical_id, old, new, stack, logical_id=None: update(
        physical_id, found(old), found(new), stack, logical_id
    )


def main() -> int:
    if os.environ.get("BIND_HOST") != "127.0.0.1":
        sys.stderr.write("refused: BIND_HOST must be 127.0.0.1, or the emulator would listen on every interface\n")
        return 2
    # More listeners than anyone here calls, and this one on every interface.
    os.environ["IOT_MTLS_ENABLED"] = "0"
    from ministack.app import main as serve  # type: ignore[import-untyped]

    teach_secrets()
    teach_batch_actions()
    teach_redrive()
    teach_addresses()
    accept_metric_math()
    accept_types(*MONITORING_ONLY)
    serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
