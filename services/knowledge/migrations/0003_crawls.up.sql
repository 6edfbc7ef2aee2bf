-- Sources that are fetched from the web. Their address, category and who sees them stand in the source.
create table crawls (
  source_id uuid primary key constraint crawls_source references sources (id) on delete cascade,
  -- null for the page's own
  title text,
  fetch_every_hours integer not null,
  enabled boolean not null,
  due_at timestamptz not null,
  -- when the last crawl began, however it ended
  last_attempt_at timestamptz,
  last_error text,
  -- failed crawls in a row
  failures integer not null default 0,
  -- of the page that the last version was made of: its title and text, and the length of that text
  page_hash text,
  page_chars integer,
  -- where that page was found in the end, and what the site said to ask for it again (RFC 9110 § 13.1)
  fetched_url text,
  etag text,
  last_modified text,
  -- who crawls it at this moment; whoever does not renew it has lost it
  lease_id uuid,
  leased_until timestamptz
);
create index crawls_due on crawls (due_at) where enabled;

-- Hosts that were asked a moment ago, by whichever process: one request at a time, and then a pause.
create table crawl_hosts (
  host text primary key,
  holder uuid not null,
  free_at timestamptz not null
);
