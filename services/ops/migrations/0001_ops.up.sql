create table audit_entries (
  id uuid primary key,
  created_at timestamptz not null,
  source text not null,
  action text not null,
  org_id integer,
  actor_kind text not null,
  actor_id text,
  status integer,
  details jsonb not null
);
-- lists are newest first; ids are UUIDv7 and so in the order of time
create index audit_entries_org on audit_entries (org_id, id desc);
create index audit_entries_actor on audit_entries (actor_id, id desc);
create index audit_entries_age on audit_entries (created_at);

create table error_groups (
  id uuid primary key,
  fingerprint text not null constraint error_groups_fingerprint unique,
  service text not null,
  org_id integer,
  kind text not null,
  message text not null,
  location text,
  route text,
  stack text,
  count integer not null default 1,
  first_seen timestamptz not null,
  last_seen timestamptz not null
);
create index error_groups_latest on error_groups (last_seen desc, id desc);

-- Ids of the error events counted, so that one delivered twice counts once.
create table error_events_seen (
  id uuid primary key,
  seen_at timestamptz not null default now()
);
create index error_events_seen_age on error_events_seen (seen_at);

-- One row a tick: of many replicas one starts the run.
create table ticks (
  job text not null,
  due_at timestamptz not null,
  primary key (job, due_at)
);
