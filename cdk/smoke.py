"""`make smoke`: one tick in a deployed stage, exactly as the schedule would send it, and a wait for its result.

It is also the first beat of the heartbeat after a deploy. Run as `python -m cdk.smoke STAGE`, with credentials.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import boto3

from cdk.config import STAGES

WAIT_SECONDS = 600
STACK = "llms-txt-auto-updates-{}"


def main(arguments: list[str]) -> int:
    """Exit status 0: the tick was done; 1: it failed or did not end in time; 2: no such stage or stack."""
    if len(arguments) != 1 or arguments[0] not in STAGES:
        return _say(f"usage: python -m cdk.smoke {'|'.join(STAGES)}", 2)
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        outputs = _outputs(STACK.format(arguments[0]))
        since = int(time.time() * 1_000)
        answer = _tick(outputs)
        if "total" not in answer:
            return _say(f"the tick failed: {answer.get('errorMessage', answer)}", 1)
        if answer["total"] == 0:
            return _say("the tick worked; no site was due", 0)
        _say(f"{answer['total']} site{'s' * (answer['total'] != 1)} queued; waiting for the last one", 0)
        dispatched = _line(outputs["DispatcherLogs"], '"tick_dispatched"', since)
        completed = dispatched and _line(outputs["WorkerLogs"], f'"tick_completed" "{dispatched["tick_id"]}"', since)
        if not completed:
            return _say(f"no end within {WAIT_SECONDS} s; see the log group {outputs['WorkerLogs']}", 1)
        return _say(str(completed["summary"]), 0)
    except (BotoCoreError, ClientError) as error:
        return _say(f"error: {error}", 2)


def _outputs(stack: str) -> dict[str, str]:
    (found,) = _client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}


def _tick(outputs: dict[str, str]) -> dict[str, Any]:
    """Invoke the dispatcher with the rule's own input; gives its answer."""
    (target,) = _client("events").list_targets_by_rule(Rule=outputs["ScheduleRule"])["Targets"]
    answer = _client("lambda").invoke(FunctionName=outputs["DispatcherName"], Payload=target["Input"])
    body: dict[str, Any] = json.loads(answer["Payload"].read())
    return body


def _line(group: str, pattern: str, since: int) -> dict[str, Any] | None:
    """The first line that matches since a time in milliseconds; logs arrive seconds after they are written."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        found = _client("logs").filter_log_events(logGroupName=group, filterPattern=pattern, startTime=since)
        for event in found["events"]:
            line: dict[str, Any] = json.loads(event["message"])
            return line
        time.sleep(3)
    return None


def _client(service: str) -> Any:
    make: Any = boto3.client  # its stub knows every service by a literal name
    return make(service)


def _say(text: str, status: int) -> int:
    (sys.stdout if status == 0 else sys.stderr).write(text + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
