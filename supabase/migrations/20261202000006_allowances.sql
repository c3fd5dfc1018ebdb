-- What the whole deployment may do, counted where every worker sees it: pages of the unlocker in a month, and live
-- crawls of one API key at once.

create table public.unlock_spending (
    month text primary key check (month ~ '^\d{4}-\d{2}$'),
    calls integer not null check (calls >= 0)
);

-- A client of the live crawl: a digest of the key it came with, and while its crawl is under way, a lease.
create table public.live_clients (
    connection text primary key,
    caller text not null,
    opened_at timestamp with time zone not null,
    lease_until timestamp with time zone
);
create index live_clients_under_way on public.live_clients (caller) where lease_until is not null;
create index live_clients_opened on public.live_clients (opened_at);

alter table public.unlock_spending enable row level security;
alter table public.live_clients enable row level security;
revoke all on public.unlock_spending, public.live_clients from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.unlock_spending, public.live_clients to service_role;

create function public.unlock_month() returns text
language sql stable set search_path = '' as $$
    select to_char(public.crawl_now() at time zone 'UTC', 'YYYY-MM')
$$;

-- One page more in this month, or false and nothing counted. The row is locked by the statement that adds to it, and a
-- second caller's condition is judged on the sum of the first.
create function public.take_unlock(p_limit integer) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
begin
    insert into public.unlock_spending as u (month, calls)
    select public.unlock_month(), 1 where p_limit > 0
    on conflict (month) do update set calls = u.calls + 1 where u.calls < p_limit;
    return to_jsonb(found);
end $$;

create function public.unlocks_taken() returns jsonb
language sql stable set search_path = '' as $$
    select to_jsonb(coalesce((select calls from public.unlock_spending where month = public.unlock_month()), 0))
$$;

-- A connection lives two hours at most, and its messages six.
create function public.open_live(p_connection text, p_caller text) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
begin
    delete from public.live_clients where opened_at < v_now - interval '1 day';
    insert into public.live_clients (connection, caller, opened_at) values (p_connection, p_caller, v_now)
    on conflict (connection) do nothing;
    return 'true';
end $$;

-- Whether the crawl of a connection may begin: fewer than p_at_once of its caller are under way. Asked again for the
-- same connection (its worker has died), it takes the place that it had. Callers nobody announced share one bound.
create function public.begin_live(p_connection text, p_at_once integer, p_lease_seconds integer) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_caller text := coalesce((select caller from public.live_clients where connection = p_connection), '');
    v_under_way integer;
begin
    perform pg_catalog.pg_advisory_xact_lock(726622, pg_catalog.hashtext(v_caller));
    select count(*) into v_under_way from public.live_clients
    where caller = v_caller and connection <> p_connection and lease_until > v_now;
    if v_under_way >= p_at_once then
        return 'false';
    end if;
    insert into public.live_clients (connection, caller, opened_at, lease_until)
    values (p_connection, v_caller, v_now, v_now + make_interval(secs => p_lease_seconds))
    on conflict (connection) do update set lease_until = excluded.lease_until;
    return 'true';
end $$;

create function public.end_live(p_connection text) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
begin
    delete from public.live_clients where connection = p_connection;
    return to_jsonb(found);
end $$;

revoke all on function
    public.unlock_month(), public.take_unlock(integer), public.unlocks_taken(), public.open_live(text, text),
    public.begin_live(text, integer, integer), public.end_live(text)
from public, anon, authenticated;
grant execute on function
    public.unlock_month(), public.take_unlock(integer), public.unlocks_taken(), public.open_live(text, text),
    public.begin_live(text, integer, integer), public.end_live(text)
to service_role;

notify pgrst, 'reload schema';
