alter table token_pairs drop column signed_in_at;
