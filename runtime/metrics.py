"""Names of metrics and log events. `cdk` imports them, so that an alarm cannot name a metric nobody emits."""

from typing import Final

NAMESPACE: Final = "LlmsTxt"
SERVICE: Final = "llms-txt"
"""The value of the service dimension, the same for every function: an alarm need not know who emits a metric."""

SERVICE_DIMENSION: Final = "service"
STAGE_DIMENSION: Final = "stage"

SITES_TOTAL: Final = "SitesTotal"
SITES_PROCESSED: Final = "SitesProcessed"
SITES_UPDATED: Final = "SitesUpdated"
SITES_UNCHANGED: Final = "SitesUnchanged"
SITES_HELD: Final = "SitesHeld"
SITES_FAILED: Final = "SitesFailed"
SITES_DEFERRED: Final = "SitesDeferred"
RUN_SECONDS: Final = "RunSeconds"
RUN_REQUESTS: Final = "RunRequests"
PUBLISH_FAILURES: Final = "PublishFailures"
OWN_FAULTS: Final = "OwnFaults"
"""Batches in which nearly all sites failed alike, so that no site was blamed (`runtime.own_fault`)."""

SECURITY_DENIED: Final = "SecurityDenied"
TICKS_COMPLETED: Final = "TicksCompleted"
TICK_SECONDS: Final = "TickSeconds"
DUE_SITES: Final = "DueSites"
OVERDUE_SITES: Final = "OverdueSites"
OLDEST_DUE_SECONDS: Final = "OldestDueSeconds"
QUEUE_FAILURES: Final = "QueueFailures"
CONFIGURATION_ERRORS: Final = "ConfigurationErrors"
NOTIFICATIONS_SENT: Final = "NotificationsSent"
NOTIFICATIONS_FAILED: Final = "NotificationsFailed"
WEBHOOK_ACCEPTED: Final = "WebhookAccepted"
WEBHOOK_UNAUTHORIZED: Final = "WebhookUnauthorized"

WORK_COMPLETED: Final = "WorkCompleted"
"""The heartbeat: 1 for every run that was committed and for every tick that had nothing to do; 0 for another tick, and
for a run that a fault of our own ended.

Work done is what readers get; an invocation that dies also "ran". A tick whose sites are under way adds nothing by
itself, so one site that never ends cannot hide the others, nor stop the heart.
"""

STALE_SITES: Final = "StaleSites"
"""Active sites whose last successful check is more than two of their own intervals and a day ago, counted at a tick."""

OVER_BUDGET_SITES: Final = "OverBudgetSites"
"""Sites that are due and wait for the budget of crawls, counted at a tick; only where there is a budget."""

UNLOCK_CALLS: Final = "UnlockCalls"
"""Pages that a run asked the unlocker for: their sum over a month is what the month's budget bounds."""

UNLOCK_BUDGET_SPENT: Final = "UnlockBudgetSpent"
"""Runs that did without the unlocker because the deployment's month is used up."""

MAINTENANCE: Final = "Maintenance"
"""Written by a person who works on the service: pages are held back while it is above zero."""
