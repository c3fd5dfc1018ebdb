"""The alarms that are deployed are those of the table, they say what to do, and somebody hears them."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cdk.alarm_spec import HOPS, SERVICE, AlarmSpec, Severity
from cdk.alarm_table import alarm_table
from cdk.alarms import COMPARISONS, alarm_name
from cdk.config import load_stage
from cdk.queries import QUERIES
from runtime import metrics as m
from tests.cdk.conftest import ROOT, STAGES, Synth, as_list, properties, resources

OPERATORS = {"GreaterThanOrEqualToThreshold": ">=", "GreaterThanThreshold": ">", "LessThanThreshold": "<"}
RUNBOOK_PARTS = ("Meaning", "Impact", "Check", "Mitigate", "Fix", "Escalate", "False positives")
TABLE = [(stage, spec) for stage in STAGES for spec in alarm_table(load_stage({"stage": stage}))]
WITH_LIVE = alarm_table(load_stage({"stage": "prod", "liveCrawl": "true"}))


def deployed(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The metric alarms by their id, without the one that only marks maintenance."""
    alarms = {body["AlarmName"].split("-llms-txt-")[1]: body for body in properties(template, "AWS::CloudWatch::Alarm")}
    del alarms["maintenance"]
    return alarms


@pytest.mark.parametrize("live", [{}, {"liveCrawl": "true"}], ids=["", "live"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_template_has_exactly_the_alarms_of_the_table(synth: Synth, stage: str, live: dict[str, str]) -> None:
    """Numbers, windows and the treatment of missing data, alarm by alarm."""
    table = {spec.id: spec for spec in alarm_table(load_stage({"stage": stage, **live}))}
    alarms = deployed(synth(stage, **live))
    assert set(alarms) == set(table)
    for id_, alarm in alarms.items():
        spec = table[id_]
        watched = alarm.get("Metrics", [{"MetricStat": {"Period": alarm.get("Period")}}])
        periods = {entry["MetricStat"]["Period"] for entry in watched if "MetricStat" in entry}
        assert periods == {spec.period}
        assert alarm["EvaluationPeriods"] == spec.periods
        assert alarm["DatapointsToAlarm"] == spec.datapoints
        assert alarm["Threshold"] == pytest.approx(spec.threshold)
        assert alarm["TreatMissingData"] == spec.missing
        assert OPERATORS[alarm["ComparisonOperator"]] == spec.comparison
        expressions = [entry["Expression"] for entry in watched if "Expression" in entry]
        assert expressions == ([spec.expression] if spec.expression else [])


@pytest.mark.parametrize(("stage", "spec"), TABLE, ids=lambda value: getattr(value, "id", value))
def test_every_window_is_one_that_cloudwatch_accepts(stage: str, spec: AlarmSpec) -> None:
    """Periods are whole minutes of a day at most; the window a day, or seven days from periods of an hour."""
    assert spec.period % 60 == 0
    assert 60 <= spec.period <= 86_400
    assert spec.window <= (7 * 86_400 if spec.period >= 3_600 else 86_400)
    assert 1 <= spec.datapoints <= spec.periods
    assert spec.comparison in COMPARISONS
    assert spec.hop in HOPS


@pytest.mark.parametrize("stage", STAGES)
def test_every_alarm_says_what_to_do_and_tells_somebody(synth: Synth, stage: str) -> None:
    """What broke, what to check, the page, the dashboard; a notice when it fires and one when it is over."""
    template = synth(stage, runbookUrl="https://example.com/runbooks")
    topics = resources(template, "AWS::SNS::Topic")
    for id_, alarm in deployed(template).items():
        text = alarm["AlarmDescription"]
        spec = next(spec for spec in alarm_table(load_stage({"stage": stage})) if spec.id == id_)
        assert text.startswith(f"[{spec.severity}] {spec.broke}")
        assert f"Check first: {spec.check}" in text
        assert f"Runbook: https://example.com/runbooks/{id_}.md" in text
        assert f"Dashboard: llms-txt-{stage}" in text
        assert len(text) <= 1_024
        for action in ("AlarmActions", "OKActions"):
            (target,) = alarm[action]
            assert target["Ref"] in topics
            assert "Ticket" in target["Ref"]
        assert alarm["ActionsEnabled"] is True


@pytest.mark.parametrize("spec", WITH_LIVE, ids=lambda spec: spec.id)
def test_every_alarm_has_its_runbook(spec: AlarmSpec) -> None:
    """One page an alarm, with the same seven parts, and commands for the stage that is exported."""
    page = (ROOT / "docs/runbooks" / f"{spec.id}.md").read_text()
    assert page.startswith(f"# {spec.id}\n")
    assert tuple(re.findall(r"^## (.+)$", page, re.MULTILINE)) == RUNBOOK_PARTS
    assert spec.broke in page
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    assert commands.startswith(". docs/runbooks/helpers.sh ")
    assert not re.search(r"\b(dev|staging|prod)-llms-txt|auto-updates-(dev|staging|prod)\b", page)


def test_there_is_no_runbook_without_an_alarm() -> None:
    """A page that nothing links to is never kept true."""
    pages = {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")} - {"README"}
    assert pages == {spec.id for spec in WITH_LIVE}


def test_the_live_crawl_has_alarms_where_it_is_and_nowhere_else() -> None:
    """Four tickets on its door, queue, worker and dead letters; a crawl that somebody watches wakes nobody."""
    without = {spec.id for stage, spec in TABLE if stage == "prod"}
    live = [spec for spec in WITH_LIVE if spec.id not in without]
    assert {spec.id for spec in live} == {
        "live-door-errors",
        "live-queue-age",
        "live-worker-errors",
        "live-crawls-dead",
    }
    assert {(spec.hop, spec.severity) for spec in live} == {("live", Severity.TICKET)}


@pytest.mark.parametrize("stage", STAGES)
def test_an_alarm_can_reach_its_topic_and_the_topic_its_key(synth: Synth, stage: str) -> None:
    """Alarm → topic policy → key policy: CloudWatch may publish and encrypt, for this account only, over TLS only."""
    template = synth(stage)
    account = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
    statements: dict[str, list[dict[str, Any]]] = {}
    for policy in properties(template, "AWS::SNS::TopicPolicy"):
        for topic in policy["Topics"]:
            statements.setdefault(topic["Ref"], []).extend(policy["PolicyDocument"]["Statement"])
    keys = resources(template, "AWS::KMS::Key")
    targets = {
        action["Ref"]
        for kind in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm")
        for alarm in properties(template, kind)
        for action in [*alarm.get("AlarmActions", []), *alarm.get("OKActions", [])]
    }
    assert len(targets) == 2
    for name in targets:
        topic = template["Resources"][name]["Properties"]
        publish = [s for s in statements[name] if s["Effect"] == "Allow"]
        assert [(s["Principal"], s["Action"], s["Condition"]) for s in publish] == [
            ({"Service": "cloudwatch.amazonaws.com"}, "sns:Publish", account)
        ]
        refused = [s for s in statements[name] if s["Effect"] == "Deny"]
        assert [s["Condition"] for s in refused] == [{"Bool": {"aws:SecureTransport": "false"}}]
        key = keys[topic["KmsMasterKeyId"]["Fn::GetAtt"][0]]["Properties"]
        encrypt = [s for s in key["KeyPolicy"]["Statement"] if s["Principal"] == publish[0]["Principal"]]
        assert [sorted(as_list(s["Action"])) for s in encrypt] == [["kms:Decrypt", "kms:GenerateDataKey*"]]
        assert encrypt[0]["Condition"] == account
        assert key["EnableKeyRotation"] is True


@pytest.mark.parametrize("stage", STAGES)
def test_the_composite_alone_pages_and_maintenance_holds_it_back(synth: Synth, stage: str) -> None:
    template = synth(stage)
    (page,) = properties(template, "AWS::CloudWatch::CompositeAlarm")
    alarms = resources(template, "AWS::CloudWatch::Alarm")
    rule = json.dumps(page["AlarmRule"])
    inside = {alarms[name]["Properties"]["AlarmName"] for name in re.findall(r'"Fn::GetAtt": \["(\w+)"', rule)}
    config = load_stage({"stage": stage})
    assert inside == {alarm_name(config, s.id) for s in alarm_table(config) if s.severity is Severity.PAGE}
    suppressor = alarms[page["ActionsSuppressor"]["Fn::GetAtt"][0]]["Properties"]
    assert suppressor["MetricName"] == m.MAINTENANCE
    assert suppressor["Period"] * suppressor["EvaluationPeriods"] == 12 * 3_600
    assert "Page" in page["AlarmActions"][0]["Ref"]
    assert "Page" in page["OKActions"][0]["Ref"]


def test_a_schedule_that_is_switched_off_does_not_page(synth: Synth) -> None:
    """Pausing by configuration is no emergency; everything else still is one."""
    template = synth("prod", scheduleEnabled="false")
    assert deployed(template)["heartbeat"]["ActionsEnabled"] is False
    (page,) = properties(template, "AWS::CloudWatch::CompositeAlarm")
    assert "heartbeat" not in json.dumps(page["AlarmRule"])
    assert "configuration" in json.dumps(page["AlarmRule"])


def test_every_metric_of_our_own_is_emitted_by_the_runtime() -> None:
    """An alarm on a metric that nobody writes would sleep for ever: each name is used somewhere in the runtime."""
    constants = {value: name for name, value in vars(m).items() if name.isupper() and isinstance(value, str)}
    sources = "\n".join(
        path.read_text() for path in (ROOT / "runtime").rglob("*.py") if path != Path(inspect.getfile(m))
    )
    watched = {s.name for _stage, spec in TABLE for s in spec.signals.values() if s.source == SERVICE}
    assert watched <= set(constants)
    unused = {name for name in watched if not re.search(rf"\b{constants[name]}\b", sources)}
    assert unused == set()


@pytest.mark.parametrize("live", [{}, {"liveCrawl": "true"}], ids=["", "live"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_dashboard_starts_with_is_it_fine_and_shows_every_alarm(
    synth: Synth, stage: str, live: dict[str, str]
) -> None:
    """One graph an alarm, with the live crawl's where there is one."""
    config = load_stage({"stage": stage, **live})
    (dashboard,) = properties(synth(stage, **live), "AWS::CloudWatch::Dashboard")
    body = dashboard["DashboardBody"]
    text = "".join(part if isinstance(part, str) else "REF" for part in body["Fn::Join"][1])
    widgets = json.loads(text)["widgets"]
    first = [w for w in widgets if w["y"] == 0]
    assert first[0]["properties"]["title"] == "Is it fine?"
    assert len(first[0]["properties"]["alarms"]) == len(alarm_table(config)) + 1
    titles = [w["properties"].get("title", "") for w in widgets]
    for spec in alarm_table(config):
        assert any(title.startswith(f"{spec.id}: fires when") for title in titles)
    assert [title for title in titles if title in QUERIES] == ["last-errors", "failures-by-reason", "slowest-sites"]
    assert all(w["x"] + w["width"] <= 24 for w in widgets)


@pytest.mark.parametrize(
    ("budget", "shown"), [({}, False), ({"crawlsPerDay": "500"}, True), ({"crawlUsdPerMonth": "2.50"}, True)]
)
def test_the_dashboard_shows_who_waits_for_the_budget(synth: Synth, budget: dict[str, str], shown: bool) -> None:
    """Beside those that are due and late; without a budget there is no such metric, and no empty line."""
    (dashboard,) = properties(synth("prod", **budget), "AWS::CloudWatch::Dashboard")
    body = json.dumps(dashboard["DashboardBody"])
    assert m.OVERDUE_SITES in body
    assert (m.OVER_BUDGET_SITES in body) is shown


def test_a_stage_can_do_without_a_dashboard_and_without_low_alarms(synth: Synth) -> None:
    """They cost money; a stage of dozens of sites need not pay for them."""
    lean = synth("prod", dashboard="false", lowSeverityAlarms="false")
    assert properties(lean, "AWS::CloudWatch::Dashboard") == []
    assert set(deployed(synth("prod"))) - set(deployed(lean)) == {
        spec.id for stage, spec in TABLE if stage == "prod" and spec.severity is Severity.LOW
    }


@pytest.mark.parametrize("live", [{}, {"liveCrawl": "true"}], ids=["", "live"])
@pytest.mark.parametrize("stage", STAGES)
def test_the_saved_queries_know_their_log_groups(synth: Synth, stage: str, live: dict[str, str]) -> None:
    """Every function's log is asked, the live crawl's too."""
    template = synth(stage, **live)
    groups = set(resources(template, "AWS::Logs::LogGroup"))
    queries = properties(template, "AWS::Logs::QueryDefinition")
    assert {query["Name"] for query in queries} == {f"llms-txt/{stage}/{name}" for name in QUERIES}
    assert all({group["Ref"] for group in query["LogGroupNames"]} == groups for query in queries)


@pytest.mark.parametrize("stage", STAGES)
def test_logs_are_kept_as_long_as_the_stage_says_and_are_json(synth: Synth, stage: str) -> None:
    """One group a function, none made by Lambda behind our back."""
    template = synth(stage)
    days = load_stage({"stage": stage}).log_retention_days
    groups = resources(template, "AWS::Logs::LogGroup")
    assert {body["Properties"]["RetentionInDays"] for body in groups.values()} == {days}
    logging = [function["LoggingConfig"] for function in properties(template, "AWS::Lambda::Function")]
    assert {config["LogGroup"]["Ref"] for config in logging} == set(groups)
    assert {(config["LogFormat"], config["ApplicationLogLevel"]) for config in logging} == {("JSON", "INFO")}
    assert all("Name" not in body["Properties"] for body in groups.values())


def test_e_mail_addresses_are_subscribed(synth: Synth) -> None:
    template = synth("prod", pageEmail="oncall@example.com", ticketEmail="team@example.com")
    subscribed = {s["Endpoint"]: s["TopicArn"]["Ref"] for s in properties(template, "AWS::SNS::Subscription")}
    assert {endpoint: "Page" in topic for endpoint, topic in subscribed.items()} == {
        "oncall@example.com": True,
        "team@example.com": False,
    }
