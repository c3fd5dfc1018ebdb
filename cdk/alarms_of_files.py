"""Alarms on what owners and readers see: sites that fail, files that are held or stale, calls that are refused."""

from __future__ import annotations

from cdk.alarm_spec import LETTERS, RUNS, SERVICE, WAITING, WEBHOOK, AlarmSpec, Severity, Signal, tick_period
from cdk.config import StageConfig
from runtime import metrics as m


def site_alarms(config: StageConfig) -> list[AlarmSpec]:
    tick = tick_period(config)
    return [
        AlarmSpec(
            id="site-failure-rate",
            severity=Severity.TICKET,
            hop="sites",
            broke="A quarter of the sites fail, tick after tick: their files stay as they are and grow stale.",
            check="Group the reasons of the last runs.",
            signals=RUNS,
            expression="IF(FILL(runs, 0) >= 5, 100 * FILL(failed, 0) / runs, 0)",
            comparison=">",
            threshold=25,
            # By the hour, over two ticks: the hours between them hold no runs and count as good.
            period=3_600,
            periods=max(2, 2 * tick // 3_600),
            datapoints=2,
        ),
        AlarmSpec(
            id="publish-failures",
            severity=Severity.TICKET,
            hop="sites",
            broke="Changed files could not be put where readers get them; readers see the old ones.",
            check="Credentials and address of the bucket.",
            signals={"failures": Signal(SERVICE, m.PUBLISH_FAILURES)},
            threshold=3,
            period=3_600,
        ),
        AlarmSpec(
            id="held-files",
            severity=Severity.TICKET,
            hop="sites",
            broke="A new file looked wrong (empty, collapsed, partial) and was held; readers keep the last good one.",
            check="Is the site broken, or did it really shrink? Then confirm the file.",
            signals={"held": Signal(SERVICE, m.SITES_HELD)},
            threshold=1,
            period=tick,
        ),
        AlarmSpec(
            id="stale-files",
            severity=Severity.TICKET,
            hop="sites",
            broke="A site has not been checked with success for more than two of its intervals and a day.",
            check="Its history: does it fail, is it held, is it never taken?",
            signals={"sites": Signal(SERVICE, m.STALE_SITES, "Maximum")},
            threshold=1,
            period=tick,
            periods=2,
            datapoints=2,
            missing="ignore",
        ),
        AlarmSpec(
            id="notifications-failing",
            severity=Severity.LOW,
            hop="sites",
            broke="Messages about changed or failing sites are not delivered to those who asked for them.",
            check="Whose address does not answer, and since when?",
            signals={"failed": Signal(SERVICE, m.NOTIFICATIONS_FAILED)},
            threshold=5,
            period=3_600,
        ),
        AlarmSpec(
            id="undelivered-notifications",
            severity=Severity.LOW,
            hop="sites",
            broke="Messages about changed or failing sites were tried for half a day and put aside; nobody was told.",
            check="Whose address is it, and does it answer again?",
            signals={"messages": Signal(LETTERS, WAITING, "Maximum")},
            threshold=1,
            period=300,
        ),
        AlarmSpec(
            id="security-denied",
            severity=Severity.LOW,
            hop="sites",
            broke="Sites led the crawler to private addresses fifty times in an hour; nothing was fetched.",
            check="Which site, and is it an attack or a leftover of its staging system?",
            signals={"refused": Signal(SERVICE, m.SECURITY_DENIED)},
            threshold=50,
            period=3_600,
        ),
    ]


def webhook_alarms() -> list[AlarmSpec]:
    return [
        AlarmSpec(
            id="webhook-5xx",
            severity=Severity.TICKET,
            hop="webhook",
            broke="One webhook or API call in twenty gets a server error; owners' deploys are not noticed at once.",
            check="Is the database up? The log of the webhook function says.",
            signals={"errors": Signal(WEBHOOK, "Url5xxCount"), "requests": Signal(WEBHOOK, "UrlRequestCount")},
            expression="IF(FILL(errors, 0) >= 3, 100 * errors / requests, 0)",
            comparison=">",
            threshold=5,
            period=300,
            periods=3,
            datapoints=2,
        ),
        AlarmSpec(
            id="webhook-throttles",
            severity=Severity.LOW,
            hop="webhook",
            broke="Lambda has turned webhooks and API calls away for a quarter of an hour: owners' CI gets 429.",
            check="A flood of calls, or too little reserved concurrency?",
            signals={"throttles": Signal(WEBHOOK, "Throttles")},
            threshold=1,
            period=300,
            periods=3,
            datapoints=3,
        ),
        AlarmSpec(
            id="webhook-401-surge",
            severity=Severity.LOW,
            hop="webhook",
            broke="Wrong secrets arrive in numbers: somebody guesses, or an owner's CI still uses an old secret.",
            check="One site or many? The saved query secret-mismatch.",
            signals={"refused": Signal(SERVICE, m.WEBHOOK_UNAUTHORIZED)},
            threshold=50,
            period=300,
            periods=3,
            datapoints=3,
        ),
    ]
