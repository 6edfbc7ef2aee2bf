delete from machine_tokens where chat_user_id is not null;
alter table machine_tokens drop column chat_user_id, drop column username;
