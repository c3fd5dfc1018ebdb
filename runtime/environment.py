"""Names of the environment variables that the infrastructure sets and the doors read.

One list for both sides, so that a name cannot be spelled two ways. Secrets are never in the environment: a variable
that ends in `_ARN` says where one is. What such a secret holds is written beside its name.
"""

from typing import Final

STAGE: Final = "LLMS_STAGE"

SUPABASE_SECRET_ARN: Final = "LLMS_SUPABASE_SECRET_ARN"  # noqa: S105 - a name
"""JSON `{"url": …, "key": …}`: the project's URL and its service-role key."""

R2_SECRET_ARN: Final = "LLMS_R2_SECRET_ARN"  # noqa: S105 - a name
"""JSON `{"endpoint": …, "access_key_id": …, "secret_access_key": …, "bucket": …}`; unset when publishing to S3."""

CRON_SECRET_ARN: Final = "LLMS_CRON_SECRET_ARN"  # noqa: S105 - a name
"""Plain text, generated; AWSPREVIOUS stays valid while a rotation is under way."""

CRON_SECRET_VERSION: Final = "LLMS_CRON_SECRET_VERSION"  # noqa: S105 - a name
"""A number that a rotation raises. Nobody reads it: that it changes starts new processes, which know the new value."""

API_KEY_SECRET_ARN: Final = "LLMS_API_KEY_SECRET_ARN"  # noqa: S105 - a name
"""Plain text, generated."""

BRIGHTDATA_SECRET_ARN: Final = "LLMS_BRIGHTDATA_SECRET_ARN"  # noqa: S105 - a name
"""JSON `{"api_key": …, "zone": …}`; unset when the unlocker is off."""

MODEL_SECRET_ARN: Final = "LLMS_MODEL_SECRET_ARN"  # noqa: S105 - a name
"""JSON with the model provider's settings; unset when model-written descriptions are off."""

NOTIFY_SECRET_ARN: Final = "LLMS_NOTIFY_SECRET_ARN"  # noqa: S105 - a name
"""JSON `{"url": …, "secret": …}`: who is told of every site's changes; unset when nobody is."""

NOTIFY_URL: Final = "LLMS_NOTIFY_URL"
NOTIFY_SECRET: Final = "LLMS_NOTIFY_SECRET"  # noqa: S105 - a name
"""A laptop's counterparts of that secret; several secrets, while one is being rotated, are separated by commas."""

LETTERS_QUEUE_URL: Final = "LLMS_LETTERS_QUEUE_URL"
"""The queue of notifications that could not be delivered within their run."""

QUEUE_URL: Final = "LLMS_QUEUE_URL"
LIVE_QUEUE_URL: Final = "LLMS_LIVE_QUEUE_URL"
"""The queue of messages that clients of the live crawl sent; unset where there is none."""

LIVE_ENDPOINT_URL: Final = "LLMS_LIVE_ENDPOINT_URL"
"""Where frames for their connections are posted: the callback URL of the WebSocket API's stage."""

PUBLIC_BUCKET: Final = "LLMS_PUBLIC_BUCKET"
PUBLIC_BASE_URL: Final = "LLMS_PUBLIC_BASE_URL"
"""Where readers find the files: scheme and host, no slash at the end."""

PUBLIC_ENDPOINT_URL: Final = "LLMS_PUBLIC_ENDPOINT_URL"
"""The S3 endpoint of the public bucket (R2); empty for Amazon S3."""

STATE_BUCKET: Final = "LLMS_STATE_BUCKET"
ALLOW_NETWORKS: Final = "LLMS_ALLOW_NETWORKS"
"""Comma-separated CIDR blocks the fetch gate lets out besides the public internet; the local stage only."""

SELF_HOSTS: Final = "LLMS_SELF_HOSTS"
"""Comma-separated host names of this very service, which are never crawled."""

LEASE_SECONDS: Final = "LLMS_LEASE_SECONDS"
CLAIM_BATCH: Final = "LLMS_CLAIM_BATCH"
CLAIMS_PER_TICK: Final = "LLMS_CLAIMS_PER_TICK"
"""How many sites a tick may claim; the rest of a backlog waits for the next tick."""

SCHEDULE: Final = "LLMS_SCHEDULE"
"""`fixed`, `ewma` or `learned`: the policy of sites that choose none."""

CRAWLS_PER_DAY: Final = "LLMS_CRAWLS_PER_DAY"
"""The budget: no 24 hours have more crawls; unset for none."""

CRAWL_USD_PER_MONTH: Final = "LLMS_CRAWL_USD_PER_MONTH"
"""The same in dollars a month; where both are set the lower one holds."""

CRAWL_MICRO_USD: Final = "LLMS_CRAWL_MICRO_USD"
"""What one crawl costs, in millionths of a dollar, for the conversion; measured for AWS, without paid services."""

UNLOCKS_PER_MONTH: Final = "LLMS_UNLOCKS_PER_MONTH"
"""Pages that the unlocker may be asked for in a month, by all sites together."""
