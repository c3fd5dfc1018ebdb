-- Claims: a lease under a new generation, and everything that is fenced by it. PT409 says that the claim is stale,
-- PT429 that the budget is spent.

-- The crawls that may still be charged now, null without a budget: never more than p_crawls_a_day in any 24 hours.
-- Whoever asks holds a lock to the end of its transaction, so that two cannot spend the same crawl.
create function public.crawls_left(p_crawls_a_day integer) returns integer
language plpgsql volatile set search_path = '' as $$
begin
    if p_crawls_a_day is null then
        return null;
    end if;
    perform pg_catalog.pg_advisory_xact_lock(7266219041250336906);
    return greatest(0, p_crawls_a_day - (
        select coalesce(sum(crawls), 0) from public.crawl_spending
        where last_at > public.crawl_now() - interval '24 hours'
    ));
end $$;

create function public.charge_crawls(
    p_slot timestamp with time zone, p_now timestamp with time zone, p_crawls integer, p_asked integer
) returns void
language plpgsql volatile set search_path = '' as $$
begin
    insert into public.crawl_spending as c (slot, last_at, crawls, asked) values (p_slot, p_now, p_crawls, p_asked)
    on conflict (slot) do update set
        last_at = greatest(c.last_at, excluded.last_at),
        crawls = c.crawls + excluded.crawls, asked = c.asked + excluded.asked;
    delete from public.crawl_spending where slot < p_slot - interval '2 days';
end $$;

create function public.refund_crawl(s public.crawl_sites) returns void
language sql volatile set search_path = '' as $$
    update public.crawl_spending set crawls = greatest(crawls - 1, 0) where slot = s.charged_at
$$;

