-- The chat servers of whoever signed in as an officer, as the platform told at the last sign-in: their roles are read there alone.
create table chat_servers (
  chat_user_id text primary key,
  server_ids text[] not null
);
