-- What people decided is in the row: a rollback and the confirmation of a held result. Sites that wait for the budget are
-- counted by themselves.

alter table public.crawl_sites
    -- A rollback keeps the document of this hash from being published; a person confirmed this held result.
    add column pinned_over text,
    add column confirmed jsonb;

drop function public.update_site(uuid, jsonb, text);
drop function public.due_summary(integer);

create function public.update_site(
    p_site_id uuid, p_options jsonb, p_status text, p_confirmed jsonb default null
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.locked_site(p_site_id);
begin
    if p_options is null and p_status is null and p_confirmed is null then
        return to_jsonb(s);
    end if;
    if p_options is not null then
        s := public.with_options(s, p_options);
    end if;
    update public.crawl_sites set
        max_pages = s.max_pages,
        desc_length = s.desc_length,
        recrawl_interval_minutes = s.recrawl_interval_minutes,
        adaptive = s.adaptive,
        policy = s.policy,
        weight = s.weight,
        require_signature = s.require_signature,
        include = s.include,
        exclude = s.exclude,
        notify_url = s.notify_url,
        llm_enhance = s.llm_enhance,
        use_brightdata = s.use_brightdata,
        next_crawl_at = case when status = 'active' then s.next_crawl_at end,
        status = coalesce(p_status, status),
        confirmed = coalesce(p_confirmed, confirmed)
    where id = s.id returning * into s;
    return to_jsonb(s);
end $$;

-- The end of a run: the row and its line, or nothing. A request from after the claim stays, keeps the earlier time,
-- and keeps the site active; a run that failed or was put off has not looked at the change, so the wish stays as well.
create or replace function public.commit_run(p_site_id uuid, p_generation bigint, p_owner text, p_run jsonb) returns jsonb
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
        next_crawl_reason text, pinned_over text
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
        -- A program from before rollbacks were in the row says nothing of them.
        pinned_over = case when p_run ? 'pinned_over' then r.pinned_over else pinned_over end,
        confirmed = case when r.changed then null else confirmed end,
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

-- Due sites that wait for nothing but the budget are counted by themselves, and are not late: no tick could take them.
create function public.due_summary(p_slack_seconds integer, p_crawls_a_day integer default null) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_late timestamp with time zone := v_now - make_interval(secs => p_slack_seconds);
    v_left bigint := p_crawls_a_day - (
        select coalesce(sum(crawls), 0) from public.crawl_spending where last_at > v_now - interval '24 hours'
    );
begin
    return (
        with due as (
            select next_crawl_at, coalesce(v_left <= case
                when request_due_at <= v_now and attempts < 3 then 0 else p_crawls_a_day / 10 end, false) as waits
            from public.crawl_sites
            where next_crawl_at <= v_now and status = 'active' and (lease_until is null or lease_until <= v_now)
        )
        select jsonb_build_object(
            'due', count(*), 'over_budget', count(*) filter (where waits),
            'overdue', count(*) filter (where not waits and next_crawl_at < v_late),
            'oldest_due_at', min(next_crawl_at) filter (where not waits),
            -- Without a successful look for more than two of their own intervals and a day.
            'stale', (
                select count(*) from public.crawl_sites where failure_count > 0 and status = 'active'
                and coalesce(last_success_at, created_at)
                    < v_now - make_interval(days => 1, mins => 2 * recrawl_interval_minutes)
            )
        ) from due
    );
end $$;

-- What is installed, and what is wrong with it: rights that the caller lacks, and rights that the public keys have.
create or replace function public.check_schema() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_tables constant text[] := array[
        'crawl_sites', 'crawl_runs', 'webhook_messages', 'crawl_spending', 'crawl_budget', 'unlock_spending',
        'live_clients'];
    v_functions constant text[] := array[
        'crawl_now', 'get_site', 'find_site', 'list_sites', 'locked_site', 'with_options', 'enroll_site',
        'update_site', 'rotate_secret', 'delete_site', 'request_recrawl', 'remember_webhook', 'write_run',
        'quarantine', 'crawls_left', 'charge_crawls', 'refund_crawl', 'claim_due_sites', 'claim_site', 'held_site',
        'renew_lease', 'release_claim', 'commit_run',
        'due_summary', 'list_runs', 'tick_outcomes', 'read_budget', 'planned_crawls', 'set_price', 'check_schema',
        'unlock_month', 'take_unlock', 'unlocks_taken', 'open_live', 'begin_live', 'end_live'];
    v_missing text[] := '{}';
    v_open text[] := '{}';
    v_name text;
    v_right text;
    v_role text;
    v_oid oid;
begin
    foreach v_name in array v_tables loop
        v_oid := to_regclass('public.' || v_name);
        if v_oid is null then
            v_missing := v_missing || ('table ' || v_name);
            continue;
        end if;
        foreach v_right in array array['select', 'insert', 'update', 'delete'] loop
            if not has_table_privilege(v_oid, v_right) then
                v_missing := v_missing || (v_right || ' on ' || v_name);
            end if;
        end loop;
        if row_security_active(v_oid) then
            v_missing := v_missing || ('bypass of row level security on ' || v_name);
        end if;
        foreach v_role in array array['anon', 'authenticated'] loop
            if to_regrole(v_role) is not null
                and has_table_privilege(v_role, v_oid, 'select, insert, update, delete') then
                v_open := v_open || (v_name || ' to ' || v_role);
            end if;
        end loop;
    end loop;
    foreach v_name in array v_functions loop
        select p.oid into v_oid from pg_catalog.pg_proc p
        where p.pronamespace = 'public'::pg_catalog.regnamespace and p.proname = v_name;
        if not found then
            v_missing := v_missing || ('function ' || v_name);
            continue;
        end if;
        if not has_function_privilege(v_oid, 'execute') then
            v_missing := v_missing || ('execute on ' || v_name);
        end if;
        foreach v_role in array array['anon', 'authenticated'] loop
            if to_regrole(v_role) is not null and has_function_privilege(v_role, v_oid, 'execute') then
                v_open := v_open || (v_name || ' to ' || v_role);
            end if;
        end loop;
    end loop;
    return jsonb_build_object(
        'version', (select coalesce(max(version), 0) from public.schema_version),
        'role', current_user, 'now', public.crawl_now(), 'missing', to_jsonb(v_missing), 'open', to_jsonb(v_open)
    );
end $$;

revoke all on function
    public.update_site(uuid, jsonb, text, jsonb), public.due_summary(integer, integer)
from public, anon, authenticated;
grant execute on function
    public.update_site(uuid, jsonb, text, jsonb), public.due_summary(integer, integer)
to service_role;

insert into public.schema_version (version) values (2);

notify pgrst, 'reload schema';
