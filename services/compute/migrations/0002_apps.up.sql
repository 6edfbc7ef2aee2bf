-- A pod that a machine token deployed has no person behind it.
alter table pods alter column created_by drop not null;

create table apps (
  id uuid primary key,
  org_id integer not null,
  name text not null,
  -- as read last; of secrets it holds the names alone
  manifest jsonb not null,
  repo text,
  manifest_path text,
  -- the last tag that was healthy
  current_tag text,
  pod uuid constraint apps_pod references pods (id) on delete set null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint apps_name unique (org_id, name),
  constraint apps_source check ((repo is null) = (manifest_path is null))
);
create index apps_of_org on apps (org_id, id);

create table deployments (
  id uuid primary key,
  app uuid not null constraint deployments_app references apps (id) on delete cascade,
  tag text not null,
  ref text,
  commit text,
  manifest jsonb not null,
  rollback boolean not null,
  state text not null constraint deployments_state
    check (state in ('deploying', 'healthy', 'failed', 'replaced')),
  error text,
  pod uuid constraint deployments_pod references pods (id) on delete set null,
  -- when the pod host had clearly taken it
  handed_at timestamptz,
  -- the start of the pod that still ran the deployment before
  started_before text,
  -- the host has the new image, and the pod could not be restarted for it yet
  restart_due boolean not null default false,
  created_by text not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint deployments_over check ((state = 'deploying') = (finished_at is null))
);
create index deployments_of_app on deployments (app, id);
-- One deploy of an app at a time.
create unique index deployments_one_at_a_time on deployments (app) where state = 'deploying';
