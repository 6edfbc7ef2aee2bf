-- What each org has set, and what its syncs have made of it.
create table settings (
  org_id integer primary key,
  -- with dashes
  notes_database_id text,
  google_calendar_id text,
  calendar_sync_enabled boolean not null,
  -- written into the description of a calendar that we make, so that one made by a run that died is found again
  calendar_marker uuid not null,
  last_sync_at timestamptz,
  updated_at timestamptz not null
);

-- What the superadmin gave to which org to use with the deployment's keys; each to one org alone.
create table assignments (
  kind text not null constraint assignments_kind check (kind in ('notes', 'calendar')),
  outside_id text not null,
  org_id integer not null,
  primary key (kind, outside_id)
);
create index assignments_of_org on assignments (org_id, kind);

-- Syncs. The id is also that of the job that does the work.
create table runs (
  id uuid primary key,
  org_id integer not null,
  force boolean not null,
  status text not null default 'started'
    constraint runs_status check (status in ('started', 'success', 'failed')),
  created integer not null default 0,
  updated integer not null default 0,
  deleted integer not null default 0,
  unchanged integer not null default 0,
  skipped jsonb not null default '[]',
  error text,
  code text,
  started_at timestamptz not null,
  finished_at timestamptz,
  -- of the process that works on it
  lease_id uuid,
  leased_until timestamptz,
  constraint runs_finished check ((status = 'started') = (finished_at is null))
);
create unique index runs_one_at_a_time on runs (org_id) where status = 'started';
create index runs_of_org on runs (org_id, id desc);
create index runs_old on runs (started_at);
