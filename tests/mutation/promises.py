"""What people decided, lost files, and who is told: promises that single lines keep."""

from __future__ import annotations

from tests.mutation.workshop import Mutant

_CLAIMS = "supabase/migrations/20261202000004_claims.sql"
_DECISIONS = "supabase/migrations/20261202000007_decisions.sql"
_CALLS = ("tests/faults/test_kills_of_calls.py",)
_LOST = ("tests/faults/test_lost_files.py",)
_COMMITS = ("tests/runtime/sites/test_commits.py",)
_BUDGET = ("tests/runtime/sites/test_budget.py",)
_CARRY = ("tests/runtime/document/test_carry.py",)
_TOLD = ("tests/runtime/test_notify.py", "tests/runtime/test_notice.py", "tests/faults/test_streaks.py")
_WEBHOOK = ("tests/runtime/test_webhook.py", "tests/runtime/test_webhook_cases.py")

MUTANTS = (
    # -- what a person decided
    Mutant(
        "what a rollback puts aside",
        "runtime/versions.py",
        "pinned_over=None if aside == target else aside,",
        "pinned_over=None,",
        _CALLS,
    ),
    Mutant(
        "the rollback that later runs remember",
        "runtime/commitment.py",
        "else site.pinned_over",
        "else None",
        _CALLS,
    ),
    Mutant(
        "the rollback in the row (PostgreSQL)",
        _DECISIONS,
        "then r.pinned_over else pinned_over end",
        "then pinned_over else pinned_over end",
        _COMMITS,
    ),
    Mutant(
        "the site that a dead rollback leaves due",
        "runtime/versions.py",
        "owner=OPERATOR, force=True)",
        "owner=OPERATOR)",
        _CALLS,
    ),
    Mutant(
        "the announced change that a rollback does not hide",
        "runtime/versions.py",
        "    if claim.site.requested_at is not None and claim.site.requested_at < claim.claimed_at:\n",
        "    if False:\n",
        _CALLS,
    ),
    Mutant(
        "the look whether the file changed before a rollback",
        "runtime/versions.py",
        "    if claim.site.latest_llms_hash != site.latest_llms_hash:\n",
        "    if False:\n",
        _LOST,
    ),
    Mutant(
        "the confirmation that a run under way does not forget (PostgreSQL)",
        _DECISIONS,
        "confirmed = case when r.changed then null else confirmed end",
        "confirmed = null",
        _COMMITS,
    ),
    Mutant(
        "the end of a confirmation (SQLite)",
        "runtime/sites/transitions.py",
        '{"last_changed_at": stamp(now), "confirmed": None}',
        '{"last_changed_at": stamp(now)}',
        _COMMITS,
    ),
    Mutant(
        "the result that a confirmation is for",
        "runtime/document/guard.py",
        " and _still(confirmed, memory):",
        ":",
        ("tests/runtime/document/test_guard.py",),
    ),
    Mutant(
        "the count of pages that new options still want",
        "runtime/judgement.py",
        "still_chosen(site.options, state.pages, state.home)",
        "0",
        _LOST,
    ),
    # -- lost files
    Mutant(
        "the lost file that is put back first",
        "runtime/publishing.py",
        "    if found is not None and found.stored.sha256 and not found.missing:\n",
        "    if True:\n",
        _LOST,
    ),
    Mutant(
        "the lost section file",
        "runtime/publishing.py",
        " and not found.missing:",
        ":",
        _LOST,
    ),
    Mutant(
        "the condition of a write to a section file",
        "runtime/publishing.py",
        "            known = None if public is None else public.sections.get(publisher.url(key))\n"
        "            known = known or await _left_over(publisher, key, root, public)\n",
        "            known = await publisher.read(key)\n",
        ("tests/faults/test_kills.py",),
    ),
    Mutant(
        "the lease that a rollback asks for before it writes",
        "runtime/versions.py",
        "        await world.sites.renew_lease(claim, lease_seconds=LEASE_SECONDS)  # nobody wrote that meanwhile\n",
        "",
        _CALLS,
    ),
    Mutant(
        "the row's file in the place of a dead worker's",
        "runtime/publishing.py",
        "    if public is None or sha256 is None or public.stored.sha256 == sha256:\n",
        "    if True:\n",
        _LOST,
    ),
    Mutant(
        "the memory of another shape",
        "runtime/state.py",
        'asdict(HeldMemory(**value["held"]))',
        'value["held"]',
        _LOST,
    ),
    Mutant(
        "the removal at once of what is gone for good",
        "runtime/document/carry.py",
        "frozenset({Left.NOT_FOUND, ",
        "frozenset({Left.GONE, Left.NOT_FOUND, ",
        _CARRY,
    ),
    Mutant(
        "the count of misses that starts anew",
        "runtime/document/carry.py",
        "    counts: dict[str, int] = {}\n",
        "    counts: dict[str, int] = dict(misses)\n",
        _CARRY,
    ),
    Mutant(
        "the order of a change record",
        "runtime/document/changes.py",
        "sorted([*kept, *pairs.items()], key=lambda pair: order[pair[0]])",
        "[*pairs.items(), *kept]",
        ("tests/runtime/document/test_changes.py",),
    ),
    Mutant(
        "the full crawl that a clock set back does not put off",
        "runtime/survey.py",
        "last is None or last > now or",
        "last is None or",
        ("tests/runtime/pipeline", "tests/runtime/scheduling/test_clock_cases.py"),
    ),
    # -- webhooks
    Mutant(
        "the raw body under a signature",
        "runtime/webhook.py",
        '{timestamp}.".encode() + body',
        '{timestamp}.".encode() + b"".join(body.split())',
        _WEBHOOK,
    ),
    Mutant(
        "the end of a rotation's overlap",
        "runtime/webhook.py",
        "site.previous_secret_until is not None and now <= site.previous_secret_until",
        "site.previous_secret_until is not None",
        _WEBHOOK,
    ),
    Mutant(
        "the one spelling of a signature's time",
        "runtime/webhook.py",
        '_TIMESTAMP = re.compile(r"[0-9]{10}", re.ASCII)',
        '_TIMESTAMP = re.compile(r"[0-9_]{10,13}", re.ASCII)',
        _WEBHOOK,
    ),
    Mutant(
        "the wait of a failing site for its webhooks",
        "runtime/sites/transitions.py",
        'row["failure_count"] and row["last_checked_at"]:',
        "False:",
        ("tests/runtime/sites/test_requests.py",),
    ),
    Mutant(
        "the wish that a failed run has not served",
        "runtime/sites/transitions.py",
        "WISH_UNSERVED = (Outcome.FAILED, Outcome.DEFERRED)",
        "WISH_UNSERVED = ()",
        ("tests/runtime/sites/test_requests.py", "tests/runtime/sites/test_commits.py"),
    ),
    # -- the budget
    Mutant(
        "the budget, for one site (SQLite)",
        "runtime/sites/spending.py",
        "    if left is not None and not left[0]:\n",
        "    if False:\n",
        _BUDGET,
    ),
    Mutant(
        "the budget, for one site (PostgreSQL)",
        _CLAIMS,
        "        if public.crawls_left(p_crawls_a_day) < 1 then\n",
        "        if false then\n",
        _BUDGET,
    ),
    Mutant(
        "the share of the budget for those who ask",
        "runtime/models.py",
        "return crawls_a_day // 10",
        "return 0",
        _BUDGET,
    ),
    # -- who is told
    Mutant(
        "the one message of a hold",
        "runtime/notice.py",
        "return None if held_before or before.last_outcome is Outcome.HELD else Kind.HELD",
        "return Kind.HELD",
        _TOLD,
    ),
    Mutant(
        "the look back to where a hold began",
        "runtime/notify.py",
        "return next(verdicts, None) is Outcome.HELD",
        "return False",
        _TOLD,
    ),
    Mutant(
        "the one message of a streak of failures",
        "runtime/notice.py",
        "commit.failure_count == after_failures",
        "commit.failure_count >= after_failures",
        _TOLD,
    ),
    Mutant(
        "the end of trying to deliver",
        "runtime/notify.py",
        "ATTEMPTS = 4\n",
        "ATTEMPTS = 40\n",
        _TOLD,
    ),
    Mutant(
        "the refusal that is not asked about again",
        "runtime/notify.py",
        "    if answer.status not in RETRIED:\n",
        "    if False:\n",
        _TOLD,
    ),
)