create function public.write_run(s public.crawl_sites, p_run jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_last timestamp with time zone;
begin
    select max(finished_at) into v_last from public.crawl_runs where site_id = s.id;
    insert into public.crawl_runs (
        site_id, generation, id, tick_id, outcome, reason, error, crawled, changed, counts, llms_hash,
        started_at, finished_at, duration_ms
    ) select
        s.id, s.generation, r.run_id, r.tick_id, r.outcome, r.reason, r.error, r.crawled, r.changed, r.counts,
        r.latest_llms_hash, s.claimed_at,
        greatest(v_now, v_last + interval '1 microsecond'),  -- pages of runs are cut by this time: no two are the same
        r.duration_ms
    from jsonb_to_record(p_run) as r (
        run_id text, tick_id text, outcome text, reason text, error text, crawled boolean, changed boolean,
        counts jsonb, latest_llms_hash text, duration_ms bigint
    );
    delete from public.crawl_runs where site_id = s.id and finished_at < v_now - interval '365 days';
end $$;

-- Three claims without a commit: something about the site kills whoever works on it. The attempts stay, so that no
-- claim tries again before a person, a webhook or a new enrolment does.
create function public.quarantine(s public.crawl_sites) returns void
language plpgsql volatile set search_path = '' as $$
declare
    v_why constant text := 'quarantined: three workers in a row took this site and died without a result';
begin
    if not exists (select from public.crawl_runs where site_id = s.id and generation = s.generation) then
        perform public.write_run(s, jsonb_build_object(
            'run_id', 'quarantine-' || s.generation, 'outcome', 'failed', 'reason', v_why, 'error', v_why,
            'crawled', false, 'changed', false, 'counts', '{}'::jsonb, 'duration_ms', 0
        ));
    end if;
    update public.crawl_sites set
        status = 'disabled', last_error = v_why, last_outcome = 'failed', lease_owner = null, lease_until = null,
        charged_at = null
    where id = s.id;
end $$;

-- Up to p_limit due sites, those that were asked for first, then the oldest, at most p_per_host of one host. With a
-- budget every claim is charged, its last tenth is kept for sites that were asked for, and where not all of a window
-- may be claimed, those go first whose weight times lateness is the greatest. Each round looks at a window of the due
-- rows and locks no others; where a crowd of one host fills the window, the next round leaves that host out. The locked
-- rows are materialized: in a sub-select that the planner may run again, LIMIT does not bound what is locked.
create function public.claim_due_sites(
    p_limit integer, p_lease_seconds integer, p_owner text, p_per_host integer, p_slack_seconds integer,
    p_crawls_a_day integer default null
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_due timestamp with time zone := v_now + make_interval(secs => p_slack_seconds);
    v_until timestamp with time zone := v_now + make_interval(secs => p_lease_seconds);
    v_claims jsonb := '[]';
    v_left integer := public.crawls_left(p_crawls_a_day);
    v_slot timestamp with time zone := case when p_crawls_a_day is not null
        then date_bin('10 minutes', v_now, timestamp with time zone 'epoch') end;
    v_wanted integer := greatest(p_limit, 0);
    v_per_host integer := greatest(p_per_host, 1);
    v_window integer := v_wanted;
    v_looked_at integer;
    v_full text[] := '{}';
    v_taken jsonb := '{}';
    v_batch jsonb;
    s public.crawl_sites;
begin
    for s in
        select * from public.crawl_sites
        where request_due_at <= v_now and next_crawl_at <= v_now and status = 'active' and attempts < 3
          and (lease_until is null or lease_until <= v_now)
        order by request_due_at, next_crawl_at, id limit least(v_wanted, v_left)
        for update skip locked
    loop
        continue when coalesce((v_taken ->> s.host)::integer, 0) >= v_per_host;
        update public.crawl_sites set
            generation = generation + 1, attempts = attempts + 1,
            lease_owner = p_owner, lease_until = v_until, claimed_at = v_now, charged_at = v_slot
        where id = s.id returning * into s;
        v_claims := v_claims || to_jsonb(s);
        v_taken := v_taken || jsonb_build_object(s.host, coalesce((v_taken ->> s.host)::integer, 0) + 1);
        v_wanted := v_wanted - 1;
    end loop;
    v_full := array(select key from jsonb_each_text(v_taken) where value::integer >= v_per_host);
    if v_left is not null then
        v_wanted := least(v_wanted, greatest(0, v_left - jsonb_array_length(v_claims) - p_crawls_a_day / 10));
    end if;

    while v_wanted > 0 loop
        with due as materialized (
            select id, host, attempts, next_crawl_at, weight from public.crawl_sites
            where next_crawl_at <= v_due and status = 'active' and (lease_until is null or lease_until <= v_now)
              and host <> all (v_full)
              -- the slack is for planned times, not for the slot of a request, which keeps crawls apart
              and (next_crawl_at <= v_now or next_crawl_at is distinct from request_due_at)
            order by next_crawl_at limit v_window
            for update skip locked
        ), fleet as (
            -- where nearly all due sites are exhausted, it is the workers that do not work, and no site is to blame
            select count(*) >= 10 and count(*) filter (where attempts >= 3) >= 0.8 * count(*) as stuck from due
        ), exhausted as (
            select id from due, fleet where attempts >= 3 and not stuck
        ), shared as (
            select id, next_crawl_at, weight, coalesce((v_taken ->> host)::integer, 0)
                   + row_number() over (partition by host order by next_crawl_at, id) as place
            from due, fleet where attempts < 3 or stuck
        ), chosen as materialized (
            select id from shared where place <= v_per_host
            order by case when v_left is not null then -weight * extract(epoch from v_due - next_crawl_at) end,
                     next_crawl_at, id
            limit v_wanted
        ), leased as (
            update public.crawl_sites u set
                generation = u.generation + 1, attempts = u.attempts + 1,
                lease_owner = p_owner, lease_until = v_until, claimed_at = v_now, charged_at = v_slot
            from chosen where u.id = chosen.id returning u.*
        )
        select jsonb_build_object(
            'looked_at', (select count(*) from due),
            'exhausted', (select coalesce(jsonb_agg(id), '[]') from exhausted),
            'claims', (select coalesce(jsonb_agg(to_jsonb(leased) order by next_crawl_at, id), '[]') from leased)
        ) into v_batch;

        for s in select c.* from public.crawl_sites c
                 join jsonb_array_elements_text(v_batch -> 'exhausted') e on c.id = e.value::uuid loop
            perform public.quarantine(s);
        end loop;
        v_claims := v_claims || (v_batch -> 'claims');
        v_wanted := v_wanted - jsonb_array_length(v_batch -> 'claims');
        v_looked_at := (v_batch ->> 'looked_at')::integer;
        exit when v_looked_at < v_window;

        select jsonb_object_agg(host, taken), coalesce(array_agg(host) filter (where taken >= v_per_host), '{}')
        into v_taken, v_full
        from (select claim ->> 'host' as host, count(*) as taken from jsonb_array_elements(v_claims) claim group by 1) h;
        v_taken := coalesce(v_taken, '{}');
        v_window := greatest(v_wanted, 20);
    end loop;
    if v_slot is not null and v_claims <> '[]' then
        perform public.charge_crawls(
            v_slot, v_now, jsonb_array_length(v_claims),
            (select count(*) from jsonb_array_elements(v_claims) c where c ->> 'requested_at' is not null)::integer
        );
    end if;
    return v_claims;
end $$;

create function public.claim_site(
    p_site_id uuid, p_lease_seconds integer, p_owner text, p_force boolean, p_crawls_a_day integer default null
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.locked_site(p_site_id);
    v_now timestamp with time zone := public.crawl_now();
    v_slot timestamp with time zone;
begin
    if s.lease_until > v_now then
        return null;
    end if;
    if s.attempts >= 3 then
        perform public.quarantine(s);
        return null;
    end if;
    if p_crawls_a_day is not null then
        if public.crawls_left(p_crawls_a_day) < 1 then
            raise exception 'budget_spent' using errcode = 'PT429';
        end if;
        v_slot := date_bin('10 minutes', v_now, timestamp with time zone 'epoch');
        perform public.charge_crawls(v_slot, v_now, 1, (p_force or s.requested_at is not null)::integer);
    end if;
    update public.crawl_sites set
        requested_at = case when p_force then coalesce(requested_at, v_now) else requested_at end,
        request_due_at = case when p_force then coalesce(request_due_at, v_now) else request_due_at end,
        requested_generation = case when p_force then generation else requested_generation end,
        next_crawl_at = case when p_force then least(next_crawl_at, v_now) else next_crawl_at end,
        generation = generation + 1, attempts = attempts + 1,
        lease_owner = p_owner, lease_until = v_now + make_interval(secs => p_lease_seconds), claimed_at = v_now,
        charged_at = v_slot
    where id = s.id returning * into s;
    return to_jsonb(s);
end $$;

-- The row of a claim, locked, while generation and owner are still the claim's. An expired lease that nobody took is
-- still held: the work is done, and nobody else has begun.
create function public.held_site(p_site_id uuid, p_generation bigint, p_owner text) returns public.crawl_sites
language plpgsql volatile set search_path = '' as $$
declare
    s public.crawl_sites;
begin
    select * into s from public.crawl_sites where id = p_site_id for update;
    if not found or s.generation <> p_generation or s.lease_owner is distinct from p_owner then
        raise exception 'stale_claim' using errcode = 'PT409';
    end if;
    return s;
end $$;

create function public.renew_lease(p_site_id uuid, p_generation bigint, p_owner text, p_lease_seconds integer)
returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.held_site(p_site_id, p_generation, p_owner);
begin
    update public.crawl_sites set lease_until = public.crawl_now() + make_interval(secs => p_lease_seconds)
    where id = s.id returning * into s;
    return to_jsonb(s);
end $$;

create function public.release_claim(p_site_id uuid, p_generation bigint, p_owner text) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites;
begin
    select * into s from public.crawl_sites
    where id = p_site_id and generation = p_generation and lease_owner = p_owner for update;
    if not found then
        return 'false';
    end if;
    perform public.refund_crawl(s);
    update public.crawl_sites set
        lease_owner = null, lease_until = null, charged_at = null, attempts = greatest(attempts - 1, 0),
        requested_generation = case when requested_at is null then requested_generation else generation end
    where id = s.id;
    return 'true';
end $$;

-- The end of a run: the row and its line, or nothing. A request from after the claim stays, keeps the earlier time,
-- and keeps the site active; a run that failed or was put off has not looked at the change, so the wish stays as well.
create function public.commit_run(p_site_id uuid, p_generation bigint, p_owner text, p_run jsonb) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone;
    v_came_late boolean;
    v_next timestamp with time zone;
    s public.crawl_sites;
    r record;
begin
    select * into s from public.crawl_sites where id = p_site_id for update;
    if not found or s.generation <> p_generation or s.lease_owner is distinct from p_owner then
        if exists (select from public.crawl_runs where site_id = p_site_id and generation = p_generation
                   and id = p_run ->> 'run_id') then
            return to_jsonb(s);  -- the answer to an earlier try was lost on its way
        end if;
        raise exception 'stale_claim' using errcode = 'PT409';
    end if;
    v_now := public.crawl_now();
    perform public.write_run(s, p_run);
    select * into r from jsonb_to_record(p_run) as r (
        outcome text, next_crawl_at timestamp with time zone, failure_count integer, status text, error text,
        crawled boolean, changed boolean, latest_llms_hash text, latest_llms_url text, sentinel_url text,
        sentinel_last_modified timestamp with time zone, avg_change_interval_minutes float, schedule jsonb,
        next_crawl_reason text
    );
    if not r.crawled and r.outcome <> 'unchanged_content' then
        perform public.refund_crawl(s);  -- where every page answered "not modified", all of them were asked
    end if;
    v_came_late := s.requested_at is not null and s.requested_generation >= s.generation;
    v_next := coalesce(r.next_crawl_at, s.next_crawl_at);
    update public.crawl_sites set
        lease_owner = null, lease_until = null, charged_at = null, attempts = 0,
        failure_count = r.failure_count,
        last_checked_at = v_now,
        last_success_at = case when r.outcome in ('failed', 'deferred') then last_success_at else v_now end,
        last_crawled_at = case when r.crawled then v_now else last_crawled_at end,
        last_changed_at = case when r.changed then v_now else last_changed_at end,
        last_outcome = r.outcome,
        last_error = r.error,
        next_crawl_at = case when v_came_late then least(v_next, request_due_at) else v_next end,
        latest_llms_hash = coalesce(r.latest_llms_hash, latest_llms_hash),
        latest_llms_url = coalesce(r.latest_llms_url, latest_llms_url),
        sentinel_url = coalesce(r.sentinel_url, sentinel_url),
        sentinel_last_modified = coalesce(r.sentinel_last_modified, sentinel_last_modified),
        avg_change_interval_minutes = coalesce(r.avg_change_interval_minutes, avg_change_interval_minutes),
        schedule = coalesce(r.schedule, schedule),
        next_crawl_reason = coalesce(r.next_crawl_reason, next_crawl_reason),
        status = case when status = 'active' and not v_came_late then coalesce(r.status, status) else status end,
        requested_at = case when v_came_late or r.outcome in ('failed', 'deferred') then requested_at end,
        request_due_at = case when v_came_late or r.outcome in ('failed', 'deferred') then request_due_at end
    where id = s.id returning * into s;
    return to_jsonb(s);
end $$;

revoke all on function
    public.write_run(public.crawl_sites, jsonb), public.quarantine(public.crawl_sites),
    public.crawls_left(integer),
    public.charge_crawls(timestamp with time zone, timestamp with time zone, integer, integer),
    public.refund_crawl(public.crawl_sites),
    public.claim_due_sites(integer, integer, text, integer, integer, integer),
    public.claim_site(uuid, integer, text, boolean, integer),
    public.held_site(uuid, bigint, text), public.renew_lease(uuid, bigint, text, integer),
    public.release_claim(uuid, bigint, text), public.commit_run(uuid, bigint, text, jsonb)
from public, anon, authenticated;
grant execute on function
    public.write_run(public.crawl_sites, jsonb), public.quarantine(public.crawl_sites),
    public.crawls_left(integer),
    public.charge_crawls(timestamp with time zone, timestamp with time zone, integer, integer),
    public.refund_crawl(public.crawl_sites),
    public.claim_due_sites(integer, integer, text, integer, integer, integer),
    public.claim_site(uuid, integer, text, boolean, integer),
    public.held_site(uuid, bigint, text), public.renew_lease(uuid, bigint, text, integer),
    public.release_claim(uuid, bigint, text), public.commit_run(uuid, bigint, text, jsonb)
to service_role;
