-- Enrolling, reading and changing sites. Every function is one round trip and answers with JSON, so that no row limit
-- of the API cuts an answer short. PT404 becomes HTTP 404 (https://docs.postgrest.org/en/stable/references/errors.html).

create function public.get_site(p_site_id uuid) returns jsonb
language sql stable set search_path = '' as $$
    select to_jsonb(s) from public.crawl_sites s where id = p_site_id
$$;

create function public.find_site(p_base_url text) returns jsonb
language sql stable set search_path = '' as $$
    select to_jsonb(s) from public.crawl_sites s where base_url = p_base_url
$$;

-- Keyset pagination in the order of bytes, which no locale changes.
create function public.list_sites(p_after text, p_limit integer) returns jsonb
language sql stable set search_path = '' as $$
    select coalesce(jsonb_agg(to_jsonb(page) order by page.base_url collate "C"), '[]') from (
        select * from public.crawl_sites
        where base_url collate "C" >= coalesce(p_after, '') and base_url is distinct from p_after
        order by base_url collate "C" limit greatest(p_limit, 0)
    ) page
$$;

create function public.locked_site(p_site_id uuid) returns public.crawl_sites
language plpgsql volatile set search_path = '' as $$
declare
    s public.crawl_sites;
begin
    select * into s from public.crawl_sites where id = p_site_id for update;
    if not found then
        raise exception 'not_found' using errcode = 'PT404';
    end if;
    return s;
end $$;

-- A shorter interval counts from the last check, and a longer one never makes a site wait longer than it does now. A
-- program that does not know an option does not send it: then a new row has the default, and an old one keeps its own.
create function public.with_options(s public.crawl_sites, p_options jsonb) returns public.crawl_sites
language plpgsql stable set search_path = '' as $$
declare
    o public.crawl_sites := jsonb_populate_record(null::public.crawl_sites, p_options);
begin
    s.max_pages := o.max_pages;
    s.desc_length := o.desc_length;
    s.recrawl_interval_minutes := o.recrawl_interval_minutes;
    s.adaptive := o.adaptive;
    s.policy := coalesce(o.policy, s.policy);
    s.weight := coalesce(o.weight, s.weight);
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

-- A new site is due at once; but while p_crowd active sites wait for their first look, at its own place of the next day,
-- or of its interval if that is shorter. The place is the first 32 bits of its id, which are random.
create function public.enroll_site(
    p_base_url text, p_options jsonb, p_webhook_secret text, p_sentinel_url text, p_enabled boolean,
    p_crowd integer default null
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_status text := case when p_enabled then 'active' else 'paused' end;
    v_id uuid := gen_random_uuid();
    v_first timestamp with time zone := case when p_enabled then v_now end;
    o public.crawl_sites := jsonb_populate_record(null::public.crawl_sites, p_options);
    s public.crawl_sites;
begin
    if p_enabled and p_crowd is not null and p_crowd <= (
        select count(*) from (
            select 1 from public.crawl_sites where last_checked_at is null and status = 'active' limit p_crowd
        ) waiting
    ) then
        v_first := v_now + least(make_interval(mins => o.recrawl_interval_minutes), interval '1 day')
                   * (('x' || left(v_id::text, 8))::bit(32)::bigint / 4294967296.0);
    end if;
    loop
        insert into public.crawl_sites (
            id, base_url, max_pages, desc_length, recrawl_interval_minutes, adaptive, policy, weight,
            require_signature, include, exclude, notify_url, llm_enhance, use_brightdata, status, webhook_secret,
            sentinel_url, next_crawl_at, created_at, updated_at
        ) values (
            v_id, p_base_url, o.max_pages, o.desc_length, o.recrawl_interval_minutes, o.adaptive,
            coalesce(o.policy, ''), coalesce(o.weight, 1), o.require_signature, o.include, o.exclude,
            coalesce(o.notify_url, ''), coalesce(o.llm_enhance, false), coalesce(o.use_brightdata, true), v_status,
            nullif(p_webhook_secret, ''), p_sentinel_url, v_first, v_now, v_now
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
        policy = s.policy,
        weight = s.weight,
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

create function public.update_site(p_site_id uuid, p_options jsonb, p_status text) returns jsonb
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
        policy = s.policy,
        weight = s.weight,
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

-- The old secret stays good for the overlap. Rotating to the secret that is set changes nothing: a retry is harmless.
create function public.rotate_secret(p_site_id uuid, p_secret text, p_overlap_seconds integer) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.locked_site(p_site_id);
    v_overlap boolean := p_overlap_seconds > 0 and coalesce(s.webhook_secret, '') <> '';
begin
    if s.webhook_secret is distinct from p_secret then
        update public.crawl_sites set
            webhook_secret = p_secret,
            previous_webhook_secret = case when v_overlap then webhook_secret end,
            previous_secret_until = case when v_overlap
                then public.crawl_now() + make_interval(secs => p_overlap_seconds) end
        where id = s.id returning * into s;
    end if;
    return to_jsonb(s);
end $$;

create function public.delete_site(p_site_id uuid) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
begin
    delete from public.crawl_sites where id = p_site_id;
    if not found then
        raise exception 'not_found' using errcode = 'PT404';
    end if;
    return 'true';
end $$;

-- True the first time an id is seen within its time to live. Old ids go a few at a time, by whoever comes along.
create function public.remember_webhook(p_site_id uuid, p_message_id text, p_ttl_seconds integer) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    v_now timestamp with time zone := public.crawl_now();
    v_new boolean;
begin
    delete from public.webhook_messages w using (
        select site_id, message_id from public.webhook_messages
        where expires_at <= v_now order by expires_at limit 100 for update skip locked
    ) old where (w.site_id, w.message_id) = (old.site_id, old.message_id);
    insert into public.webhook_messages as w (site_id, message_id, expires_at)
    values (p_site_id, p_message_id, v_now + make_interval(secs => p_ttl_seconds))
    on conflict (site_id, message_id) do update set expires_at = excluded.expires_at where w.expires_at <= v_now
    returning true into v_new;
    return to_jsonb(coalesce(v_new, false));
exception when foreign_key_violation then
    raise exception 'not_found' using errcode = 'PT404';
end $$;

-- A change was announced. `request_slot_at` is the last moment that was granted to a request: within the debounce of
-- it, a request that a waiting crawl will see anyway joins that crawl; any other gets the next slot, which all that
-- follow share. `requested_generation` orders the request against the claims without asking a clock. A site that is
-- failing has its slot no sooner than 15 minutes after the last failure. A debounce of 0 is a person's call, which waits
-- for nothing. A message that was seen before does nothing; it is remembered only together with what it asks for.
create function public.request_recrawl(
    p_site_id uuid, p_debounce_seconds integer, p_message_id text default null, p_replay_seconds integer default 900
) returns jsonb
language plpgsql volatile set search_path = '' set lock_timeout = '3s' as $$
declare
    s public.crawl_sites := public.locked_site(p_site_id);
    v_now timestamp with time zone := public.crawl_now();
    v_debounce interval := make_interval(secs => p_debounce_seconds);
    v_waiting boolean := s.requested_at is not null
        and (coalesce(s.lease_until <= v_now, false) or s.requested_generation >= s.generation);
    v_slot timestamp with time zone := s.request_slot_at;
    v_granted boolean := s.status <> 'paused';
begin
    if p_message_id is not null
        and public.remember_webhook(p_site_id, p_message_id, p_replay_seconds) = 'false' then
        return jsonb_build_object('next_crawl_at', coalesce(s.next_crawl_at, v_now), 'accepted', false,
                                  'run_at', null, 'replayed', true);
    end if;
    if v_slot is null or p_debounce_seconds = 0 or v_now >= v_slot + v_debounce then
        v_slot := v_now;
    elsif v_slot <= v_now and not v_waiting then
        v_slot := v_slot + v_debounce;
    else
        v_granted := false;
    end if;
    if p_debounce_seconds > 0 and s.status = 'active' and s.failure_count > 0 then
        v_slot := greatest(v_slot, s.last_checked_at + interval '900 seconds');
    end if;
    update public.crawl_sites set
        requested_at = v_now,
        requested_generation = generation,
        request_due_at = v_slot,
        request_slot_at = v_slot,
        next_crawl_at = least(next_crawl_at, v_slot),
        status = case when status = 'disabled' then 'active' else status end
    where id = s.id returning * into s;
    return jsonb_build_object(
        'next_crawl_at', coalesce(s.next_crawl_at, v_slot), 'accepted', v_granted and v_slot <= v_now,
        'run_at', case when v_granted then v_slot end, 'replayed', false
    );
end $$;

revoke all on function
    public.get_site(uuid), public.find_site(text), public.list_sites(text, integer), public.locked_site(uuid),
    public.with_options(public.crawl_sites, jsonb), public.enroll_site(text, jsonb, text, text, boolean, integer),
    public.update_site(uuid, jsonb, text), public.rotate_secret(uuid, text, integer), public.delete_site(uuid),
    public.request_recrawl(uuid, integer, text, integer), public.remember_webhook(uuid, text, integer)
from public, anon, authenticated;
grant execute on function
    public.get_site(uuid), public.find_site(text), public.list_sites(text, integer), public.locked_site(uuid),
    public.with_options(public.crawl_sites, jsonb), public.enroll_site(text, jsonb, text, text, boolean, integer),
    public.update_site(uuid, jsonb, text), public.rotate_secret(uuid, text, integer), public.delete_site(uuid),
    public.request_recrawl(uuid, integer, text, integer), public.remember_webhook(uuid, text, integer)
to service_role;
