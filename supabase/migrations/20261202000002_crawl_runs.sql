-- crawl_runs: one line a run. webhook_messages: ids of webhook calls already seen. schema_version: what is installed.

create table public.crawl_runs (
    site_id uuid not null references public.crawl_sites on delete cascade,
    generation bigint not null,
    id text not null,
    tick_id text,
    outcome text not null check (outcome in (
        'updated', 'unchanged_sitemap', 'unchanged_content', 'held', 'failed', 'deferred')),
    reason text not null,
    error text,
    crawled boolean not null,
    changed boolean not null,
    counts jsonb not null default '{}' check (jsonb_typeof(counts) = 'object'),
    llms_hash text,
    started_at timestamp with time zone not null,
    finished_at timestamp with time zone not null,
    duration_ms bigint not null check (duration_ms >= 0),
    primary key (site_id, generation)  -- one commit a claim, whatever a client believes
);

create unique index crawl_runs_newest on public.crawl_runs (site_id, finished_at);
create index crawl_runs_tick on public.crawl_runs (tick_id) where tick_id is not null;

create table public.webhook_messages (
    site_id uuid not null references public.crawl_sites on delete cascade,
    message_id text not null,
    expires_at timestamp with time zone not null,
    primary key (site_id, message_id)
);

create index webhook_messages_expiry on public.webhook_messages (expires_at);

create table public.schema_version (
    version integer primary key check (version > 0),
    applied_at timestamp with time zone not null default now()
);

alter table public.crawl_runs enable row level security;
alter table public.webhook_messages enable row level security;
alter table public.schema_version enable row level security;

revoke all on public.crawl_runs, public.webhook_messages, public.schema_version
    from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.crawl_runs, public.webhook_messages to service_role;
grant select on public.schema_version to service_role;
