-- One row a legacy app token. Its id is the token's jti; the token itself is kept nowhere.
create table app_tokens (
  id uuid primary key,
  chat_user_id text not null,
  app_name text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index app_tokens_person on app_tokens (chat_user_id, id);
create index app_tokens_end on app_tokens (expires_at);
