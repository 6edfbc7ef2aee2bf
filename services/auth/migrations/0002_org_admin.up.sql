alter table orgs add column logo_url text, add column accent_color text, add column website_url text;

-- Prefixes that orgs had before. They stay theirs for ever, also after the org is purged.
create table reserved_prefixes (
  prefix text primary key,
  org_id integer not null,
  reserved_at timestamptz not null default now()
);

-- Values are sealed under SECRETS_KEY for their org and name.
create table secrets (
  org_id integer not null constraint secrets_org references orgs (id) on delete cascade,
  name text not null,
  sealed_value text not null,
  updated_at timestamptz not null,
  updated_by text not null,
  primary key (org_id, name)
);
