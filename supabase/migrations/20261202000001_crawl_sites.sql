-- crawl_sites: one row a site. Starts from the specification's table, whether it is there already (with rows) or not.

create table if not exists public.crawl_sites (
    id uuid primary key default gen_random_uuid(),
    base_url text unique not null,
    max_pages integer default 50,
    desc_length integer default 500,
    recrawl_interval_minutes integer default 10080,
    last_crawled_at timestamp with time zone,
    last_changed_at timestamp with time zone,
    latest_llms_hash text,
    latest_llms_url text,
    sentinel_url text,
    sentinel_last_modified timestamp with time zone,
    avg_change_interval_minutes float,
    next_crawl_at timestamp with time zone,
    created_at timestamp with time zone default now(),
    updated_at timestamp with time zone default now()
);

-- Rows hold webhook secrets: nobody but the service role may see them, from the first statement on. Tables that were
-- made before Supabase stopped granting by default are open to the public key.
alter table public.crawl_sites enable row level security;
revoke all on public.crawl_sites from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.crawl_sites to service_role;

alter table public.crawl_sites
    add column if not exists adaptive boolean not null default false,
    add column if not exists policy text not null default '',
    add column if not exists weight float not null default 1,
    add column if not exists require_signature boolean not null default false,
    add column if not exists include text[] not null default '{}',
    add column if not exists exclude text[] not null default '{}',
    add column if not exists notify_url text not null default '',
    add column if not exists llm_enhance boolean not null default false,
    add column if not exists use_brightdata boolean not null default true,
    add column if not exists status text not null default 'active',
    add column if not exists webhook_secret text,
    add column if not exists previous_webhook_secret text,
    add column if not exists previous_secret_until timestamp with time zone,
    add column if not exists last_checked_at timestamp with time zone,
    add column if not exists last_success_at timestamp with time zone,
    add column if not exists schedule jsonb not null default '{}',
    add column if not exists next_crawl_reason text,
    add column if not exists last_outcome text,
    add column if not exists last_error text,
    add column if not exists failure_count integer not null default 0,
    add column if not exists requested_at timestamp with time zone,
    add column if not exists request_due_at timestamp with time zone,
    add column if not exists request_slot_at timestamp with time zone,
    add column if not exists requested_generation bigint,
    add column if not exists generation bigint not null default 0,
    add column if not exists attempts integer not null default 0,
    add column if not exists lease_owner text,
    add column if not exists lease_until timestamp with time zone,
    add column if not exists claimed_at timestamp with time zone,
    add column if not exists charged_at timestamp with time zone,
    -- What politeness is owed to: host and port, as in a Host header (RFC 9110 7.2).
    add column if not exists host text generated always as (
        coalesce(lower(substring(base_url from '^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)')), base_url)
    ) stored;

-- One site, one row, whatever the spelling: lower-case scheme and host, no default port, query or trailing slash.
create function public.canonical_spelling(base_url text) returns text
language sql immutable set search_path = '' as $$
    select regexp_replace(lower(origin), '^(http://.*):80$|^(https://.*):443$', '\1\2') || rtrim(coalesce(path, ''), '/')
    from (select substring(base_url from '^[A-Za-z]+://[^/?#]+') as origin,
                 substring(base_url from '^[A-Za-z]+://[^/?#]+(/[^?#]*)') as path) parts
$$;

-- Where two spellings were enrolled, the row that was crawled last is the site; the other stays for a person to see.
update public.crawl_sites s
set base_url = s.base_url || '#duplicate-' || s.id, status = 'disabled', last_error = 'duplicate of ' || r.canonical
from (
    select id, canonical, row_number() over (
        partition by canonical order by last_crawled_at desc nulls last, created_at, id
    ) as place
    from (select *, public.canonical_spelling(base_url) as canonical from public.crawl_sites) spelled
    where canonical is not null
) r
where r.id = s.id and r.place > 1;

update public.crawl_sites set base_url = public.canonical_spelling(base_url)
where status = 'active' and base_url <> public.canonical_spelling(base_url);

drop function public.canonical_spelling(text);

-- What no crawl can use is disabled and says why; what is missing or out of bounds is brought to the nearest bound.
update public.crawl_sites
set status = 'disabled', last_error = 'not an http(s) URL: delete this row and enroll the site again'
where base_url !~ '^https?://[^/]' and status = 'active';

