"""The stack: it joins the parts and defines none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import CfnOutput, Fn, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk.alarm_spec import (
    DEAD,
    DISPATCHER,
    FAILED,
    LETTERS,
    LIVE_DEAD,
    LIVE_DOOR,
    LIVE_WORK,
    LIVE_WORKER,
    UNDELIVERED,
    WEBHOOK,
    WORK,
    WORKER,
)
from cdk.alarms import dashboard_name
from cdk.config import StageConfig
from cdk.cron import CronTrigger
from cdk.fanout import WorkQueue
from cdk.function import RuntimeFunction
from cdk.letters import UndeliveredLetters
from cdk.live import LiveCrawl
from cdk.monitoring import Monitoring
from cdk.publishing import OBJECT_DELETE, OBJECT_READ, OBJECT_WRITE, Publishing
from cdk.secrets import Secrets
from cdk.webhook import PublicUrl
from runtime import environment as env


class AutoUpdatesStack(Stack):
    """One stage of the service."""

    def __init__(self, scope: Construct, id_: str, *, config: StageConfig, code: lambda_.Code, **kwargs: Any) -> None:
        super().__init__(scope, id_, **kwargs)
        self.config, self._code = config, code
        self.secrets = Secrets(self, "Secrets", config=config)
        self.publishing = Publishing(self, "Publishing", config=config)
        self.work = WorkQueue(self, "Work", config=config)
        self.letters = UndeliveredLetters(self, "Letters", config=config)
        self.dispatcher = self._add_dispatcher()
        self.webhook = self._add_webhook()
        self.url = PublicUrl(self, "Url", function=self.webhook)
        self.worker = self._add_worker()
        self.live = self._add_live() if config.live_crawl else None
        self.cron = CronTrigger(self, "Cron", config=config, dispatcher=self.dispatcher, secret=self.secrets.cron)
        self.monitoring = self._add_monitoring()
        self._add_outputs()

    def _add_dispatcher(self) -> RuntimeFunction:
        """Claims the sites that are due and queues them: the database and the queue, nothing else."""
        secrets = {
            env.SUPABASE_SECRET_ARN: self.secrets.supabase,
            env.CRON_SECRET_ARN: self.secrets.cron,
        }
        function = RuntimeFunction(
            self,
            "Dispatcher",
            name="cron",
            description="Claims the sites that are due and queues one message a site",
            code=self._code,
            config=self.config,
            memory_mb=self.config.dispatcher_memory_mb,
            timeout=self.config.dispatcher_timeout,
            reserved_concurrency=self.config.dispatcher_concurrency,
            variables=self._variables(secrets, self.publishing.host),
        )
        _grant_read(function, secrets)
        self.work.queue.grant_send_messages(function.function)
        return function

    def _add_webhook(self) -> RuntimeFunction:
        """Answers the public URL. It writes files only to roll one back or to confirm a held one."""
        secrets = {
            env.SUPABASE_SECRET_ARN: self.secrets.supabase,
            env.CRON_SECRET_ARN: self.secrets.cron,
            env.API_KEY_SECRET_ARN: self.secrets.api_key,
            env.R2_SECRET_ARN: self.secrets.r2,
        }
        function = RuntimeFunction(
            self,
            "Webhook",
            name="webhook",
            description="Answers webhooks and the management API",
            code=self._code,
            config=self.config,
            memory_mb=self.config.webhook_memory_mb,
            timeout=self.config.webhook_timeout,
            reserved_concurrency=self.config.webhook_concurrency,
            # Its own URL cannot be among its own variables; every request carries it (requestContext.domainName).
            variables=self._variables(secrets, self.publishing.host),
        )
        _grant_read(function, secrets)
        self.work.queue.grant_send_messages(function.function)
        self.publishing.grant_public(function, OBJECT_READ, OBJECT_WRITE)
        self.publishing.grant_state(function, OBJECT_READ, OBJECT_WRITE, OBJECT_DELETE)
        return function

    def _add_worker(self) -> RuntimeFunction:
        """Crawls and publishes; queues itself again when a long crawl needs another turn."""
        secrets = {
            env.SUPABASE_SECRET_ARN: self.secrets.supabase,
            env.R2_SECRET_ARN: self.secrets.r2,
            env.BRIGHTDATA_SECRET_ARN: self.secrets.bright_data,
            env.MODEL_SECRET_ARN: self.secrets.model,
            env.NOTIFY_SECRET_ARN: self.secrets.notify,
        }
        function = RuntimeFunction(
            self,
            "Worker",
            name="worker",
            description="Recrawls one batch of sites and publishes what changed",
            code=self._code,
            config=self.config,
            memory_mb=self.config.worker_memory_mb,
            timeout=self.config.worker_timeout,
            variables=self._variables(secrets, self.publishing.host, self.url.host)
            | {env.LETTERS_QUEUE_URL: self.letters.queue.queue_url},
        )
        _grant_read(function, secrets)
        for queue in (self.work.queue, self.letters.queue):
            queue.grant_send_messages(function.function)
        self.work.feed(function)
        self.letters.feed(function)
        self.publishing.grant_public(function, OBJECT_READ, OBJECT_WRITE)
        self.publishing.grant_state(function, OBJECT_READ, OBJECT_WRITE)
        return function

    def _add_live(self) -> LiveCrawl:
        """The live crawl's worker does what the worker does, for a client that watches."""
        secrets = {
            env.SUPABASE_SECRET_ARN: self.secrets.supabase,
            env.R2_SECRET_ARN: self.secrets.r2,
            env.BRIGHTDATA_SECRET_ARN: self.secrets.bright_data,
            env.MODEL_SECRET_ARN: self.secrets.model,
            env.NOTIFY_SECRET_ARN: self.secrets.notify,
        }
        live = LiveCrawl(
            self,
            "Live",
            config=self.config,
            code=self._code,
            api_key=self.secrets.api_key,
            variables=self._variables(secrets, self.publishing.host, self.url.host)
            | {env.LETTERS_QUEUE_URL: self.letters.queue.queue_url},
        )
        _grant_read(live.worker, secrets)
        for queue in (self.work.queue, self.letters.queue):
            queue.grant_send_messages(live.worker.function)
        self.publishing.grant_public(live.worker, OBJECT_READ, OBJECT_WRITE)
        self.publishing.grant_state(live.worker, OBJECT_READ, OBJECT_WRITE, OBJECT_DELETE)
        return live

    def _add_monitoring(self) -> Monitoring:
        functions = {DISPATCHER: self.dispatcher, WORKER: self.worker, WEBHOOK: self.webhook}
        queues = {
            WORK: self.work.queue,
            DEAD: self.work.dead,
            UNDELIVERED: self.cron.undelivered,
            FAILED: self.cron.failed,
            LETTERS: self.letters.dead,
        }
        if self.live:
            functions |= {LIVE_DOOR: self.live.door, LIVE_WORKER: self.live.worker}
            queues |= {LIVE_WORK: self.live.queue, LIVE_DEAD: self.live.dead}
        return Monitoring(self, "Monitoring", config=self.config, functions=functions, queues=queues)

    def _variables(self, secrets: Mapping[str, secretsmanager.Secret | None], *self_hosts: str) -> dict[str, str]:
        variables = {
            env.QUEUE_URL: self.work.queue.queue_url,
            env.PUBLIC_BUCKET: self.publishing.public_bucket_name,
            env.PUBLIC_BASE_URL: self.publishing.base_url,
            env.PUBLIC_ENDPOINT_URL: self.publishing.endpoint_url,
            env.STATE_BUCKET: self.publishing.state.bucket_name,
            env.ALLOW_NETWORKS: self.config.allow_networks,
            env.SELF_HOSTS: Fn.join(",", list(self_hosts)),
            env.LEASE_SECONDS: str(self.config.lease_seconds),
            env.CLAIM_BATCH: str(self.config.claim_batch),
            env.CLAIMS_PER_TICK: str(self.config.claims_per_tick),
            env.SCHEDULE: self.config.site_schedule,
            env.UNLOCKS_PER_MONTH: str(self.config.unlocks_per_month),
        }
        if self.config.crawls_per_day:
            variables[env.CRAWLS_PER_DAY] = str(self.config.crawls_per_day)
        if self.config.crawl_usd_per_month:
            variables[env.CRAWL_USD_PER_MONTH] = self.config.crawl_usd_per_month
        if secrets.get(env.CRON_SECRET_ARN):
            # Warm processes remember secrets for minutes; the deploy that puts a new one into the rule ends them.
            variables[env.CRON_SECRET_VERSION] = str(self.config.cron_secret_version)
        return variables | {name: secret.secret_arn for name, secret in secrets.items() if secret}

    def _add_outputs(self) -> None:
        """What people and runbooks need to find: `aws cloudformation describe-stacks` is their address book."""
        found = {
            "FunctionUrl": (self.url.address, "Webhooks and the management API"),
            "PublicBaseUrl": (self.publishing.base_url, "Where readers find llms.txt"),
            "PublicBucket": (self.publishing.public_bucket_name, "The bucket behind it"),
            "StateBucket": (self.publishing.state.bucket_name, "What is remembered of each site"),
            "ScheduleRule": (self.cron.rule.rule_name, "The rule that ticks"),
            "QueueUrl": (self.work.queue.queue_url, "The work queue"),
            "QueueArn": (self.work.queue.queue_arn, "The work queue"),
            "DeadSitesUrl": (self.work.dead.queue_url, "Sites whose message failed on every attempt"),
            "DeadSitesArn": (self.work.dead.queue_arn, "Sites whose message failed on every attempt"),
            "UndeliveredTicksUrl": (self.cron.undelivered.queue_url, "Ticks that did not reach the dispatcher"),
            "LettersUrl": (self.letters.queue.queue_url, "Notifications that wait for their next try"),
            "DeadLettersUrl": (self.letters.dead.queue_url, "Notifications that nobody took"),
            "DeadLettersArn": (self.letters.dead.queue_arn, "Notifications that nobody took"),
            "FailedTicksUrl": (self.cron.failed.queue_url, "Ticks that the dispatcher could not do"),
            "PageTopicArn": (self.monitoring.notices.page.topic_arn, "Pages: subscribe whoever is on call"),
            "TicketTopicArn": (self.monitoring.notices.ticket.topic_arn, "Everything else"),
            "CronSecretArn": (self.secrets.cron.secret_arn, "Generated"),
            "ApiKeySecretArn": (self.secrets.api_key.secret_arn, "Generated; read it with get-secret-value"),
        }
        doors = {"Dispatcher": self.dispatcher, "Webhook": self.webhook, "Worker": self.worker}
        if self.live:
            doors |= {"LiveDoor": self.live.door, "LiveWorker": self.live.worker}
            found["LiveUrl"] = (self.live.address, "The live crawl's WebSocket")
            found["LiveQueueUrl"] = (self.live.queue.queue_url, "Live crawls that clients asked for")
            found["LiveDeadUrl"] = (self.live.dead.queue_url, "Live crawls that failed on every attempt")
        for name, door in doors.items():
            found[f"{name}Name"] = (door.function.function_name, "The function")
            found[f"{name}Logs"] = (door.log_group.log_group_name, "Its log group")
        fill = "fill it: aws secretsmanager put-secret-value --secret-id <this> --secret-string file://<json>"
        for secret in self.secrets.to_fill:
            found[f"{secret.node.id}SecretArn"] = (secret.secret_arn, f"Empty; {fill}")
        if self.config.dashboard:
            found["Dashboard"] = (dashboard_name(self.config), "The CloudWatch dashboard")
        for name, (value, description) in found.items():
            CfnOutput(self, name, value=value, description=description)


def _grant_read(function: RuntimeFunction, secrets: Mapping[str, secretsmanager.Secret | None]) -> None:
    for secret in secrets.values():
        if secret:
            secret.grant_read(function.function)
