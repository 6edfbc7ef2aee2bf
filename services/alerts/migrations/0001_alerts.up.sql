create table feeds (
  id uuid primary key,
  org_id integer not null,
  -- of the officer's choosing; the webhook is the org's secret alert_webhook_<key>
  key text not null,
  kind text not null constraint feeds_kind check (kind in ('github_jobs', 'hackathons')),
  config jsonb not null,
  every_hours integer not null constraint feeds_every_hours check (every_hours between 1 and 168),
  enabled boolean not null,
  -- when the first run recorded what was there, and of which lists: what a list holds at its first reading is no news
  seeded_at timestamptz,
  seeded_sources text[] not null default '{}',
  last_run_at timestamptz,
  last_error text,
  posted integer not null default 0,
  -- held by the one run that goes on
  lease_id uuid,
  leased_until timestamptz,
  created_at timestamptz not null,
  constraint feeds_key unique (org_id, key),
  constraint feeds_lease check ((lease_id is null) = (leased_until is null))
);
create index feeds_due on feeds (last_run_at) where enabled;

create table items (
  id uuid primary key,
  feed_id uuid not null constraint items_feed references feeds (id) on delete cascade,
  -- what makes it the same item when the list is read again
  key text not null,
  -- in which order new ones go out
  seq bigint generated always as identity,
  title text not null,
  url text,
  -- as the chat platform is sent it
  embed json not null,
  state text not null
    constraint items_state check (state in ('recorded', 'new', 'claimed', 'posting', 'posted', 'uncertain')),
  -- who posts it, and until when that one may be at it
  claim_id uuid,
  claimed_until timestamptz,
  -- refused posts so far
  refusals integer not null default 0,
  error text,
  created_at timestamptz not null,
  -- when the list held it last
  listed_at timestamptz not null,
  constraint items_key unique (feed_id, key),
  constraint items_claim check ((state in ('claimed', 'posting')) = (claim_id is not null)),
  constraint items_until check ((claim_id is null) = (claimed_until is null))
);
create index items_next on items (feed_id, refusals, seq) where state = 'new';
create index items_held on items (claimed_until) where claim_id is not null;
create index items_uncertain on items (feed_id) where state = 'uncertain';
create index items_history on items (feed_id, seq desc);
create index items_old on items (listed_at);

create table alert_runs (
  id uuid primary key,
  feed_id uuid not null constraint alert_runs_feed references feeds (id) on delete cascade,
  started_at timestamptz not null,
  duration_ms integer not null,
  found integer not null,
  new integer not null,
  posted integer not null,
  error text
);
create index alert_runs_newest on alert_runs (feed_id, id desc);
