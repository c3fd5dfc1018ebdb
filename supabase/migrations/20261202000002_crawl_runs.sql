-- crawl_runs: one line a run. webhook_messages: ids of webhook calls already seen. crawl_spending and crawl_budget: the
-- crawls of a deployment that has a budget of them. schema_version: what is installed.

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

-- Crawls charged, counted in slots of ten minutes: 24 hours are at most 145 rows, whatever the number of sites. A slot
-- counts whole until its last crawl is a day old.
create table public.crawl_spending (
    slot timestamp with time zone primary key,
    last_at timestamp with time zone not null,
    crawls integer not null check (crawls >= 0),
    asked integer not null check (asked >= 0)
);

-- One row: the minutes of staleness that a crawl has to save to be worth it.
create table public.crawl_budget (
    one boolean primary key default true check (one),
    price float not null check (price > 0),
    priced_at timestamp with time zone not null
);

create table public.schema_version (
    version integer primary key check (version > 0),
    applied_at timestamp with time zone not null default now()
);

alter table public.crawl_runs enable row level security;
alter table public.webhook_messages enable row level security;
alter table public.crawl_spending enable row level security;
alter table public.crawl_budget enable row level security;
alter table public.schema_version enable row level security;

revoke all on public.crawl_runs, public.webhook_messages, public.crawl_spending, public.crawl_budget,
    public.schema_version
    from public, anon, authenticated, service_role;
grant select, insert, update, delete on public.crawl_runs, public.webhook_messages, public.crawl_spending,
    public.crawl_budget to service_role;
grant select on public.schema_version to service_role;
