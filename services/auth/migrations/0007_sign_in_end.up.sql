-- When the person of a family of refresh tokens signed in: refreshing ends some time after that.
-- Of families that are older than this column, when the oldest pair still kept was made.
alter table token_pairs add column signed_in_at timestamptz;
update token_pairs set signed_in_at = family.began
  from (select family_id, min(created_at) as began from token_pairs group by family_id) family
  where token_pairs.family_id = family.family_id;
alter table token_pairs alter column signed_in_at set not null;
