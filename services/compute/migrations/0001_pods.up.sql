-- A pod, from the moment before the pod host is asked to make it. Its id stands in the pod's environment
-- as CLI_POD_RECORD: by that alone a pod on the host is known to be this one.
create table pods (
  id uuid primary key,
  org_id integer not null,
  state text not null constraint pods_state check (state in ('creating', 'live')),
  -- the pod host's id, once it has answered
  pod_id text,
  name text not null,
  is_public boolean not null,
  allowed_users text[] not null,
  machine jsonb not null,
  created_by text not null,
  created_at timestamptz not null,
  -- the SSH host key, and the start of the pod at which it was pinned
  host_key text,
  host_key_start text,
  -- one run of the schedule at a time; real time, not the service's clock
  schedule_lease uuid,
  schedule_lease_until timestamptz,
  constraint pods_pod_id unique (org_id, pod_id),
  constraint pods_known check ((state = 'live') = (pod_id is not null))
);
create index pods_of_org on pods (org_id, id);
create index pods_creating on pods (org_id) where state = 'creating';

create table sessions (
  id uuid primary key,
  pod uuid not null constraint sessions_pod references pods (id) on delete cascade,
  title text not null,
  start_at timestamptz not null,
  stop_at timestamptz not null constraint sessions_order check (stop_at > start_at),
  started boolean not null default false,
  -- the pod host was asked to start the pod for this session
  started_pod boolean not null default false,
  finished boolean not null default false,
  -- removed while its pod still has to be stopped for it: nobody sees it any more
  removed boolean not null default false,
  created_by text not null,
  created_at timestamptz not null
);
create index sessions_of_pod on sessions (pod, id);
create index sessions_open on sessions (start_at) where not finished;

-- Per org: `backend` opens root on each pod, `user_ca` signs certificates.
create table org_keys (
  org_id integer not null,
  name text not null constraint org_keys_name check (name in ('backend', 'user_ca')),
  public_key text not null,
  sealed_private_key text not null,
  created_at timestamptz not null,
  primary key (org_id, name)
);

create table certificates (
  serial bigint generated always as identity primary key,
  org_id integer not null,
  pod_id text not null,
  key_id text not null,
  -- of the member's own key
  fingerprint text not null,
  is_admin boolean not null,
  valid_after timestamptz not null,
  valid_before timestamptz not null
);
create index certificates_end on certificates (valid_before);

-- A member's account on every pod of an org, given once and for good.
create table user_folders (
  org_id integer not null,
  chat_user_id text not null,
  folder text not null,
  primary key (org_id, chat_user_id),
  constraint user_folders_folder unique (org_id, folder)
);

create table settings (
  org_id integer primary key,
  pod_image text
);
