-- Cookie sessions of members. Only the hash of the id in the cookie is kept.
create table member_sessions (
  id uuid primary key,
  sha256 text not null constraint member_sessions_sha256 unique,
  chat_user_id text not null,
  username text not null,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index member_sessions_end on member_sessions (expires_at);

-- A chat user and an account of the identity provider that are one person.
create table account_links (
  chat_user_id text primary key,
  subject text not null constraint account_links_subject unique,
  email text not null,
  linked_at timestamptz not null default now()
);
