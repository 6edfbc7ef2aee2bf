drop table machine_tokens;
drop table revoked_tokens;
drop table token_pairs;
drop table sign_in_codes;
drop table signing_keys;
drop table orgs;
