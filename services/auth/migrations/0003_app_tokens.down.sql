drop table app_tokens;
