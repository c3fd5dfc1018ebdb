-- Two more choices of an owner: descriptions written by a model, and pages fetched through the unlocker.

alter table public.crawl_sites
    add column if not exists llm_enhance boolean not null default false,
    add column if not exists use_brightdata boolean not null default true;

-- The functions that write options, with the two beside the others. Grants stay as they are. A program that does not
-- know them sends neither: then a new row has the defaults, and an old one keeps what it has.

create or replace function public.with_options(s public.crawl_sites, p_options jsonb) returns public.crawl_sites
language plpgsql stable set search_path = '' as $$
declare
    o public.crawl_sites := jsonb_populate_record(null::public.crawl_sites, p_options);
begin
    s.max_pages := o.max_pages;
    s.desc_length := o.desc_length;
    s.recrawl_interval_minutes := o.recrawl_interval_minutes;
    s.adaptive := o.adaptive;
    s.require_signature := o.require_signature;
    s.include := o.include;
    s.exclude := o.exclude;
    s.notify_url := coalesce(o.notify_url, '');
    s.llm_enhance := coalesce(o.llm_enhance, s.llm_enhance);
    s.use_brightdata := coalesce(o.use_brightdata, s.use_brightdata);
    s.next_crawl_at := least(
        s.next_crawl_at,
        coalesce(s.last_checked_at, s.created_at) + make_interval(mins => o.recrawl_interval_minutes)
    );
    return s;
end $$;

create or replace function public.enroll_site(
    p_base_url text, p_options jsonb, p_webhook_secret text, p_sentinel_url text, p_enabled boolean
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_status text := case when p_enabled then 'active' else 'paused' end;
    o public.crawl_sites := jsonb_populate_record(null::public.crawl_sites, p_options);
    s public.crawl_sites;
begin
    loop
        insert into public.crawl_sites (
            base_url, max_pages, desc_length, recrawl_interval_minutes, adaptive, require_signature, include, exclude,
            notify_url, llm_enhance, use_brightdata, status, webhook_secret, sentinel_url, next_crawl_at, created_at,
            updated_at
        ) values (
            p_base_url, o.max_pages, o.desc_length, o.recrawl_interval_minutes, o.adaptive, o.require_signature,
            o.include, o.exclude, coalesce(o.notify_url, ''), coalesce(o.llm_enhance, false),
            coalesce(o.use_brightdata, true), v_status, nullif(p_webhook_secret, ''), p_sentinel_url,
            case when p_enabled then v_now end, v_now, v_now
        ) on conflict (base_url) do nothing returning * into s;
        if found then
            return jsonb_build_object('site', to_jsonb(s), 'created', true);
        end if;
        select * into s from public.crawl_sites where base_url = p_base_url for update;
        exit when found;  -- otherwise it was deleted in between, and the next insert succeeds
    end loop;
    s := public.with_options(s, p_options);
    update public.crawl_sites set
        max_pages = s.max_pages,
        desc_length = s.desc_length,
        recrawl_interval_minutes = s.recrawl_interval_minutes,
        adaptive = s.adaptive,
        require_signature = s.require_signature,
        include = s.include,
        exclude = s.exclude,
        notify_url = s.notify_url,
        llm_enhance = s.llm_enhance,
        use_brightdata = s.use_brightdata,
        next_crawl_at = case when s.status = 'active' then s.next_crawl_at end,
        status = v_status,
        webhook_secret = coalesce(nullif(webhook_secret, ''), nullif(p_webhook_secret, '')),
        sentinel_url = coalesce(p_sentinel_url, sentinel_url)
    where id = s.id returning * into s;
    return jsonb_build_object('site', to_jsonb(s), 'created', false);
end $$;

create or replace function public.update_site(p_site_id uuid, p_options jsonb, p_status text) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.locked_site(p_site_id);
begin
    if p_options is null and p_status is null then
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
        require_signature = s.require_signature,
        include = s.include,
        exclude = s.exclude,
        notify_url = s.notify_url,
        llm_enhance = s.llm_enhance,
        use_brightdata = s.use_brightdata,
        next_crawl_at = case when status = 'active' then s.next_crawl_at end,
        status = coalesce(p_status, status)
    where id = s.id returning * into s;
    return to_jsonb(s);
end $$;

insert into public.schema_version (version) values (2);

notify pgrst, 'reload schema';
