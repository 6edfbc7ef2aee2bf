-- When and where the chat bot posts the events of a day.
create table post_settings (
  org_id integer primary key,
  -- HH:MM; null where nothing is posted
  events_post_at text,
  channel_id text,
  -- null is the deployment's
  time_zone text,
  changed_at timestamptz not null,
  constraint post_settings_channel check (events_post_at is null or channel_id is not null)
);

-- The post of a day, claimed by whoever inserts it. `posting` is committed just before the request goes out.
create table event_posts (
  org_id integer not null,
  day date not null,
  state text not null constraint event_posts_state
    check (state in ('claimed', 'posting', 'posted', 'empty', 'refused', 'uncertain')),
  claim_id uuid,
  claimed_until timestamptz,
  events integer not null default 0,
  error text,
  updated_at timestamptz not null default now(),
  primary key (org_id, day)
);
create index event_posts_in_hand on event_posts (claimed_until) where claimed_until is not null;
