-- Its page left the pack that it came from (interface.md, Knowledge sources); the page is on again when it comes back.
alter table crawls add column retired boolean not null default false;

-- What live queries answered and is still to be made a source; the newest answer of a question takes the place of the last.
create table pack_results (
  id uuid not null constraint pack_results_id unique,
  org_id integer not null,
  pack text not null,
  -- the source it becomes, unless a page of the pack has its address
  source_key text not null,
  category text not null,
  title text not null,
  url text not null,
  text text not null,
  created_at timestamptz not null,
  constraint pack_results_pkey primary key (org_id, source_key)
);
