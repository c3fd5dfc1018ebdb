-- What the dispatcher, the API and on-call read, and the start-up check.

create function public.due_summary(p_slack_seconds integer) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_late timestamp with time zone := v_now - make_interval(secs => p_slack_seconds);
begin
    return (
        select jsonb_build_object(
            'due', count(*), 'overdue', count(*) filter (where next_crawl_at < v_late),
            'oldest_due_at', min(next_crawl_at),
            -- Without a successful look for more than two of their own intervals and a day.
            'stale', (
                select count(*) from public.crawl_sites where failure_count > 0 and status = 'active'
                and coalesce(last_success_at, created_at)
                    < v_now - make_interval(days => 1, mins => 2 * recrawl_interval_minutes)
            )
        ) from public.crawl_sites
        where next_crawl_at <= v_now and status = 'active' and (lease_until is null or lease_until <= v_now)
    );
end $$;

create function public.list_runs(p_site_id uuid, p_limit integer, p_before timestamp with time zone) returns jsonb
language sql stable set search_path = '' as $$
    select coalesce(jsonb_agg(to_jsonb(page) order by page.finished_at desc), '[]') from (
        select * from public.crawl_runs
        where site_id = p_site_id and finished_at < coalesce(p_before, 'infinity')
        order by finished_at desc limit greatest(p_limit, 0)
    ) page
$$;

create function public.tick_outcomes(p_tick_id text) returns jsonb
language sql stable set search_path = '' as $$
    select coalesce(jsonb_agg(jsonb_build_object('outcome', outcome, 'crawled', crawled)
                              order by finished_at, site_id), '[]')
    from public.crawl_runs where tick_id = p_tick_id
$$;

-- The budget: what was charged in the last 24 hours, and the price that the schedules go by.
create function public.read_budget() returns jsonb
language sql stable set search_path = '' as $$
    select jsonb_build_object(
        'crawls', coalesce(sum(crawls), 0), 'asked', coalesce(sum(asked), 0),
        'price', (select price from public.crawl_budget), 'priced_at', (select priced_at from public.crawl_budget)
    ) from public.crawl_spending where last_at > public.crawl_now() - interval '24 hours'
$$;

-- What the active sites are expected to cost: what their schedules remember, else their intervals. Once a day.
create function public.planned_crawls() returns jsonb
language sql stable set search_path = '' as $$
    select to_jsonb(coalesce(sum(coalesce((schedule ->> 'crawls_a_day')::float, 1440.0 / recrawl_interval_minutes)), 0))
    from public.crawl_sites where status = 'active'
$$;

-- Of two who read the same price, one sets the next.
create function public.set_price(p_price float, p_after timestamp with time zone) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
begin
    insert into public.crawl_budget as b (price, priced_at) values (p_price, public.crawl_now())
    on conflict (one) do update set price = excluded.price, priced_at = excluded.priced_at
    where b.priced_at is not distinct from p_after;
    return to_jsonb(found);
end $$;

-- What is installed, and what is wrong with it: rights that the caller lacks, and rights that the public keys have.
create function public.check_schema() returns jsonb
language plpgsql stable set search_path = '' as $$
declare
    v_tables constant text[] := array[
        'crawl_sites', 'crawl_runs', 'webhook_messages', 'crawl_spending', 'crawl_budget'];
    v_functions constant text[] := array[
        'crawl_now', 'get_site', 'find_site', 'list_sites', 'locked_site', 'with_options', 'enroll_site',
        'update_site', 'rotate_secret', 'delete_site', 'request_recrawl', 'remember_webhook', 'write_run',
        'quarantine', 'crawls_left', 'charge_crawls', 'refund_crawl', 'claim_due_sites', 'claim_site', 'held_site',
        'renew_lease', 'release_claim', 'commit_run',
        'due_summary', 'list_runs', 'tick_outcomes', 'read_budget', 'planned_crawls', 'set_price', 'check_schema'];
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
    public.due_summary(integer), public.list_runs(uuid, integer, timestamp with time zone),
    public.tick_outcomes(text), public.read_budget(), public.planned_crawls(),
    public.set_price(double precision, timestamp with time zone), public.check_schema()
from public, anon, authenticated;
grant execute on function
    public.due_summary(integer), public.list_runs(uuid, integer, timestamp with time zone),
    public.tick_outcomes(text), public.read_budget(), public.planned_crawls(),
    public.set_price(double precision, timestamp with time zone), public.check_schema()
to service_role;

insert into public.schema_version (version) values (1);

notify pgrst, 'reload schema';
