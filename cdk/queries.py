"""Saved Logs Insights queries: what on-call would otherwise have to write at night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.config import StageConfig

QUERIES: Mapping[str, str] = {
    "last-errors": """fields @timestamp, service, message, code, detail, site_id, @logStream
| filter level = "ERROR" or level = "CRITICAL" or @message like /Task timed out|Runtime\\.|Status: timeout/
| sort @timestamp desc
| limit 50""",
    "one-site-history": """fields @timestamp, outcome, reason, requests, duration_ms, next_crawl_at, run_id, tick_id
| filter message = "site_recrawled" and base_url = "https://REPLACE.example"
| sort @timestamp desc
| limit 100""",
    "slowest-sites": """filter message = "site_recrawled"
| stats max(duration_ms) / 1000 as slowest_s, avg(duration_ms) / 1000 as average_s, count(*) as runs by base_url
| sort slowest_s desc
| limit 25""",
    "failures-by-reason": """filter message = "site_recrawled" and outcome in ["failed", "held"]
| stats count(*) as runs, count_distinct(base_url) as sites, latest(base_url) as example by outcome, reason
| sort runs desc
| limit 25""",
    "secret-mismatch": """filter message = "WebhookUnauthorized" or (message = "request_refused" and status = 401)
| stats count(*) as calls, latest(@timestamp) as last by message, code, site_id
| sort calls desc
| limit 25""",
}
"""Name → query. The names of fields are those of the log lines; `base_url` is to be replaced by hand."""


class Queries(Construct):
    """The queries in the folder `llms-txt/<stage>` of the Logs Insights console, ready with their log groups."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig, groups: Sequence[logs.ILogGroup]) -> None:
        super().__init__(scope, id_)
        for name, query in QUERIES.items():
            logs.CfnQueryDefinition(
                self,
                name,
                name=f"llms-txt/{config.stage}/{name}",
                query_string=query,
                log_group_names=[group.log_group_name for group in groups],
            )
