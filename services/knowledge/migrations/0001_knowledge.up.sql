create table sources (
  id uuid primary key,
  org_id integer not null,
  key text not null,
  category text not null,
  title text not null,
  url text not null,
  public boolean not null,
  -- what searches find; null until the first version is indexed
  current_version_id uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint sources_key unique (org_id, key)
);

create table versions (
  id uuid primary key,
  source_id uuid not null references sources (id) on delete cascade,
  content_hash text not null,
  -- null without vectors
  embedding_model text,
  chunk_count integer not null,
  text_chars integer not null,
  fetched_at timestamptz not null default now(),
  -- false while the index lacks its rows, or has them with old labels
  indexed boolean not null default false
);
create index versions_source on versions (source_id);
create index versions_to_index on versions (fetched_at) where not indexed;
alter table sources add constraint sources_current_version
  foreign key (current_version_id) references versions (id) on delete set null;

-- A passage, or a summary of the rows that name it as their parent. The id is also that of its row in the index.
create table chunks (
  id uuid primary key,
  version_id uuid not null references versions (id) on delete cascade,
  ordinal integer not null,
  level integer not null,
  parent_ordinal integer,
  content text not null,
  -- 1 024 little-endian float32: half the size of real[] on the wire and read without parsing
  embedding bytea,
  constraint chunks_ordinal unique (version_id, ordinal)
);
create index chunks_pages on chunks (version_id, ordinal) where level = 0;

-- Versions whose rows must leave the index. Written with the change, deleted when it is done.
create table index_removals (
  version_id uuid primary key,
  org_id integer not null,
  created_at timestamptz not null default now()
);
