create table outbox (
  id uuid primary key,
  stream text not null,
  subject text not null,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  -- null until the stream has acknowledged it
  sent_at timestamptz,
  stream_seq bigint
);
create index outbox_unsent on outbox (id) where sent_at is null;
create index outbox_sent on outbox (sent_at) where sent_at is not null;

create table job_runs (
  id uuid primary key,
  job text not null,
  args jsonb not null,
  state text not null constraint job_runs_state check (state in ('queued', 'running', 'done', 'failed')),
  attempts integer not null default 0,
  queued_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  error text,
  result jsonb
);
create index job_runs_newest on job_runs (job, queued_at desc);

-- The answers of writes that may be sent again (the header Idempotency-Key), kept a day.
create table idempotency_keys (
  caller text not null,
  route text not null,
  key text not null,
  body_sha256 text not null,
  answer jsonb,
  created_at timestamptz not null default now(),
  primary key (caller, route, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
