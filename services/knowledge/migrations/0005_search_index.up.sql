-- Which search index counts. One row: knowledge has one index, and for a while a second beside it.
create table search_index (
  one boolean primary key default true constraint search_index_one_row check (one),
  engine text not null constraint search_index_engine check (engine in ('embedded', 'servers')),
  -- the generation that searches read; its name begins with the layout of its rows
  current text not null,
  -- the generation that a rebuild fills
  next text,
  -- the generation before the current one, until no process searches it any more
  old text,
  switched_at timestamptz
);
-- the next generation lacks the current version of the source
alter table sources add column next_stale boolean not null default false;
create index sources_next_stale on sources (id) where next_stale;
