create table orgs (
  id integer generated always as identity primary key,
  prefix text not null constraint orgs_prefix unique,
  name text not null,
  description text not null default '',
  chat_server_id text not null constraint orgs_chat_server unique,
  -- without one the org has no officers
  officer_role_id text,
  modules_off text[] not null default '{}',
  publisher boolean not null default false,
  active boolean not null default true,
  created_at timestamptz not null default now()
);

-- The key pair that signs access tokens. The newest signs, all verify.
create table signing_keys (
  kid text primary key,
  sealed_private_key text not null,
  public_jwk jsonb not null,
  created_at timestamptz not null default now()
);

create table sign_in_codes (
  sha256 text primary key,
  chat_user_id text not null,
  username text not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index sign_in_codes_end on sign_in_codes (expires_at);

-- One row a token pair. Rows of one sign-in share a family; a spent row stays, so that its reuse is seen.
create table token_pairs (
  id uuid primary key,
  family_id uuid not null,
  parent_id uuid references token_pairs (id) on delete set null,
  refresh_sha256 text not null constraint token_pairs_refresh unique,
  access_jti text not null,
  access_expires_at timestamptz not null,
  chat_user_id text not null,
  username text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  spent_at timestamptz
);
create index token_pairs_family on token_pairs (family_id);
create index token_pairs_parent on token_pairs (parent_id);
create index token_pairs_access on token_pairs (access_jti);
create index token_pairs_end on token_pairs (expires_at);

-- Access tokens that ended early, kept to their own end. The truth behind the bucket of the gateways.
create table revoked_tokens (
  jti text primary key,
  expires_at timestamptz not null
);
create index revoked_tokens_end on revoked_tokens (expires_at);

create table machine_tokens (
  id uuid primary key,
  org_id integer not null references orgs (id) on delete cascade,
  name text not null,
  kind text not null constraint machine_tokens_kind check (kind in ('app', 'agent', 'cli')),
  scopes text[] not null,
  limits jsonb not null,
  sha256 text not null constraint machine_tokens_sha256 unique,
  display text not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz
);
create index machine_tokens_org on machine_tokens (org_id, id);
