create table sources (
  id uuid primary key,
  org_id integer not null,
  key text collate "C" not null,
  category text not null,
  title text not null,
  url text not null,
  public boolean not null,
  -- what searches find; null until the first version is indexed
  current_version_id uuid constraint sources_current_version unique,
  -- the search index lacks the current version, or has it under other labels
  index_stale boolean not null default false,
  updated_at timestamptz not null,
  constraint sources_key unique (org_id, key)
);
create index sources_category on sources (org_id, category, key);
create index sources_stale on sources (id) where index_stale;

-- A source has at most one version of each state: what is found, and what will be.
create table versions (
  id uuid primary key,
  source_id uuid not null constraint versions_source references sources (id) on delete cascade,
  state text not null constraint versions_state check (state in ('indexing', 'current')),
  content_hash text not null,
  embedding_model text,
  chunk_count integer not null,
  text_chars integer not null,
  fetched_at timestamptz not null,
  -- the labels that the source takes when this version becomes current
  category text not null,
  title text not null,
  url text not null,
  public boolean not null,
  -- who wrote it, for the audit line at that moment
  written_by jsonb not null,
  constraint versions_one_of_a_state unique (source_id, state)
);
create index versions_indexing on versions (source_id) where state = 'indexing';
alter table sources add constraint sources_current_version_exists
  foreign key (current_version_id) references versions (id);

create table chunks (
  -- also the id of its row in the search index
  id uuid primary key,
  version_id uuid not null constraint chunks_version references versions (id) on delete cascade,
  ordinal integer not null,
  level integer not null,
  parent_ordinal integer,
  -- counts the page text (level 0) of a version from 0, so that neighbours are found by arithmetic
  place integer,
  content text not null,
  -- 1024 float32, little-endian: the bytes that the index takes, a third of what real[] is over the wire
  embedding bytea,
  constraint chunks_ordinal unique (version_id, ordinal)
);
create unique index chunks_place on chunks (version_id, place) where place is not null;
-- float32 do not compress: TOAST need not try
alter table chunks alter column embedding set storage external;

-- Versions whose rows are still to be taken out of the search index.
create table removed_versions (
  version_id uuid primary key,
  source_id uuid not null,
  org_id integer not null
);
create index removed_versions_source on removed_versions (source_id);
