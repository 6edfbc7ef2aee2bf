-- The member whose CLI a token is of; null for a token that an officer made.
alter table machine_tokens add column chat_user_id text;
alter table machine_tokens add column username text;
alter table machine_tokens add constraint machine_tokens_member
  check ((chat_user_id is null) = (username is null));
-- A new sign-in of the CLI takes the place of the one before.
create unique index machine_tokens_one_cli on machine_tokens (org_id, chat_user_id)
  where chat_user_id is not null;
