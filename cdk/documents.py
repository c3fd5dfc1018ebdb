"""The parts of docs/ that are made from code, so that they cannot be wrong: alarms, IAM, cost.

`python -m cdk.documents` writes them; a test compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdk import prices
from cdk.alarm_spec import AlarmSpec, Severity
from cdk.alarm_table import alarm_table
from cdk.assembly import build_app
from cdk.config import STAGES
from cdk.cost import FLEETS, Habits, flood, month, sizes
from cdk.made import replace_part

ROOT = Path(__file__).parent.parent
SPECIFIED = "0.02 to 0.60"
"""USD per site and month, as the service's specification estimates it."""

REASONS: Mapping[str, str] = {
    "logs:CreateLogStream": "writes its own log group, and no other",
    "logs:PutLogEvents": "writes its own log group, and no other",
    "xray:PutTelemetryRecords": "active tracing, which knows no resources",
    "xray:PutTraceSegments": "active tracing, which knows no resources",
    "secretsmanager:DescribeSecret": "reads the secrets it uses",
    "secretsmanager:GetSecretValue": "reads the secrets it uses",
    "sqs:SendMessage": "hands sites, or a failed tick, to a queue",
    "sqs:ReceiveMessage": "Lambda takes its messages for it",
    "sqs:DeleteMessage": "Lambda takes its messages for it",
    "sqs:ChangeMessageVisibility": "Lambda takes its messages for it",
    "sqs:GetQueueAttributes": "comes with sending and receiving",
    "sqs:GetQueueUrl": "comes with sending and receiving",
    "execute-api:ManageConnections": "posts frames to the clients of its own API",
    "s3:GetObject": "reads files or state",
    "s3:PutObject": "writes files or state",
    "s3:DeleteObject": "forgets the state of a site that is deleted",
    "s3:ListBucket": "turns S3's 403 for a key that is not there into a 404",
}
"""Why a function may do it; an action without a reason fails the generation."""


def template(stage: str = "prod", **overrides: str) -> dict[str, Any]:
    """The template of a stage, without building the asset."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = build_app({**context, "stage": stage, **overrides, "aws:cdk:bundling-stacks": []})
    body: dict[str, Any] = app.synth().stacks[0].template
    return body


def alarms_page() -> str:
    """docs/alarms.md: the table of production, with a live crawl."""
    config = replace(STAGES["prod"], live_crawl=True)
    lines = [
        "# Alarms",
        "",
        "Made from the table in `cdk/` by `python -m cdk.documents`; windows are those of production.",
        "",
        "A **page** is sent by the composite alarm `prod-llms-txt-page` alone. Everything opens a **ticket**; **low**",
        "alarms exist where `lowSeverityAlarms` is on, those of the live crawl (`live-…`) where `liveCrawl` is.",
        "",
        "| alarm | severity | what broke, for whom | fires when | no data |",
        "|---|---|---|---|---|",
    ]
    order = list(Severity)
    for spec in sorted(alarm_table(config), key=lambda spec: order.index(spec.severity)):
        link = f"[{spec.id}](runbooks/{spec.id}.md)"
        lines.append(f"| {link} | {spec.severity} | {spec.broke} | {_condition(spec)} | {spec.missing} |")
    return "\n".join(lines) + "\n"


def _condition(spec: AlarmSpec) -> str:
    signals = {name: f"{signal.statistic} of {signal.name}" for name, signal in spec.signals.items()}
    watched = spec.expression or next(iter(signals.values()))
    where = "" if spec.expression is None else "; " + ", ".join(f"{name}: {text}" for name, text in signals.items())
    times = f"{spec.datapoints} of {spec.periods} × {duration(spec.period)}"
    return f"`{watched} {spec.comparison} {spec.threshold:,.10g}`, {times}{where}"


def duration(seconds: int) -> str:
    """21600 is "6 h"."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def iam_table(body: Mapping[str, Any], *, live: bool = False) -> str:
    """Who may do what, and why, as the template says it: the doors of the live crawl, or all the others."""
    rows = ["| function | actions | on | why |", "|---|---|---|---|"]
    for name, policy in sorted(body["Resources"].items()):
        if policy["Type"] != "AWS::IAM::Policy" or name.startswith("Live") is not live:
            continue
        function = re.match(r"(?:Live(?=[A-Z]))?[A-Z][a-z]+", name)
        assert function is not None
        who = re.sub(r"(?<=.)(?=[A-Z])", " ", function.group()).lower()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            actions = sorted(_list(statement["Action"]))
            resources = ", ".join(sorted({_resource(arn) for arn in _list(statement["Resource"])}))
            why = "; ".join(dict.fromkeys(REASONS[action] for action in actions))
            rows.append(f"| {who} | {_code(actions)} | {resources} | {why} |")
    return "\n".join(rows) + "\n"


