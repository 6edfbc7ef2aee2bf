-- What officers set otherwise than the defaults; an org without a row has none.
create table settings (
  org_id integer primary key,
  own jsonb not null
);

-- What became of each crawl and upload; the last 500 of an org are kept.
create table runs (
  id uuid primary key,
  org_id integer not null,
  source_key text not null,
  kind text not null constraint runs_kind check (kind in ('crawl', 'upload')),
  started_at timestamptz not null,
  duration_ms integer not null,
  -- the source got a new version
  changed boolean not null,
  chunks integer not null,
  error text
);
create index runs_org on runs (org_id, id);
