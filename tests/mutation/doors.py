"""Who is let in, and how one site's trouble stays its own."""

from __future__ import annotations

from tests.mutation.workshop import Mutant

_REQUESTS = ("tests/runtime/sites/test_requests.py",)
_KILLS = ("tests/faults/test_kills.py",)
_WEBHOOK = ("tests/runtime/test_webhook.py", "tests/runtime/test_webhook_cases.py")
_DOOR = ("tests/runtime/api/test_hook.py", "tests/runtime/test_webhook_cases.py")

MUTANTS = (
    # -- the webhook
    Mutant(
        "the constant-time comparison",
        "runtime/webhook.py",
        'hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))',
        "given == expected",
        _WEBHOOK,
    ),
    Mutant(
        "the comparison with every valid secret",
        "runtime/webhook.py",
        "return any([equal(given, secret) for secret in expected])",
        "return any(equal(given, secret) for secret in expected)",
        _WEBHOOK,
    ),
    Mutant(
        "the constant-time comparison of the API key of a token",
        "runtime/api.py",
        "if webhook.equal(given, key):",
        "if given == key:",
        ("tests/safety/test_comparisons.py",),
    ),
    Mutant(
        "the refusal of an empty secret",
        "runtime/webhook.py",
        "return same and bool(expected)",
        "return same",
        _WEBHOOK,
    ),
    Mutant(
        "the time window of a signature",
        "runtime/webhook.py",
        "return holds and abs(now.timestamp() - at) <= TOLERANCE_SECONDS",
        "return holds",
        _WEBHOOK,
    ),
    Mutant(
        "the time window, towards the future",
        "runtime/webhook.py",
        "abs(now.timestamp() - at) <= TOLERANCE_SECONDS",
        "now.timestamp() - at <= TOLERANCE_SECONDS",
        _WEBHOOK,
    ),
    Mutant(
        "the replay window (SQLite)",
        "runtime/sites/sqlite_statements.py",
        "    if select(db, SEEN, seen):\n        return False\n",
        '    db.execute("DELETE FROM webhook_messages WHERE site_id = :site_id", {"site_id": site_id})\n',
        (*_REQUESTS, *_DOOR),
    ),
    Mutant(
        "the replay window (PostgreSQL)",
        "supabase/migrations/20261202000003_enrolment.sql",
        "    if p_message_id is not null\n        and",
        "    if false and p_message_id is not null\n        and",
        _REQUESTS,
    ),
    Mutant(
        "the required signature",
        "runtime/webhook.py",
        "    if site.options.require_signature:\n        return False\n",
        "",
        _WEBHOOK,
    ),
    Mutant(
        "the debounce of a burst",
        "runtime/sites/transitions.py",
        "if slot is None or not debounce or now >= slot + debounce:",
        "if True:",
        (*_REQUESTS, *_DOOR),
    ),
    Mutant(
        "the cap on a webhook's body",
        "runtime/http.py",
        "    if len(request.body) > max_bytes:\n",
        "    if False:\n",
        _DOOR,
    ),
    Mutant(
        "the time limit of a webhook's answer",
        "runtime/api.py",
        "async with asyncio.timeout(self.store_seconds):",
        "async with asyncio.timeout(self.store_seconds + 2):",
        _DOOR,
    ),
    # -- one site's trouble, and telling of it
    Mutant(
        "the wall between the sites of a batch",
        "runtime/work.py",
        "        except Exception as error:  # noqa: BLE001 - a fault of ours in one site must not end the others",
        "        except MemoryError as error:  # noqa: BLE001 - a fault of ours in one site must not end the others",
        ("tests/faults/test_nth_call.py", "tests/faults/test_rows_site.py"),
    ),
    Mutant(
        "the difference between our fault and a site's",
        "runtime/own_fault.py",
        "        if len(self._started) < FEWEST_SITES:\n",
        "        if True:\n",
        ("tests/faults/test_own_fault.py",),
    ),
    Mutant(
        "the sum of a summary",
        "runtime/models.py",
        "held=self.held + (outcome is Outcome.HELD),",
        "held=self.held,",
        ("tests/runtime/test_summary.py",),
    ),
    Mutant(
        "the end of retrying a dead site",
        "runtime/scheduling/backoff.py",
        "if history.failures >= GIVE_UP_FAILURES and days >= GIVE_UP_DAYS:",
        "if False:",
        ("tests/runtime/scheduling/test_policies.py",),
    ),
    Mutant(
        "the jitter of a back-off",
        "runtime/scheduling/backoff.py",
        "return timedelta(minutes=max(LEAST_MINUTES, spread * ceiling))",
        "return timedelta(minutes=max(LEAST_MINUTES, ceiling))",
        ("tests/runtime/scheduling/test_policies.py",),
    ),
    Mutant(
        "the secret that no repr shows",
        "runtime/models.py",
        '    webhook_secret: str = field(default="", repr=False)\n    previous',
        '    webhook_secret: str = ""\n    previous',
        ("tests/runtime/api/test_canary.py", "tests/faults/test_canary.py", *_KILLS),
    ),
    Mutant(
        "the alarm that silence sets off",
        "cdk/alarm_table.py",
        '            missing="breaching",\n',
        '            missing="notBreaching",\n',
        ("tests/cdk/test_alarm_simulation.py",),
    ),
    Mutant(
        "the reserved concurrency of the open door",
        "cdk/stack.py",
        "            reserved_concurrency=self.config.webhook_concurrency,\n",
        "",
        ("tests/cdk/test_security.py",),
    ),
)