def _resource(arn: Any) -> str:
    """A resource of the template in words: the logical id without its hash, or the pattern of its keys."""
    if isinstance(arn, str):
        return f"`{arn}`"
    if "Fn::Join" in arn:
        first, *rest = arn["Fn::Join"][1]
        if first == "arn:":
            # Written part by part: what is worth reading is the last of our own resources, and what follows it.
            return _resource(rest[-2]) + str(rest[-1])
        return _resource(first) + ("".join(rest) if all(isinstance(part, str) for part in rest) else "")
    logical_id = arn.get("Ref") or arn["Fn::GetAtt"][0]
    return re.sub(r"[0-9A-F]{8}$", "", logical_id)


def cost_tables(body: Mapping[str, Any]) -> str:
    """The three fleets side by side, then each one's share of a site, then the assumptions and prices."""
    size, habits = sizes(body, STAGES["prod"].cadence_seconds), Habits()
    months = {sites: month(sites, size, habits) for sites in FLEETS}
    header = "| USD a month | " + " | ".join(f"{sites:,} sites" for sites in FLEETS) + " |"
    rows = [header, "|---|" + "---:|" * len(FLEETS)]
    rows += [
        f"| {name} | " + " | ".join(f"{months[sites][name]:,.2f}" for sites in FLEETS) + " |"
        for name in months[FLEETS[0]]
    ]
    totals = {sites: sum(bill.values()) for sites, bill in months.items()}
    rows.append("| **all** | " + " | ".join(f"**{totals[sites]:,.2f}**" for sites in FLEETS) + " |")
    rows.append("| **per site** | " + " | ".join(f"**{totals[s] / s:,.5f}**" for s in FLEETS) + " |")
    rows.append(f"| specification, per site | {' | '.join([SPECIFIED] * len(FLEETS))} |")
    biggest = [max(bill, key=lambda name: bill[name]) for bill in months.values()]
    worst = flood(size)
    ceiling = "no ceiling: nothing is reserved" if worst is None else f"{worst:,.2f} at most"
    rows.append(f"| a flood of calls, whole month | {' | '.join([ceiling] * len(FLEETS))} |")
    rows.append("| dominated by | " + " | ".join(biggest) + " |")
    assumed = ["", "| assumption | value |", "|---|---:|"]
    assumed += [f"| {name.replace('_', ' ')} | {getattr(habits, name):,.3g} |" for name in habits.__slots__]
    priced = ["", f"| price (us-east-1, checked {prices.CHECKED}) | USD |", "|---|---:|"]
    flat = {name: value for name, value in vars(prices).items() if isinstance(value, float)} | {
        f"GB_SECOND {arch}": value for arch, value in prices.GB_SECOND.items()
    }
    flat.pop("DAYS_A_MONTH")
    priced += [f"| {name.lower().replace('_', ' ')} | {value:.10f} |" for name, value in flat.items()]
    return "\n".join([*rows, *assumed, *priced]) + "\n"


def pages(body: Mapping[str, Any], with_live: Mapping[str, Any]) -> dict[Path, str]:
    """Every made page with its text.

    :param body: the template of production. :param with_live: the same with a live crawl.
    """
    docs = ROOT / "docs"
    security = replace_part((docs / "security.md").read_text(), "iam", iam_table(body))
    return {
        docs / "alarms.md": alarms_page(),
        docs / "security.md": replace_part(security, "iam-live", iam_table(with_live, live=True)),
        docs / "cost.md": replace_part((docs / "cost.md").read_text(), "cost", cost_tables(body)),
    }


def _code(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


if __name__ == "__main__":
    for path, text in pages(template(), template(liveCrawl="true")).items():
        path.write_text(text)