update public.crawl_sites
set max_pages = least(greatest(coalesce(max_pages, 50), 1), 10000),
    desc_length = least(greatest(coalesce(desc_length, 500), 50), 2000),
    recrawl_interval_minutes = least(greatest(coalesce(recrawl_interval_minutes, 10080), 60), 525600),
    avg_change_interval_minutes = case when avg_change_interval_minutes between 0 and 1e9
                                       then avg_change_interval_minutes end,
    last_checked_at = coalesce(last_checked_at, last_crawled_at),
    created_at = coalesce(created_at, now()),
    updated_at = coalesce(updated_at, now());

-- A site without a crawl time was never crawled again; it was enrolled, so it is due when its interval says.
update public.crawl_sites
set next_crawl_at = case when status = 'active' then coalesce(
    next_crawl_at, last_crawled_at + make_interval(mins => recrawl_interval_minutes), now()
) end;

alter table public.crawl_sites
    alter column max_pages set not null,
    alter column desc_length set not null,
    alter column recrawl_interval_minutes set not null,
    alter column created_at set not null,
    alter column updated_at set not null,
    add constraint crawl_sites_base_url check (base_url ~ '^https?://[^/]' or status <> 'active'),
    add constraint crawl_sites_max_pages check (max_pages between 1 and 10000),
    add constraint crawl_sites_desc_length check (desc_length between 50 and 2000),
    add constraint crawl_sites_interval check (recrawl_interval_minutes between 60 and 525600),
    add constraint crawl_sites_policy check (policy in ('', 'fixed', 'ewma', 'learned')),
    add constraint crawl_sites_weight check (weight between 0.01 and 100),
    add constraint crawl_sites_patterns check (array_position(include, null) is null
                                               and array_position(exclude, null) is null),
    add constraint crawl_sites_status check (status in ('active', 'paused', 'disabled')),
    add constraint crawl_sites_outcome check (last_outcome in (
        'updated', 'unchanged_sitemap', 'unchanged_content', 'held', 'failed', 'deferred')),
    add constraint crawl_sites_average check (avg_change_interval_minutes between 0 and 1e9),
    add constraint crawl_sites_counters check (failure_count >= 0 and attempts >= 0 and generation >= 0),
    add constraint crawl_sites_lease check ((lease_owner is null) = (lease_until is null)),
    add constraint crawl_sites_schedule check (status = 'active' or next_crawl_at is null),
    -- A queue of due rows is rewritten all the time: room in the page keeps claims from growing the index, and
    -- frequent vacuums keep the index's front, where the due rows were, short.
    set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

create index if not exists idx_next_crawl on public.crawl_sites (next_crawl_at) where next_crawl_at is not null;
create index if not exists crawl_sites_requested on public.crawl_sites (request_due_at)
    where request_due_at is not null;
create index if not exists crawl_sites_new on public.crawl_sites (id) where last_checked_at is null;
create index if not exists crawl_sites_failing on public.crawl_sites (id) where failure_count > 0;
create index if not exists crawl_sites_listing on public.crawl_sites (base_url collate "C");

-- The clock that everything is measured by. Tests replace it; nothing else does.
create or replace function public.crawl_now() returns timestamp with time zone
language sql volatile set search_path = '' as $$ select clock_timestamp() $$;

-- What holds for a row whoever writes it, a person at the SQL prompt included: only an active site has a crawl time,
-- and a site that becomes active forgets its failures and is due.
create or replace function public.crawl_sites_rules() returns trigger
language plpgsql set search_path = '' as $$
begin
    new.updated_at := public.crawl_now();
    if new.status <> 'active' then
        new.next_crawl_at := null;
    elsif old.status <> 'active' then
        new.failure_count := 0;
        new.attempts := 0;
        new.last_error := null;
        new.next_crawl_at := coalesce(new.next_crawl_at, new.updated_at);
    end if;
    return new;
end $$;

create or replace trigger crawl_sites_rules before update on public.crawl_sites
for each row execute function public.crawl_sites_rules();

revoke all on function public.crawl_now(), public.crawl_sites_rules() from public, anon, authenticated, service_role;
grant execute on function public.crawl_now() to service_role;
