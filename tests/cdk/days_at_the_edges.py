"""Days with a fault where the service meets others: buckets, callers, receivers, clients of the live crawl, the bill."""

from __future__ import annotations

from tests.cdk.days import FAULT, Scenario, after
from tests.cdk.fleet import DAY, HOUR, Fleet, Live


def days_at_the_edges() -> list[Scenario]:
    """A fresh fleet each, because a fleet keeps the series it made."""
    during = after()
    return [
        Scenario(
            "bucket down",
            "five changed files a tick cannot be published",
            Fleet(ours=lambda now, _due: 5 * (now >= FAULT), unpublished=lambda now: 5 * (now >= FAULT)),
            frozenset({"publish-failures"}),
            page=False,
        ),
        Scenario(
            "bucket refuses",
            "its keys expired; the first refusal of a batch spares the other sites the work",
            Fleet(
                ours=lambda now, due: due * (now >= FAULT),
                refused_by_store=during,
                unpublished=lambda now: int(now >= FAULT),
            ),
            frozenset({"configuration", "heartbeat"}),
            page=True,
        ),
        Scenario(
            "collapsed file",
            "one site's new file is held",
            Fleet(held=lambda now: int(FAULT <= now < FAULT + DAY)),
            frozenset({"held-files"}),
            page=False,
        ),
        Scenario(
            "burst of webhooks",
            "1,000 valid calls in five minutes",
            Fleet(calls=lambda now: (200 if FAULT <= now < FAULT + 300 else 0, 0, 0)),
            frozenset(),
            page=False,
        ),
        Scenario(
            "forged webhooks",
            "100 wrong secrets a minute for an hour",
            Fleet(calls=lambda now: (100, 100, 0) if FAULT <= now < FAULT + HOUR else (1, 0, 0)),
            frozenset({"webhook-401-surge"}),
            page=False,
        ),
        Scenario(
            "throttled webhooks",
            "calls in numbers that reserved concurrency does not cover, for half an hour",
            Fleet(throttled=lambda now: 5 if FAULT <= now < FAULT + HOUR // 2 else 0),
            frozenset({"webhook-throttles"}),
            page=False,
        ),
        Scenario(
            "hostile site",
            "it leads to sixty private addresses in one run",
            Fleet(denied=lambda now: 60 if FAULT <= now < FAULT + 6 * HOUR else 0),
            frozenset({"security-denied"}),
            page=False,
        ),
        Scenario(
            "receiver down",
            "six messages a tick are not taken, and after half a day nobody tries them again",
            Fleet(
                letters_failed=lambda now: 6 * (now >= FAULT),
                dead_letters=lambda now: 6 * (now >= FAULT + 16 * HOUR),
            ),
            frozenset({"notifications-failing", "undelivered-notifications"}),
            page=False,
        ),
        Scenario(
            "receiver down for a night",
            "three messages a tick are not taken at once, and all of them within five hours",
            Fleet(letters_failed=lambda now: 3 * (FAULT <= now < FAULT + 12 * HOUR)),
            frozenset(),
            page=False,
        ),
        Scenario(
            "live door broken",
            "every handshake ends in an error, two a minute",
            Fleet(live=lambda now: Live(door_errors=2 * (FAULT <= now < FAULT + HOUR))),
            frozenset({"live-door-errors"}),
            page=False,
        ),
        Scenario(
            "live workers busy",
            "eight long crawls under way, and one more client waits for half an hour",
            Fleet(live=lambda now: Live(age=now - FAULT if FAULT <= now < FAULT + HOUR // 2 else 0)),
            frozenset({"live-queue-age"}),
            page=False,
        ),
        Scenario(
            "poison live crawl",
            "it kills its worker on every attempt and is put aside",
            Fleet(
                live=lambda now: Live(
                    worker_errors=int(now in (FAULT, FAULT + 900, FAULT + 1_800)), dead=int(now >= FAULT + 2_700)
                )
            ),
            frozenset({"live-worker-errors", "live-crawls-dead"}),
            page=False,
        ),
        Scenario(
            "expensive days",
            "every batch runs for 14 minutes and there are fifty times as many sites",
            Fleet(
                due=lambda now: 700 if now >= FAULT else 14,
                batch_ms=lambda now: 840_000.0 if now >= FAULT else 90_000.0,
            ),
            frozenset({"cost-guard", "worker-near-timeout"}),
            page=False,
        ),
    ]
